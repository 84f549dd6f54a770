#include "fakes/nats/client_core.h"

#include "fakes/nats/delivery.h"

namespace lockstep::fakes {

class ClientCore::Link final : public ConnectionListener, public NatsPeer, public std::enable_shared_from_this<Link> {
public:
    explicit Link(std::weak_ptr<ClientCore> core) : core_(std::move(core)) {}

    void on_connected(std::shared_ptr<Connection> connection) {
        if (const auto core = core_.lock()) {
            core->on_connected(shared_from_this(), std::move(connection));
        } else if (connection) {
            connection->close_from_client();
        }
    }

    void on_broken() override {
        if (const auto core = core_.lock()) core->on_broken(*this);
    }
    void on_welcome(std::weak_ptr<NatsSession> session, std::string server, std::uint64_t max_payload) override {
        if (const auto core = core_.lock()) core->on_welcome(*this, std::move(session), std::move(server), max_payload);
    }
    void on_pong() override {
        if (const auto core = core_.lock()) core->on_pong(*this);
    }
    void on_reply(RequestId request, NatsReply reply) override {
        if (const auto core = in_use()) core->on_reply(request, std::move(reply));
    }
    void on_core(std::uint64_t sid, const MessagePtr& message) override {
        if (const auto core = in_use()) core->on_core(sid, message);
    }
    void on_delivery(std::uint64_t sid, const MessagePtr& message, const DeliveryReceipt& receipt) override {
        if (const auto core = in_use()) core->on_delivery(sid, message, receipt);
    }

private:
    /// The client, unless it has moved on to another connection.
    [[nodiscard]] std::shared_ptr<ClientCore> in_use() const {
        auto core = core_.lock();
        if (core && core->link_.get() != this) core.reset();
        return core;
    }

