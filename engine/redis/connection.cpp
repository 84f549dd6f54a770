#include "engine/redis/connection.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

namespace {

std::size_t bytes_of(const std::vector<RedisCommand>& commands) {
    std::size_t bytes = 0;
    for (const RedisCommand& command : commands) {
        for (const std::string& word : command) bytes += word.size();
    }
    return bytes;
}

RedisCommands with_ping(std::vector<RedisCommand> log_in) {
    // A connection is accepted for a server that is frozen; only an answer shows that somebody is there.
    log_in.push_back({"PING"});
    return std::make_shared<const std::vector<RedisCommand>>(std::move(log_in));
}

/// For all that was sent on the connection before it.
RedisCommands wait_for(const RedisConnectionOptions& options) {
    return std::make_shared<const std::vector<RedisCommand>>(std::vector<RedisCommand>{
        {"WAIT", std::to_string(options.replicas_required), std::to_string(to_millis(options.replicas_patience))}});
}

/// A command that is not known to read only may have written.
bool may_write(const std::vector<RedisCommand>& commands) {
    static constexpr std::array<std::string_view, 22> kReads{
        "ECHO", "EXISTS", "GET",  "HGET",  "HGETALL",  "HMGET", "INFO", "LLEN",  "LRANGE", "MGET",   "PING",
        "PTTL", "ROLE",   "SCAN", "SCARD", "SMEMBERS", "TIME",  "TTL",  "ZCARD", "ZRANGE", "ZSCORE", "ZRANGEBYSCORE"};
    return !std::ranges::all_of(commands, [](const RedisCommand& command) {
        return std::ranges::find(kReads, command.front()) != kReads.end();
    });
}

bool refuses_writes(const RedisValue& reply) {
    return reply.error() != nullptr && reply.error()->text.starts_with("READONLY");
}

}  // namespace

RedisConnection::RedisConnection(RedisTransport& transport, RedisConnectionOptions options)
    : transport_(transport),
      options_(std::move(options)),
      log_in_(with_ping(options_.log_in)),
      wait_(wait_for(options_)),
      pause_(options_.reconnect_pause_min) {
    PRECONDITION(options_.connect_timeout > Duration{0} && options_.silence_max > Duration{0},
                 "{}: {} ns to connect, {} ns of silence", options_.server, options_.connect_timeout.count(),
                 options_.silence_max.count());
    PRECONDITION(
        options_.reconnect_pause_min > Duration{0} && options_.reconnect_pause_min <= options_.reconnect_pause_max,
        "{}: pauses from {} to {} ns", options_.server, options_.reconnect_pause_min.count(),
        options_.reconnect_pause_max.count());
    PRECONDITION(options_.replicas_required >= 0 && options_.replicas_patience > Duration{0} &&
                     options_.replicas_patience < options_.silence_max,
                 "{}: {} replicas have {} ns, and a silence of {} ns ends the connection", options_.server,
                 options_.replicas_required, options_.replicas_patience.count(), options_.silence_max.count());
}

void RedisConnection::open() {
    PRECONDITION(!opened_, "a connection is opened once");
    opened_ = true;
    start_attempt();
    arm();
}

void RedisConnection::close(std::string why) {
    if (state_ != State::closed) transport_.close();
    state_ = State::closed;
    last_error_ = fmt::format("{}: {}", options_.server, why);
    told_ = nullptr;
    answer_lost(std::exchange(unconfirmed_, {}), transport_.now());
    answer_lost(std::exchange(in_flight_, {}), transport_.now());
    Places unsent = std::exchange(queued_, {});
    for (Place& place : unsent) place.call->finish(NotApplied{{FailureCause::disconnected, last_error_}});
    calls_ = bytes_ = 0;
}

void RedisConnection::submit(std::unique_ptr<RedisCall> call) {
    Place place{.call = std::move(call), .expected = 0, .bytes = 0};
    RedisCall& asked = *place.call;
    place.expected = asked.commands->size();
    place.bytes = bytes_of(*asked.commands);
    if (place.expected == 0) return asked.finish(std::vector<RedisValue>());
    if (state_ == State::closed) return asked.finish(NotApplied{{FailureCause::disconnected, last_error_}});
    if (asked.deadline <= transport_.now()) return asked.finish(NotApplied{{FailureCause::timeout, "no time left"}});
    // One call alone is let through, however large it is.
    if (calls_ > 0 && (calls_ >= options_.calls_max || bytes_ + place.bytes > options_.bytes_max))
        return asked.finish(
            NotApplied{{FailureCause::disconnected, fmt::format("{} calls with {} bytes wait for {} already: {}",
                                                                calls_, bytes_, options_.server, why_waiting())}});
    ++calls_;
    bytes_ += place.bytes;
    if (!next_deadline_ || asked.deadline < *next_deadline_) next_deadline_ = asked.deadline;
    if (open_for_calls() && queued_.empty())
        send(std::move(place));
    else
        queued_.push_back(std::move(place));
    arm();
}

