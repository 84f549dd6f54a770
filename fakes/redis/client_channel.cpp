#include "fakes/redis/client_channel.h"

#include <algorithm>

#include "fakes/redis/resp.h"

namespace lockstep::fakes::redis {

namespace {

using engine::FailureCause;
using engine::NotApplied;
using engine::Unknown;

/// An event about a command, but for its payload.
Event event_of(const engine::RedisCommand& command, When when, NodeId client, RedisServer& server) {
    Event event;
    event.kind = EventKind::redis;
    event.when = when;
    event.node = client;
    event.peer = server.node();
    event.command = command.front();
    event.script = server.script_names().of(command);
    event.key = first_key(command);
    event.job = job_of_key(event.key);
    return event;
}

}  // namespace

/// The listener of one connection. Kept alive by the attempt to connect and by the channel until it hangs up.
class ClientChannel::Link final : public ConnectionListener {
public:
    Link(std::weak_ptr<ClientChannel> channel, std::uint64_t number) : channel_(std::move(channel)), number_(number) {}
    void on_broken() override {
        if (const auto channel = channel_.lock()) channel->on_broken(number_);
    }

private:
    std::weak_ptr<ClientChannel> channel_;
    std::uint64_t number_;
};

ClientChannel::ClientChannel(World& world, NodeId node, RedisServer& server, RedisClientOptions options)
    : world_(world), node_(node), server_(server), options_(options), reconnect_delay_(options.reconnect_delay) {}

void ClientChannel::submit(std::vector<engine::RedisCommand> commands, engine::MonoTime deadline, Sender sender) {
    const std::shared_ptr<ClientChannel> self = shared_from_this();
    if (shut_ || !announce(commands)) return;
    const CallFault fault = fault_for(commands);
    Request request{std::make_shared<const std::vector<engine::RedisCommand>>(std::move(commands)),
                    deadline,
                    std::move(sender),
                    fault,
                    {}};
    if (fault == CallFault::not_applied) {
        finish(request, EventOutcome::not_applied, NotApplied{{FailureCause::disconnected, "connection refused"}});
        return;
    }
    if (request.commands->empty()) {
        finish(request, EventOutcome::applied, std::vector<engine::RedisValue>());
        return;
    }
    if (deadline <= world_.monotonic(node_)) {
        finish(request, EventOutcome::not_applied, NotApplied{{FailureCause::timeout, "no time left"}});
        return;
    }
    watch_deadline(deadline);
    if (state_ == State::connected) {
        send(std::move(request));
        return;
    }
    waiting_.push_back(std::move(request));
    if (state_ == State::idle) connect();
}

bool ClientChannel::announce(const std::vector<engine::RedisCommand>& commands) {
    std::string bytes;
    for (const engine::RedisCommand& command : commands) {
        bytes.clear();
        append_resp(bytes, command);
        Event event = event_of(command, When::before, node_, server_);
        event.payload = bytes;
        if (!world_.trace().emit(event)) {
            shut_down();
            return false;
        }
    }
    return true;
}

CallFault ClientChannel::fault_for(const std::vector<engine::RedisCommand>& commands) {
    for (const engine::RedisCommand& command : commands) {
        const CallFault fault = world_.faults().redis_call(node_, command.front());
        if (fault != CallFault::none) return fault;
    }
    return CallFault::none;
}

bool ClientChannel::finish(Request& request, EventOutcome outcome, Answer answer) {
    for (std::size_t i = 0; i < request.commands->size(); ++i) {
        Event event = event_of((*request.commands)[i], When::answered, node_, server_);
        event.outcome = outcome;
        if (i < request.replies.size()) event.payload = request.replies[i].bytes;
        if (!world_.trace().emit(event)) {
            shut_down();
            return false;
        }
    }
    request.sender.send(std::move(answer));
    return true;
}

void ClientChannel::shut_down() {
    if (std::exchange(shut_, true)) return;
    ++attempt_;
    if (deadline_timer_) world_.cancel(*deadline_timer_);
    if (connection_) std::exchange(connection_, nullptr)->close_from_client();
    waiting_.clear();
    in_flight_.clear();
    link_.reset();
}

void ClientChannel::connect() {
    state_ = State::connecting;
    const std::uint64_t attempt = ++attempt_;
    link_ = std::make_shared<Link>(weak_from_this(), attempt);
    const auto timed_out = [weak = weak_from_this(), attempt] {
        const auto self = weak.lock();
        if (self && !self->shut_ && self->attempt_ == attempt && self->state_ == State::connecting)
            self->attempt_failed();
    };
    world_.after(node_, options_.connect_timeout, timed_out);
    world_.connect(node_, server_.node(), RedisServer::kService, *link_,
                   [weak = weak_from_this(), attempt, link = link_](std::shared_ptr<Connection> connection) {
                       const auto self = weak.lock();
                       if (self && !self->shut_ && self->attempt_ == attempt) {
                           self->on_connected(attempt, std::move(connection));
                       } else if (connection) {
                           connection->close_from_client();  // too late: nobody wants it any more
                       }
                   });
}

void ClientChannel::on_connected(std::uint64_t attempt, std::shared_ptr<Connection> connection) {
    if (!connection) {
        attempt_failed();
        return;
    }
    state_ = State::connected;
    reconnect_delay_ = options_.reconnect_delay;
    connection_ = std::move(connection);
    stalled_ = false;
    cut_ = false;
    while (!waiting_.empty() && attempt_ == attempt) {
        Request next = std::move(waiting_.front());
        waiting_.pop_front();
        send(std::move(next));
    }
}

void ClientChannel::attempt_failed() {
    const std::uint64_t attempt = ++attempt_;
    state_ = State::backing_off;
    link_.reset();
    world_.after(node_, reconnect_delay_, [weak = weak_from_this(), attempt] {
        const auto self = weak.lock();
        if (!self || self->shut_ || self->attempt_ != attempt) return;
        self->state_ = State::idle;
        if (!self->waiting_.empty()) self->connect();
    });
    reconnect_delay_ = std::min(2 * reconnect_delay_, options_.reconnect_delay_max);
}

void ClientChannel::send(Request request) {
    if (request.fault == CallFault::lost && !cut_) cut_connection();
    // The arrival runs on the server's node, where this channel may be gone: it takes along what it needs.
    if (!cut_)
        connection_->send_to_server([server = &server_, connection = std::weak_ptr<Connection>(connection_),
                                     link = attempt_, commands = request.commands, sink = weak_from_this()]() mutable {
            const auto alive = connection.lock();
            if (alive) server->receive(*alive, link, std::move(sink), std::move(commands));
        });
    in_flight_.push_back(std::move(request));
}

void ClientChannel::cut_connection() {
    cut_ = true;
    if (!world_.rng("redis").chance(0.5)) return;
    world_.after(node_, engine::Duration{}, [weak = weak_from_this(), attempt = attempt_] {
        const auto self = weak.lock();
        if (self && !self->shut_ && self->attempt_ == attempt) self->drop_connection();
    });
}

void ClientChannel::on_replies(std::uint64_t link, std::vector<ServerReply> replies) {
    const std::shared_ptr<ClientChannel> self = shared_from_this();
    if (shut_ || link != attempt_ || stalled_ || in_flight_.empty()) return;
    Request& request = in_flight_.front();
    if (request.fault == CallFault::unknown) {
        // Either the connection dies under the answer, or it goes silent until the deadline.
        if (world_.rng("redis").chance(0.5)) {
            drop_connection();
        } else {
            stalled_ = true;
        }
        return;
    }
    std::move(replies.begin(), replies.end(), std::back_inserter(request.replies));
    if (request.replies.size() < request.commands->size()) return;
    Request done = std::move(request);
    in_flight_.pop_front();
    std::vector<engine::RedisValue> values;
    values.reserve(done.replies.size());
    for (ServerReply& reply : done.replies) values.push_back(std::move(reply.value));
    finish(done, EventOutcome::applied, std::move(values));
}

void ClientChannel::on_broken(std::uint64_t link) {
    const std::shared_ptr<ClientChannel> self = shared_from_this();
    if (shut_ || link != attempt_) return;
    drop_connection();
}

void ClientChannel::drop_connection() {
    if (connection_) std::exchange(connection_, nullptr)->close_from_client();
    link_.reset();
    ++attempt_;
    state_ = State::idle;
    fail_in_flight(world_.monotonic(node_));
    if (!shut_ && state_ == State::idle && !waiting_.empty()) connect();
}

void ClientChannel::fail_in_flight(engine::MonoTime now) {
    std::deque<Request> lost;
    lost.swap(in_flight_);
    for (Request& request : lost) {
        const bool late = request.deadline <= now;
        Unknown failure{
            {late ? FailureCause::timeout : FailureCause::disconnected, late ? "no answer in time" : "connection lost"},
            0};
        request.replies.clear();
        if (!finish(request, EventOutcome::unknown, std::move(failure))) return;
    }
}

void ClientChannel::watch_deadline(engine::MonoTime deadline) {
    if (deadline_timer_) {
        if (deadline_timer_for_ <= deadline) return;  // it looks at all of them when it fires
        world_.cancel(*deadline_timer_);
    }
    deadline_timer_for_ = deadline;
    const engine::Duration delay = std::max(deadline - world_.monotonic(node_), engine::Duration{});
    deadline_timer_ = world_.after(node_, delay, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->on_deadline();
    });
}

void ClientChannel::on_deadline() {
    deadline_timer_.reset();
    if (shut_) return;
    const engine::MonoTime now = world_.monotonic(node_);
    const auto late = [now](const Request& request) { return request.deadline <= now; };
    std::deque<Request> expired;
    for (auto request = waiting_.begin(); request != waiting_.end();) {
        if (!late(*request)) {
            ++request;
            continue;
        }
        expired.push_back(std::move(*request));
        request = waiting_.erase(request);
    }
    for (Request& request : expired) {
        NotApplied failure{{FailureCause::timeout, "no connection in time"}};
        if (!finish(request, EventOutcome::not_applied, std::move(failure))) return;
    }
    if (std::any_of(in_flight_.begin(), in_flight_.end(), late)) drop_connection();
    if (shut_) return;
    std::optional<engine::MonoTime> next;
    for (const auto* queue : {&in_flight_, &waiting_}) {
        for (const Request& request : *queue) next = next ? std::min(*next, request.deadline) : request.deadline;
    }
    if (next) watch_deadline(*next);
}

}  // namespace lockstep::fakes::redis
