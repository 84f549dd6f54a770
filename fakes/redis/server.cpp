#include "fakes/redis/server.h"

#include <algorithm>

#include "fakes/redis/keyspace_events.h"
#include "fakes/redis/resp.h"

namespace lockstep::fakes::redis {

namespace {

constexpr engine::Duration kSyncInterval = std::chrono::seconds(1);
constexpr double kPipelineSplit = 0.125;

bool is_wait(const engine::RedisCommand& command) {
    const Command* known = find_command(command.front());
    return known != nullptr && known->name == "wait" && command.size() == 3;
}

}  // namespace

/// One connection as the server sees it. Kept until the server goes, because the connection may keep a reference.
class RedisServer::Peer final : public ConnectionListener {
public:
    Peer(RedisServer& owner, std::shared_ptr<Connection> over, NodeId from)
        : server(owner),
          connection(std::move(over)),
          client(from),
          session(std::in_place, owner.database_->watches(), from) {}

    struct Request {
        std::uint64_t link;
        std::weak_ptr<ReplySink> sink;
        Commands commands;
        std::size_t done = 0;
    };

    /// What the client had sent before it went lies in the socket: the server may still come to read it, or not.
    void on_broken() override {
        server.peer_of_.erase(connection.get());
        connection.reset();
        if (!requests.empty() && server.world_.draws("redis unread").next(client.key()).chance(0.5)) drop_requests();
        if (requests.empty()) session.reset();
    }

    void drop_requests() {
        const bool in_service = server.serving_ == this;
        while (requests.size() > (in_service ? 1U : 0U)) requests.pop_back();
        if (!in_service) std::erase(server.ready_, this);
    }

    void close() {
        if (connection) {
            server.peer_of_.erase(connection.get());
            std::exchange(connection, nullptr)->close_from_server();
        }
        requests.clear();
        session.reset();
        waits.reset();
    }