void RedisConnection::send(Place place) {
    INVARIANT(open_for_calls(), "{}: a call is sent to where nobody answers", options_.server);
    if (transport_.write(place.call->commands)) {
        const bool writes = options_.replicas_required > 0 && may_write(*place.call->commands);
        place.replies.reserve(place.expected);
        in_flight_.push_back(std::move(place));
        if (writes) ask_replicas();
        return;
    }
    forget(place);
    place.call->finish(NotApplied{{FailureCause::disconnected, "the connection is closing"}});
}

void RedisConnection::ask_replicas() {
    ask_again_ = asking_replicas_;
    if (asking_replicas_ || !transport_.write(wait_)) return;
    asking_replicas_ = true;
    in_flight_.push_back({.call = nullptr, .expected = 1, .bytes = 0, .asks_replicas = true});
}

void RedisConnection::send_queued() {
    while (open_for_calls() && !queued_.empty()) {
        Place next = std::move(queued_.front());
        queued_.pop_front();
        send(std::move(next));
    }
}

void RedisConnection::forget(const Place& place) {
    --calls_;
    bytes_ -= place.bytes;
}

std::string RedisConnection::why_waiting() const {
    if (!last_error_.empty()) return last_error_;
    return in_doubt_ ? "a reply is overdue, and nothing has arrived since" : "replies are slow to come";
}

void RedisConnection::start_attempt() {
    INVARIANT(in_flight_.empty() && state_ != State::connecting && state_ != State::logging_in,
              "{}: an attempt begins beside another, or before {} calls of the last connection have been answered",
              options_.server, in_flight_.size());
    state_ = State::connecting;
    state_ends_ = transport_.now() + options_.connect_timeout;
    transport_.connect();
}

void RedisConnection::on_connected() {
    if (state_ != State::connecting) return;
    state_ = State::logging_in;
    log_in_replies_ = log_in_->size();
    if (!transport_.write(log_in_)) drop("the connection is closing");
}

void RedisConnection::on_log_in_reply(const RedisValue& reply) {
    const bool ping = --log_in_replies_ == 0;
    if (const auto* error = reply.error()) {
        // What a server says that is loading its data, or busy with a script, is no refusal; it just is not ready.
        const bool refused = !ping || error->text.starts_with("NOAUTH");
        drop(fmt::format("{}: {}", refused ? "it refused the log-in" : "it is not ready", error->text));
    } else if (ping) {
        become_ready();
    }
}

void RedisConnection::become_ready() {
    state_ = State::ready;
    ++connections_;
    ready_since_ = transport_.now();
    last_error_.clear();
    if (told_) told_(true, {});
    send_queued();
}

void RedisConnection::on_closed(std::string why) {
    if (state_ == State::closed || state_ == State::waiting) return;
    lost(why);
}

void RedisConnection::drop(const std::string& why) {
    transport_.close();
    lost(why);
}

void RedisConnection::lost(const std::string& why) {
    const MonoTime now = transport_.now();
    const bool lived = state_ == State::ready && now - ready_since_ >= options_.short_lived;
    last_error_ = fmt::format("{}: {}", options_.server, why);
    demoted_ = in_doubt_ = asking_replicas_ = ask_again_ = false;
    overdue_ = 0;
    Places unanswered = std::exchange(unconfirmed_, {});
    std::ranges::move(std::exchange(in_flight_, {}), std::back_inserter(unanswered));
    for (const Place& place : unanswered)
        if (!place.asks_replicas) forget(place);
    if (lived) {
        pause_ = options_.reconnect_pause_min;
        start_attempt();
    } else {
        state_ = State::waiting;
        state_ends_ = now + pause_;
        pause_ = std::min(2 * pause_, options_.reconnect_pause_max);
    }
    arm();
    if (told_) told_(false, last_error_);
    answer_lost(std::move(unanswered), now);
}

void RedisConnection::answer_lost(Places places, MonoTime now) {
    for (Place& place : places) {
        if (!place.call) continue;
        const bool late = place.call->deadline <= now;
        place.call->finish(
            Unknown{{late ? FailureCause::timeout : FailureCause::disconnected, last_error_}, connections_});
    }
}

void RedisConnection::on_reply(RedisValue reply) {
    quiet_since_ = transport_.now();
    in_doubt_ = false;
    if (state_ == State::logging_in)
        on_log_in_reply(reply);
    else if (state_ == State::ready)
        take_reply(std::move(reply));
    send_queued();
}

void RedisConnection::take_reply(RedisValue reply) {
    if (in_flight_.empty()) return drop("a reply arrived that nobody waits for");
    Place& place = in_flight_.front();
    demoted_ |= refuses_writes(reply);
    if (place.call || place.asks_replicas) place.replies.push_back(std::move(reply));
    if (++place.arrived < place.expected) return;
    Place done = std::move(place);
    in_flight_.pop_front();
    if (done.asks_replicas)
        on_replicas(done.replies.front());
    else
        answer(std::move(done));
    // Whoever was answered may have closed this.
    if (demoted_ && state_ == State::ready) drop("it has become a replica, which takes no writes");
}

