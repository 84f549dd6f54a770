#include "fakes/redis/client_channel.h"

#include <algorithm>

#include "fakes/redis/resp.h"

namespace lockstep::fakes::redis {

namespace {

using engine::FailureCause;
using engine::NotApplied;

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

EventOutcome outcome_of(const engine::RedisCall::Answer& answer) {
    switch (answer.kind()) {
        case engine::OutcomeKind::applied: return EventOutcome::applied;
        case engine::OutcomeKind::not_applied: return EventOutcome::not_applied;
        case engine::OutcomeKind::unknown: break;
    }
    return EventOutcome::unknown;
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

/// A call that tells of its answer. It lives in the channel's connection.
class ClientChannel::Call final : public engine::RedisCall {
public:
    Call(ClientChannel& channel, engine::RedisCommands what, engine::MonoTime until, Sender sender)
        : RedisCall(std::move(what), until), channel_(channel), sender_(std::move(sender)) {}
    ~Call() override {
        std::erase_if(channel_.planned_, [this](const auto& plan) { return plan.first == commands.get(); });
    }

    void finish(Answer answer) override {
        if (channel_.tell_answer(*commands, answer)) sender_.send(std::move(answer));
    }

private:
    ClientChannel& channel_;
    Sender sender_;
};

ClientChannel::ClientChannel(World& world, NodeId node, RedisServer& server, engine::RedisConnectionOptions options)
    : world_(world), node_(node), server_(server), connection_(*this, std::move(options)) {}

void ClientChannel::submit(engine::RedisCommands commands, engine::MonoTime deadline, Sender sender) {
    const std::shared_ptr<ClientChannel> self = shared_from_this();
    if (shut_ || !announce(*commands)) return;
    const CallFault fault = fault_for(*commands);
    auto call = std::make_unique<Call>(*this, commands, deadline, std::move(sender));
    if (fault == CallFault::not_applied) {
        call->finish(NotApplied{{FailureCause::disconnected, "connection refused"}});
        return;
    }
    if (fault != CallFault::none) planned_.emplace_back(commands.get(), fault);
    connection_.submit(std::move(call));
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
        const Event event = event_of(command, When::before, node_, server_);
        const CallFault fault = world_.faults().redis_call(
            node_, command.front(), {.script = event.script, .key = event.key, .job = event.job, .payload = {}});
        if (fault != CallFault::none) return fault;
    }
    return CallFault::none;
}

bool ClientChannel::tell_answer(const std::vector<engine::RedisCommand>& commands,
                                const engine::RedisCall::Answer& answer) {
    std::string bytes;
    for (std::size_t i = 0; i < commands.size() && !shut_; ++i) {
        Event event = event_of(commands[i], When::answered, node_, server_);
        event.outcome = outcome_of(answer);
        bytes.clear();
        if (answer.applied()) append_resp(bytes, answer.value()[i]);
        event.payload = bytes;
        if (!world_.trace().emit(event)) shut_down();
    }
    return !shut_;
}

void ClientChannel::shut_down() {
    if (std::exchange(shut_, true)) return;
    connection_.close("the client is gone");
    if (timer_) world_.cancel(*timer_);
}

void ClientChannel::connect() {
    const std::uint64_t attempt = ++attempt_;
    link_ = std::make_shared<Link>(weak_from_this(), attempt);
    world_.connect(node_, server_.node(), RedisServer::kService, *link_,
                   [weak = weak_from_this(), attempt, link = link_](std::shared_ptr<Connection> wire) {
                       const auto self = weak.lock();
                       if (self && self->attempt_ == attempt) {
                           self->on_attempt(attempt, std::move(wire));
                       } else if (wire) {
                           wire->close_from_client();  // too late: nobody wants it any more
                       }
                   });
}

void ClientChannel::on_attempt(std::uint64_t attempt, std::shared_ptr<Connection> wire) {
    if (!wire) {
        on_broken(attempt);
        return;
    }
    wire_ = std::move(wire);
    stalled_ = cut_ = false;
    connection_.listener().on_connected();
}

void ClientChannel::close() {
    ++attempt_;
    if (wire_) std::exchange(wire_, nullptr)->close_from_client();
    link_.reset();
    written_.clear();
}

bool ClientChannel::write(const engine::RedisCommands& commands) {
    const auto planned = std::ranges::find(planned_, static_cast<const void*>(commands.get()),
                                           &std::pair<const void*, CallFault>::first);
    const CallFault fault = planned == planned_.end() ? CallFault::none : planned->second;
    if (fault == CallFault::lost && !cut_) cut();
    // The arrival runs on the server's node, where this channel may be gone: it takes along what it needs.
    if (!cut_)
        wire_->send_to_server([server = &server_, wire = std::weak_ptr<Connection>(wire_), link = attempt_, commands,
                               sink = weak_from_this()]() mutable {
            const auto alive = wire.lock();
            if (alive) server->receive(*alive, link, std::move(sink), std::move(commands));
        });
    written_.push_back({commands->size(), fault});
    return true;
}

void ClientChannel::cut() {
    cut_ = true;
    if (!world_.draws("redis cuts").next(node_.key()).chance(0.5)) return;
    world_.after(node_, engine::Duration{}, [weak = weak_from_this(), attempt = attempt_] {
        const auto self = weak.lock();
        if (self && self->attempt_ == attempt) self->die();
    });
}

void ClientChannel::die() {
    close();
    connection_.listener().on_closed("connection lost");
}

void ClientChannel::on_replies(std::uint64_t link, std::vector<ServerReply> replies) {
    const std::shared_ptr<ClientChannel> self = shared_from_this();
    if (link != attempt_ || stalled_ || written_.empty()) return;
    Written& first = written_.front();
    if (first.fault == CallFault::unknown) {
        // Either the connection dies under the answer, or it goes silent.
        if (world_.draws("redis silence").next(node_.key()).chance(0.5)) {
            die();
        } else {
            stalled_ = true;
        }
        return;
    }
    first.replies -= replies.size();  // the server answers one request at a time
    if (first.replies == 0) written_.pop_front();
    for (ServerReply& reply : replies) {
        if (link != attempt_) return;  // given up meanwhile
        connection_.listener().on_reply(std::move(reply.value));
    }
}

void ClientChannel::on_broken(std::uint64_t link) {
    const std::shared_ptr<ClientChannel> self = shared_from_this();
    if (link != attempt_) return;
    const bool refused = wire_ == nullptr;
    close();
    connection_.listener().on_closed(refused ? "connection refused" : "connection lost");
}

void ClientChannel::wake_at(engine::MonoTime when) {
    if (timer_) world_.cancel(*timer_);
    const engine::Duration delay = std::max(when - now(), engine::Duration{});
    timer_ = world_.after(node_, delay, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self || self->shut_) return;
        self->timer_.reset();
        self->connection_.listener().on_wake();
    });
}

}  // namespace lockstep::fakes::redis
