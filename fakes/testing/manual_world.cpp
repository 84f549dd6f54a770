#include "fakes/testing/manual_world.h"

#include <algorithm>

namespace lockstep::fakes::testing {

namespace {

template <class Result, class Function, class... Arguments>
Result ask(const Function& function, Result otherwise, Arguments&&... arguments) {
    return function ? function(std::forward<Arguments>(arguments)...) : otherwise;
}

std::pair<NodeId, NodeId> ordered(NodeId a, NodeId b) { return {std::min(a, b), std::max(a, b)}; }

}  // namespace

CallFault ManualFaults::redis_call(NodeId client, std::string_view command, const CallScope&) {
    return ask(on_redis_call, CallFault::none, client, command);
}
engine::Duration ManualFaults::redis_latency(std::string_view command, const CallScope&) {
    return ask(on_redis_latency, engine::Duration{}, command);
}
CallFault ManualFaults::publish(NodeId client, std::string_view subject, const CallScope&) {
    return ask(on_publish, CallFault::none, client, subject);
}
bool ManualFaults::lose_ack(const MessageScope& message) { return ask(on_lose_ack, false, message.subject); }
engine::Duration ManualFaults::delay_ack(const MessageScope& message) {
    return ask(on_delay_ack, engine::Duration{}, message.subject);
}
bool ManualFaults::duplicate_delivery(const MessageScope& message) {
    return ask(on_duplicate_delivery, false, message.subject);
}
Faults::HoldUp ManualFaults::reorder_delivery(const MessageScope& message) {
    return {ask(on_reorder_delivery, engine::Duration{}, message.subject), Effect(reorder_effective)};
}
bool ManualFaults::garble_delivery(const MessageScope& message) {
    return ask(on_garble_delivery, false, message.subject);
}
bool ManualFaults::drop_core(const MessageScope& message) { return ask(on_drop_core, false, message.subject); }
bool ManualFaults::corrupt(const MessageScope& message, std::string& payload) {
    return ask(on_corrupt, false, message.subject, payload);
}

bool RecordingTrace::emit(const Event& event) {
    if (recording) {
        events.push_back(SeenEvent{.kind = event.kind,
                                   .when = event.when,
                                   .outcome = event.outcome,
                                   .flag = event.flag,
                                   .node = event.node,
                                   .subject = std::string(event.subject),
                                   .job = std::string(event.job),
                                   .name = std::string(event.name),
                                   .stream = std::string(event.stream),
                                   .message_id = std::string(event.message_id),
                                   .payload = std::string(event.payload),
                                   .command = std::string(event.command),
                                   .script = std::string(event.script),
                                   .key = std::string(event.key),
                                   .sequence = event.sequence,
                                   .number = event.number,
                                   .has_packet = event.packet != nullptr});
    }
    return !(kill_when && kill_when(event));
}

std::vector<SeenEvent> RecordingTrace::of(EventKind kind, When when) const {
    std::vector<SeenEvent> found;
    for (const SeenEvent& event : events) {
        if (event.kind == kind && event.when == when) found.push_back(event);
    }
    return found;
}

/// A connection of the manual world. It forgets its listeners as it closes: they need only outlive the connection.
class ManualWorld::Link final : public Connection, public std::enable_shared_from_this<Link> {
public:
    Link(ManualWorld& world, NodeId client, NodeId server, ConnectionListener& listener)
        : client(client), server(server), client_side(&listener), world_(world) {}

    void send_to_server(Action arrival) override {
        if (open_) world_.send(client, server, shared_from_this(), std::move(arrival));
    }
    void send_to_client(Action arrival) override {
        if (open_) world_.send(server, client, shared_from_this(), std::move(arrival));
    }
    void close_from_client() override {
        client_side = nullptr;
        if (!std::exchange(open_, false)) return;
        world_.send(client, server, nullptr, [self = shared_from_this()] { tell(self->server_side); });
    }
    void close_from_server() override {
        server_side = nullptr;
        if (!std::exchange(open_, false)) return;
        world_.send(server, client, nullptr, [self = shared_from_this()] { tell(self->client_side); });
    }
    [[nodiscard]] bool open() const override { return open_; }

    /// Neither side asked for it: what is on its way is lost, both sides hear of it unless their node is down.
    void break_now() {
        if (!std::exchange(open_, false)) return;
        broken = true;
        world_.send(client, server, nullptr, [self = shared_from_this()] { tell(self->server_side); });
        world_.send(server, client, nullptr, [self = shared_from_this()] { tell(self->client_side); });
    }

    NodeId client;
    NodeId server;
    ConnectionListener* client_side;
    ConnectionListener* server_side = nullptr;
    bool broken = false;

private:
    static void tell(ConnectionListener*& listener) {
        if (ConnectionListener* heard = std::exchange(listener, nullptr)) heard->on_broken();
    }