void RedisConnection::answer(Place done) {
    const auto is_error = [](const RedisValue& reply) { return reply.error() != nullptr; };
    // What the server has refused altogether is in no need of replicas.
    if (done.call && options_.replicas_required > 0 && may_write(*done.call->commands) &&
        !std::ranges::all_of(done.replies, is_error)) {
        unconfirmed_.push_back(std::move(done));
        return;
    }
    forget(done);
    if (done.call)
        done.call->finish(std::move(done.replies));
    else
        --overdue_;
}

void RedisConnection::on_replicas(const RedisValue& reply) {
    asking_replicas_ = false;
    const bool enough = reply.integer_or(0) >= options_.replicas_required;
    const std::string why = fmt::format("done by the primary, and {} of the {} replicas that are required have it",
                                        reply.integer_or(0), options_.replicas_required);
    Places confirmed = std::exchange(unconfirmed_, {});
    if (ask_again_) ask_replicas();
    for (const Place& place : confirmed) forget(place);
    for (Place& place : confirmed) {
        if (enough)
            place.call->finish(std::move(place.replies));
        else
            place.call->finish(Unknown{{FailureCause::timeout, why}, connections_});
    }
}

void RedisConnection::on_wake() {
    armed_.reset();
    const MonoTime now = transport_.now();
    if (next_deadline_ && *next_deadline_ <= now) expire(now);
    const bool over = state_ends_ <= now;
    if (state_ == State::waiting && over)
        start_attempt();
    else if ((state_ == State::connecting || state_ == State::logging_in) && over)
        drop("no answer to an attempt to connect");
    else if (state_ == State::ready && overdue_ > 0 && quiet_since_ + options_.silence_max <= now)
        drop("a reply is overdue, and nothing else has arrived");
    arm();
}

void RedisConnection::expire(MonoTime now) {
    next_deadline_.reset();
    const auto unsent = take_expired(queued_, now, false);
    const auto unconfirmed = take_expired(unconfirmed_, now, false);
    const auto unanswered = take_expired(in_flight_, now, true);
    if (!unanswered.empty()) {
        if (overdue_ == 0) quiet_since_ = now;
        overdue_ += unanswered.size();
        in_doubt_ = true;
    }
    const std::string waiting = why_waiting();
    for (const auto& call : unsent)
        call->finish(NotApplied{{FailureCause::timeout, fmt::format("not sent before the deadline: {}", waiting)}});
    for (const auto& call : unconfirmed)
        call->finish(
            Unknown{{FailureCause::timeout, "the replicas have not confirmed it before the deadline"}, connections_});
    for (const auto& call : unanswered)
        call->finish(Unknown{{FailureCause::timeout, "no reply before the deadline"}, connections_});
}

std::vector<std::unique_ptr<RedisCall>> RedisConnection::take_expired(Places& places, MonoTime now, bool keep_place) {
    std::vector<std::unique_ptr<RedisCall>> expired;
    for (Place& place : places) {
        if (!place.call) continue;
        if (place.call->deadline > now) {
            if (!next_deadline_ || place.call->deadline < *next_deadline_) next_deadline_ = place.call->deadline;
            continue;
        }
        expired.push_back(std::move(place.call));
        place.replies.clear();
        if (!keep_place) forget(place);
    }
    if (!keep_place && !expired.empty()) std::erase_if(places, [](const Place& place) { return !place.call; });
    return expired;
}

void RedisConnection::arm() {
    if (state_ == State::closed) return;
    INVARIANT(calls_ + (asking_replicas_ ? 1 : 0) == queued_.size() + in_flight_.size() + unconfirmed_.size() &&
                  calls_ <= std::max<std::size_t>(options_.calls_max, 1),
              "{}: {} calls of {} at most are {} to be sent, {} in flight and {} unconfirmed", options_.server, calls_,
              options_.calls_max, queued_.size(), in_flight_.size(), unconfirmed_.size());
    INVARIANT(overdue_ <= in_flight_.size(), "{}: {} of {} calls in flight are overdue", options_.server, overdue_,
              in_flight_.size());
    std::optional<MonoTime> next = next_deadline_;
    const auto sooner = [&next](MonoTime when) {
        if (!next || when < *next) next = when;
    };
    if (state_ != State::ready) sooner(state_ends_);
    if (state_ == State::ready && overdue_ > 0) sooner(quiet_since_ + options_.silence_max);
    if (!next || (armed_ && *armed_ <= *next)) return;  // it looks at everything when it wakes
    armed_ = next;
    transport_.wake_at(*next);
}

}  // namespace lockstep::engine