    RedisServer& server;
    std::shared_ptr<Connection> connection;  // null once it is gone
    const NodeId client;
    std::optional<Session> session;
    std::deque<Request> requests;
    std::optional<engine::MonoTime> waits;  // for the replica, since then
};

RedisServer::RedisServer(World& world, NodeId node, RedisServerOptions options)
    : world_(world),
      node_(node),
      options_(std::move(options)),
      database_(std::make_unique<Database>()),
      events_(world.trace(), node, options_.lock_keys),
      journaling_(options_.persistence == Persistence::everysec || has_replica()),
      started_(world.monotonic(node)) {
    if (journaling_) add_observer(journal_);
    add_observer(events_);
    world_.listen(node, kService, *this);
}

RedisServer::~RedisServer() = default;

ConnectionListener& RedisServer::on_accept(std::shared_ptr<Connection> connection, NodeId client) {
    const Connection* key = connection.get();
    peers_.push_back(std::make_unique<Peer>(*this, std::move(connection), client));
    peer_of_[key] = peers_.back().get();
    return *peers_.back();
}

void RedisServer::receive(const Connection& connection, std::uint64_t link, std::weak_ptr<ReplySink> sink,
                          Commands commands) {
    const auto found = peer_of_.find(&connection);
    if (down_ || found == peer_of_.end()) return;
    Peer& peer = *found->second;
    const bool waiting = !peer.requests.empty();
    peer.requests.push_back({link, std::move(sink), std::move(commands)});
    if (!waiting) ready_.push_back(&peer);
    if (serving_ == nullptr) serve_next();
}

std::optional<engine::Duration> RedisServer::left_to_wait(const Peer& peer) const {
    const Peer::Request& request = peer.requests.front();
    const engine::RedisCommand& command = (*request.commands)[request.done];
    if (!is_wait(command)) return std::nullopt;
    const auto wanted = parse_integer(command[1]), patience = parse_integer(command[2]);
    if (!wanted || *wanted < 1 || !patience || *patience < 0) return std::nullopt;
    // There is one: who wants more waits to the end.
    const bool goes_on = stalls_ == 0 && !is_cut_off(peer.client);
    engine::Duration takes = *wanted == 1 && goes_on ? options_.replica_lag : engine::Duration::max();
    if (*patience > 0) takes = std::min<engine::Duration>(takes, std::chrono::milliseconds(*patience));
    const engine::Duration passed = peer.waits ? world_.monotonic(node_) - *peer.waits : engine::Duration{};
    return takes > passed ? std::optional(takes - passed) : std::nullopt;
}

void RedisServer::put_off(Peer& peer, engine::Duration delay) {
    const engine::MonoTime since = world_.monotonic(node_);
    if (!peer.waits) peer.waits = since;
    world_.after(node_, delay, [this, waiting = &peer, began = *peer.waits] {
        if (waiting->waits != began || waiting->requests.empty()) return;
        ready_.push_back(waiting);
        if (serving_ == nullptr) serve_next();
    });
}

void RedisServer::serve_next() {
    while (!ready_.empty() && !down_) {
        const auto delay = left_to_wait(*ready_.front());
        if (!delay) break;
        put_off(*ready_.front(), *delay);
        ready_.pop_front();
    }
    if (ready_.empty() || down_) return;
    Peer& peer = *ready_.front();
    ready_.pop_front();
    serving_ = &peer;
    const Peer::Request& request = peer.requests.front();
    std::size_t count = request.commands->size() - request.done;
    Rng rng = world_.draws("redis slices").next(peer.client.key());
    if (count > 1 && rng.chance(kPipelineSplit)) count = 1 + rng.below(count - 1);
    // It comes to the front of its connection first.
    for (std::size_t i = 1; i < count; ++i)
        if (is_wait((*request.commands)[request.done + i])) count = i;
    world_.after(node_, service_time(peer, count), [this, number = ++service_, count] {
        if (number == service_ && serving_ != nullptr) execute_slice(*serving_, count);
    });
}

engine::Duration RedisServer::service_time(Peer& peer, std::size_t count) {
    engine::Duration total{};
    const Peer::Request& request = peer.requests.front();
    for (std::size_t i = request.done; i < request.done + count; ++i) {
        const engine::RedisCommand& command = (*request.commands)[i];
        const std::string_view key = first_key(command);
        const CallScope scope{.script = script_names().of(command), .key = key, .job = job_of_key(key), .payload = {}};
        total += options_.service_time + world_.faults().redis_latency(command.front(), scope);
    }
    return total;
}

void RedisServer::execute_slice(Peer& peer, std::size_t count) {
    Peer::Request& request = peer.requests.front();
    database_->set_loading(world_.monotonic(node_) < loading_until_);
    give_turn_to(is_cut_off(peer.client));
    note_time();
    std::vector<ServerReply> replies;
    executing_ = serving_ends_ = true;
    for (std::size_t i = 0; i < count && struck_.empty(); ++i) {
        replies.push_back(execute(peer, (*request.commands)[request.done]));
        ++request.done;
    }
    serving_ = nullptr;
    run_struck();
    serving_ends_ = false;
    // A fault that hit meanwhile has cleared the requests of this connection.
    if (!peer.requests.empty()) {
        if (peer.connection) {
            peer.connection->send_to_client(
                [link = request.link, sink = request.sink, replies = std::move(replies)]() mutable {
                    if (const auto alive = sink.lock()) alive->on_replies(link, std::move(replies));
                });
        }
        if (request.done == request.commands->size()) peer.requests.pop_front();
        if (!peer.requests.empty()) {
            ready_.push_back(&peer);
        } else if (!peer.connection) {
            peer.session.reset();
        }
    }
    arm_expiry();
    serve_next();
}

ServerReply RedisServer::execute(Peer& peer, const engine::RedisCommand& command) {
    const std::vector<std::string_view> args(command.begin(), command.end());
    const NodeId client = peer.client;
    const std::optional<Effect> no_room = out_of_memory(peer, command);
    database_->set_out_of_memory(no_room.has_value());
    ServerReply reply;
    const engine::WallTime now = world_.wall(node_);
    const std::int64_t now_ms = engine::to_unix_micros(now) / 1000;
    database_->keyspace().tell_command(client, args, now_ms);
    reply.value = database_->execute(*peer.session, args, now);
    if (const auto began = std::exchange(peer.waits, std::nullopt))
        reply.value = RedisValue(std::int64_t{!is_cut_off(client) && copied_until() >= *began ? 1 : 0});
    database_->keyspace().tell_command(client, {}, now_ms);
    if (no_room && database_->refused_for_memory()) no_room->count();
    append_resp(reply.bytes, reply.value);

    Event event;
    event.kind = EventKind::redis;
    event.node = client;
    event.peer = node_;
    event.command = command.front();
    event.script = script_names_.of(command);
    event.key = first_key(command);
    event.job = job_of_key(event.key);
    event.payload = reply.bytes;
    world_.trace().emit(event);
    return reply;
}

std::optional<Effect> RedisServer::out_of_memory(const Peer& peer, const engine::RedisCommand& command) {
    const Command* known = find_command(command.front());
    const bool concerned = known != nullptr && (known->has(kDenyOom) || peer.session->queueing ||
                                                known->name == "eval" || known->name == "evalsha");
    return concerned ? world_.faults().redis_out_of_memory() : std::nullopt;
}

void RedisServer::hang_up(bool tell_clients) {
    for (const auto& peer : peers_) {
        if (!tell_clients) peer->connection.reset();
        peer->close();
    }
    peer_of_.clear();
    ready_.clear();
    serving_ = nullptr;
    ++service_;
}

void RedisServer::hang_up_on(const std::function<bool(NodeId)>& concerned) {
    for (const auto& peer : peers_) {
        if (!concerned(peer->client)) continue;
        peer->close();
        std::erase(ready_, peer.get());
        if (serving_ != peer.get()) continue;
        serving_ = nullptr;
        ++service_;
    }
    // Not within the end of a service, which goes on by itself.
    if (serving_ == nullptr && !serving_ends_) serve_next();
}

void RedisServer::strike(std::function<void()> fault) {
    struck_.push_back(std::move(fault));
    if (executing_) return;
    run_struck();
    arm_expiry();
}

void RedisServer::run_struck() {
    executing_ = true;  // what a fault tells may bring about the next one
    while (!struck_.empty()) {
        const std::function<void()> fault = std::move(struck_.front());
        struck_.pop_front();
        fault();
    }
    executing_ = false;
}

void RedisServer::restart(engine::Duration loading) {
    strike([this, loading] {
        leave_one_primary();
        hang_up(true);
        lose_data(last_sync());
        loading_for(loading);
    });
}

void RedisServer::failover(engine::Duration lag, engine::Duration takes) {
    strike([this, lag, takes] {
        leave_one_primary();
        hang_up(true);
        promoted_at_ = world_.monotonic(node_) + takes;
        promote(lag);
    });
}

void RedisServer::promote(engine::Duration lag) {
    database_->scripts().flush();
    engine::MonoTime reached = world_.monotonic(node_) - std::min(lag, options_.replica_lag);
    if (stalls_ > 0) reached = std::min(reached, stalled_at_);
    database_->keyspace().restore([this, reached] { journal_.roll_back(database_->keyspace(), reached); });
}

void RedisServer::two_primaries(engine::Duration lag, std::vector<NodeId> with_it) {
    strike([this, lag, cut_off = std::move(with_it)] {
        leave_one_primary();
        Keyspace::Content old = database_->keyspace().copy();
        ScriptEngine::Known scripts;  // of the old one; the new one knows none
        database_->scripts().exchange(scripts);
        promote(lag);
        twins_.emplace(Twins{{cut_off.begin(), cut_off.end()}, std::move(old), std::move(scripts), {}, false});
        hang_up_on([this](NodeId client) { return !is_cut_off(client); });
    });
}

void RedisServer::one_primary() {
    strike([this] { leave_one_primary(); });
}

bool RedisServer::is_cut_off(NodeId client) const { return twins_ && twins_->cut_off.contains(client); }

void RedisServer::give_turn_to(bool cut_off) {
    if (!twins_ || twins_->turn_of_cut_off == cut_off) return;
    twins_->turn_of_cut_off = cut_off;
    Keyspace& keys = database_->keyspace();
    keys.restore([this, &keys] { keys.exchange(twins_->waiting); });
    database_->scripts().exchange(twins_->scripts);
    std::swap(journal_, twins_->journal);
}

void RedisServer::leave_one_primary() {
    if (!twins_) return;
    give_turn_to(false);
    database_->scripts().forget(twins_->scripts);
    const std::set<NodeId> cut_off = std::move(twins_->cut_off);
    twins_.reset();
    hang_up_on([&cut_off](NodeId client) { return cut_off.contains(client); });
}

bool RedisServer::stall_replica() {
    if (!has_replica()) return false;
    if (stalls_ == 0) stalled_at_ = copied_until();
    ++stalls_;
    return true;
}

void RedisServer::let_replica_go_on() {
    if (stalls_ > 0) --stalls_;
}

engine::MonoTime RedisServer::copied_until() const {
    return stalls_ > 0 ? stalled_at_ : world_.monotonic(node_) - options_.replica_lag;
}

bool RedisServer::listening() const { return world_.monotonic(node_) >= promoted_at_; }

void RedisServer::node_down() {
    strike([this] {
        leave_one_primary();
        hang_up(false);
        lose_data(last_sync());
        expiry_timer_.reset();  // went with the node
        down_ = true;
    });
}

void RedisServer::node_up(engine::Duration loading) {
    down_ = false;
    started_ = world_.monotonic(node_);
    loading_for(loading);
    arm_expiry();
}

void RedisServer::script_flush() {
    strike([this] { database_->scripts().flush(); });
}

std::size_t RedisServer::evict(std::string_view glob) {
    give_turn_to(false);
    Keyspace& keys = database_->keyspace();
    std::vector<std::string> matching;
    for (const std::string_view key : keys.keys()) {
        if (glob_matches(glob, key)) matching.emplace_back(key);
    }
    strike([this, matching] {
        note_time();
        for (const std::string& key : matching) {
            if (Keyspace::Node* node = database_->keyspace().find(key))
                database_->keyspace().remove(*node, Removal::evicted);
        }
    });
    return matching.size();
}

std::size_t RedisServer::corrupt(std::string_view glob) {
    give_turn_to(false);
    Keyspace& keys = database_->keyspace();
    std::vector<std::string> matching;
    for (const std::string_view key : keys.keys()) {
        const bool is_text = std::holds_alternative<std::string>(keys.find(key)->second.value);
        if (is_text && glob_matches(glob, key)) matching.emplace_back(key);
    }
    strike([this, matching] {
        note_time();
        Keyspace& damaged = database_->keyspace();
        damaged.act_for(NodeId{});
        for (const std::string& key : matching) {
            const Keyspace::Node* node = damaged.find(key);
            const auto* text = node != nullptr ? std::get_if<std::string>(&node->second.value) : nullptr;
            if (text != nullptr) damaged.set_string(key, text->substr(0, text->size() / 2), node->second.expires_at);
        }
    });
    return matching.size();
}

void RedisServer::clock_changed() {
    strike([this] { expire_keys(); });
}

void RedisServer::loading_for(engine::Duration loading) { loading_until_ = world_.monotonic(node_) + loading; }

engine::MonoTime RedisServer::last_sync() const {
    const engine::MonoTime now = world_.monotonic(node_);
    return now - (now - started_) % kSyncInterval;
}

void RedisServer::lose_data(std::optional<engine::MonoTime> back_to) {
    Keyspace& keys = database_->keyspace();
    database_->scripts().flush();
    switch (options_.persistence) {
        case Persistence::none: keys.restore([&keys] { keys.clear(); }); break;
        case Persistence::everysec: keys.restore([&] { journal_.roll_back(keys, *back_to); }); break;
        case Persistence::always: return;
    }
    journal_.clear();  // what was lost cannot be lost again, and nothing older either
}

void RedisServer::note_time() {
    if (!journaling_) return;
    const engine::MonoTime now = world_.monotonic(node_);
    engine::MonoTime horizon = copied_until();
    if (options_.persistence == Persistence::everysec) horizon = std::min(horizon, last_sync());
    journal_.advance(now, horizon);
}

void RedisServer::arm_expiry() {
    const auto next = database_->keyspace().next_expiry();
    if (!next || down_) return;
    if (expiry_timer_) {
        if (expiry_timer_for_ <= *next) return;  // it will find out and arm again
        world_.cancel(*expiry_timer_);
    }
    // A key is gone when the clock has passed its millisecond.
    const engine::WallTime due{std::chrono::milliseconds(*next + 1)};
    const engine::Duration delay = std::max(due - world_.wall(node_), engine::Duration{});
    expiry_timer_for_ = *next;
    expiry_timer_ = world_.after(node_, delay, [this] {
        expiry_timer_.reset();
        strike([this] { expire_keys(); });
    });
}

void RedisServer::expire_keys() {
    if (down_) return;
    note_time();
    database_->expire_due(world_.wall(node_));
}

}  // namespace lockstep::fakes::redis