    std::weak_ptr<ClientCore> core_;
};

ClientCore::Request::Request(ClientCore& core)
    : core_(core.weak_from_this()), id_(++core.last_request_), connection_(core.connections_) {
    core.requests_.emplace_hint(core.requests_.end(), id_, this);
}

ClientCore::Request::~Request() {
    if (const auto core = core_.lock()) core->requests_.erase(id_);
}

void ClientCore::shut_down() {
    world_.cancel(connect_timer_);
    world_.cancel(ping_timer_);
    subscribed_.clear();
    requests_.clear();
    attempt_.reset();
    link_.reset();
    if (const auto transport = std::exchange(transport_, nullptr)) transport->close_from_client();
}

void ClientCore::arm(World::TimerId& timer, engine::Duration delay, void (ClientCore::*then)()) {
    timer = world_.after(node_, delay, [weak = weak_from_this(), then] {
        if (const auto core = weak.lock()) (core.get()->*then)();
    });
}

void ClientCore::connect() {
    attempt_ = std::make_shared<Link>(weak_from_this());
    arm(connect_timer_, options_.connect_timeout, &ClientCore::on_attempt_timed_out);
    world_.connect(
        node_, server_.options().node, server_.options().service, *attempt_,
        [link = attempt_](std::shared_ptr<Connection> connection) { link->on_connected(std::move(connection)); });
}

void ClientCore::connect_later(engine::ConnectionEnd end) {
    attempt_.reset();
    if (const auto transport = std::exchange(transport_, nullptr)) transport->close_from_client();
    world_.cancel(connect_timer_);
    const auto pause = policy_.next_attempt(
        end, [this](std::uint64_t bound) { return world_.draws("nats.reconnect").next(node_.key()).below(bound); });
    if (pause) arm(connect_timer_, *pause, &ClientCore::connect);
}

void ClientCore::on_connected(const std::shared_ptr<Link>& link, std::shared_ptr<Connection> connection) {
    if (link != attempt_) {
        if (connection) connection->close_from_client();  // it came too late
        return;
    }
    if (!connection) {
        connect_later(engine::ConnectionEnd::unreachable);
        return;
    }
    transport_ = std::move(connection);
    transport_->send_to_server([&server = server_, transport = transport_, peer = std::weak_ptr<NatsPeer>(link)] {
        server.hello(*transport, peer);
    });
}

void ClientCore::on_welcome(const Link& link, std::weak_ptr<NatsSession> session, std::string server,
                            std::uint64_t max_payload) {
    if (attempt_.get() != &link) return;
    server_process_ = std::move(server);
    max_payload_ = max_payload;
    world_.cancel(connect_timer_);
    link_ = std::exchange(attempt_, nullptr);
    session_ = std::move(session);
    ++connections_;
    cut_ = false;
    policy_.established();
    arm(ping_timer_, options_.ping_interval, &ClientCore::ping);
    for (const auto& [sid, subscribed] : subscribed_) {
        if (!subscribed.paused) announce(sid, subscribed);
    }
}

void ClientCore::on_broken(const Link& link) {
    if (attempt_.get() == &link) {
        transport_.reset();
        connect_later(engine::ConnectionEnd::unreachable);
    } else if (link_.get() == &link) {
        transport_.reset();
        lose_connection();
    }
}

void ClientCore::cut() {
    if (!link_ || cut_) return;
    cut_ = true;
    world_.after(node_, engine::Duration{}, [weak = weak_from_this(), number = connections_] {
        const auto core = weak.lock();
        if (core && core->link_ && core->connections_ == number) core->lose_connection();
    });
}

void ClientCore::lose_connection() {
    link_.reset();
    world_.cancel(ping_timer_);
    for (auto& [id, request] : requests_) {
        request->broken = true;
        request->done_.wake_all();
    }
    connect_later(engine::ConnectionEnd::lost);
}

void ClientCore::ping() {
    if (!policy_.ping()) {
        lose_connection();
        return;
    }
    send([](NatsSession& session) { session.ping(); });
    arm(ping_timer_, options_.ping_interval, &ClientCore::ping);
}

void ClientCore::on_pong(const Link& link) {
    if (link_.get() == &link) policy_.heard();
}

std::uint64_t ClientCore::subscribe(std::string pattern, std::string queue, engine::MessageSink& sink) {
    const std::uint64_t sid = ++last_sid_;
    announce(sid, subscribed_[sid] = Subscribed{std::move(pattern), std::move(queue), &sink, nullptr, nullptr, false});
    return sid;
}

std::uint64_t ClientCore::bind(std::shared_ptr<const engine::ConsumerSpec> spec, engine::DeliverySink& sink) {
    const std::uint64_t sid = ++last_sid_;
    announce(sid, subscribed_[sid] = Subscribed{{}, {}, nullptr, std::move(spec), &sink, false});
    return sid;
}

void ClientCore::announce(std::uint64_t sid, const Subscribed& subscribed) {
    if (subscribed.consumer) {
        send([sid, spec = subscribed.consumer](NatsSession& session) {
            session.bind(sid, spec->stream, spec->durable);
        });
    } else {
        send([sid, pattern = subscribed.pattern, queue = subscribed.queue](NatsSession& session) {
            session.subscribe(sid, pattern, queue);
        });
    }
}

void ClientCore::unsubscribe(std::uint64_t sid) {
    if (subscribed_.erase(sid) == 0) return;
    send([sid](NatsSession& session) { session.unsubscribe(sid); });
}

void ClientCore::pause(std::uint64_t sid) {
    const auto found = subscribed_.find(sid);
    if (found == subscribed_.end() || std::exchange(found->second.paused, true)) return;
    send([sid](NatsSession& session) { session.unsubscribe(sid); });
}

void ClientCore::resume(std::uint64_t sid) {
    const auto found = subscribed_.find(sid);
    if (found == subscribed_.end() || !std::exchange(found->second.paused, false)) return;
    announce(sid, found->second);
}

void ClientCore::send_answer(const std::shared_ptr<const HandedMessage>& handed, DeliveryAnswer answer) {
    Event before = bus_event(answer.kind, When::before, node_, server_node(), *handed->message);
    before.payload = {};
    before.stream = handed->consumer->stream;
    before.sequence = handed->receipt.sequence;
    before.name = handed->consumer->durable;
    before.number = answer.delay.count();
    if (!world_.trace().emit(before)) return;
    send([handed, answer](NatsSession& session) { session.answer(handed, answer); });
}

void ClientCore::on_reply(RequestId id, NatsReply reply) {
    const auto found = requests_.find(id);
    if (found == requests_.end()) return;
    found->second->reply = std::move(reply);
    found->second->done_.wake_all();
}

void ClientCore::on_core(std::uint64_t sid, const MessagePtr& message) {
    const auto found = subscribed_.find(sid);
    if (found == subscribed_.end()) return;
    Event event = bus_event(EventKind::core_deliver, When::applied, node_, server_node(), *message);
    event.name = found->second.queue;
    engine::MessageSink& sink = *found->second.messages;
    if (!world_.trace().emit(event)) return;
    sink.on_message(message->subject, message->payload);
}

void ClientCore::on_delivery(std::uint64_t sid, const MessagePtr& message, const DeliveryReceipt& receipt) {
    const auto found = subscribed_.find(sid);
    if (found == subscribed_.end()) return;
    const std::shared_ptr<const engine::ConsumerSpec> consumer = found->second.consumer;
    engine::DeliverySink& sink = *found->second.deliveries;
    Event event = bus_event(EventKind::deliver, When::applied, node_, server_node(), *message);
    event.stream = consumer->stream;
    event.sequence = receipt.sequence;
    event.name = consumer->durable;
    event.number = receipt.count;
    if (!world_.trace().emit(event)) return;
    sink.on_delivery(std::make_unique<NatsDelivery>(
        weak_from_this(), std::make_shared<const HandedMessage>(HandedMessage{consumer, message, receipt})));
}

}  // namespace lockstep::fakes