    ManualWorld& world_;
    bool open_ = true;
};

bool ManualWorld::partitioned(NodeId a, NodeId b) const { return partitions_.contains(ordered(a, b)); }

ManualWorld::Key ManualWorld::schedule(NodeId node, engine::MonoTime when, Action action) {
    const Key key{when, ++issued_};
    queue_.emplace(key, Pending{node, std::move(action)});
    return key;
}

void ManualWorld::send(NodeId from, NodeId to, std::shared_ptr<Link> link, Action arrival) {
    schedule(to, now() + latency, [this, from, to, link = std::move(link), arrival = std::move(arrival)]() mutable {
        if (link && link->broken) return;
        if (partitioned(from, to)) {
            held_.emplace_back(ordered(from, to),
                               [this, from, to, link = std::move(link), arrival = std::move(arrival)]() mutable {
                                   send(from, to, std::move(link), std::move(arrival));
                               });
            return;
        }
        arrival();
    });
}

bool ManualWorld::step(engine::MonoTime limit) {
    if (executor_.run_ready(executor_.now, 1) > 0) return true;
    const auto timer = executor_.next_timer();
    const bool event_first = !queue_.empty() && (!timer || queue_.begin()->first.first <= *timer);
    if (!event_first && !timer) return false;
    const engine::MonoTime next = event_first ? queue_.begin()->first.first : *timer;
    if (next > limit) return false;
    executor_.now = std::max(executor_.now, next);
    if (event_first) {
        auto first = queue_.extract(queue_.begin());
        timers_.erase(first.key().second);
        Pending due = std::move(first.mapped());
        if (!down_.contains(due.node)) due.action();
    }
    return true;
}

void ManualWorld::run_for(engine::Duration span) {
    const engine::MonoTime limit = now() + span;
    while (step(limit)) {
    }
    executor_.now = limit;
}

bool ManualWorld::run_until(const std::function<bool()>& done, engine::Duration limit) {
    const engine::MonoTime end = now() + limit;
    while (!done()) {
        if (!step(end)) return done();
    }
    return true;
}

void ManualWorld::node_down(NodeId node) {
    down_.insert(node);
    for (const auto& link : links_) {
        if (link->client == node || link->server == node) link->break_now();
    }
    std::erase_if(queue_, [node](const auto& entry) { return entry.second.node == node; });
}

void ManualWorld::partition(NodeId a, NodeId b) { partitions_.insert(ordered(a, b)); }

void ManualWorld::heal() {
    partitions_.clear();
    for (auto& [pair, action] : std::exchange(held_, {})) action();
}

void ManualWorld::break_connections(NodeId a, NodeId b) {
    for (const auto& link : links_) {
        if (ordered(link->client, link->server) == ordered(a, b)) link->break_now();
    }
}

engine::WallTime ManualWorld::wall(NodeId) const {
    constexpr auto kStart = std::chrono::seconds(1'767'225'600);  // 2026-01-01T00:00:00Z
    return engine::WallTime(kStart + now().time_since_epoch());
}

engine::MonoTime ManualWorld::monotonic(NodeId) const { return now(); }

World::TimerId ManualWorld::after(NodeId node, engine::Duration delay, Action action) {
    const Key key = schedule(node, now() + std::max(delay, engine::Duration{}), std::move(action));
    timers_.emplace(key.second, key);
    return key.second;
}

void ManualWorld::cancel(TimerId timer) {
    const auto found = timers_.find(timer);
    if (found == timers_.end()) return;
    queue_.erase(found->second);
    timers_.erase(found);
}

void ManualWorld::listen(NodeId node, std::string_view service, Server& server) {
    servers_[{node, std::string(service)}] = &server;
}

void ManualWorld::connect(NodeId client, NodeId server, std::string_view service, ConnectionListener& listener,
                          std::function<void(std::shared_ptr<Connection>)> done) {
    if (down_.contains(server)) {
        send(server, client, nullptr, [done = std::move(done)] { done(nullptr); });
        return;
    }
    send(client, server, nullptr,
         [this, client, server, name = std::string(service), &listener, done = std::move(done)]() mutable {
             establish(client, server, std::move(name), listener, std::move(done));
         });
}

void ManualWorld::establish(NodeId client, NodeId server, std::string service, ConnectionListener& listener,
                            std::function<void(std::shared_ptr<Connection>)> done) {
    const auto found = servers_.find({server, std::move(service)});
    if (found == servers_.end() || !found->second->listening()) {
        send(server, client, nullptr, [done = std::move(done)] { done(nullptr); });
        return;
    }
    std::erase_if(links_, [](const auto& link) { return !link->open(); });
    auto link = std::make_shared<Link>(*this, client, server, listener);
    links_.push_back(link);
    send(server, client, nullptr, [done = std::move(done), link] { done(link); });
    link->server_side = &found->second->on_accept(link, client);
}

KeyedRng& ManualWorld::draws(std::string_view family) {
    const auto found = draws_.find(family);
    if (found != draws_.end()) return found->second;
    return draws_.emplace(std::string(family), KeyedRng(seed_, family)).first->second;
}

}  // namespace lockstep::fakes::testing
