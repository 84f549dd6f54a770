// The one connection of a Redis port: what is sent, what waits, and what each call is answered. Over a RedisTransport, which
// only carries bytes, so that production and the simulation follow the same rules:
//
//   1. It connects at once, and again whenever it has no connection: directly after one that had lived, else after a pause.
//   2. Without a connection calls wait, up to their deadlines: *not applied* then. So they do while a server does not accept
//      the log-in or is still loading its data. A job is thus not given back, and delivered anew, once for every refusal.
//   3. What waits is bounded in calls and in bytes; a call on top of that is *not applied* at once.
//   4. A reply that is overdue makes its own call *unknown* and nobody else's. Its place in the order of replies is kept and
//      what arrives for it is thrown away. Until anything arrives, further calls wait: nothing is sent to the silent.
//   5. The connection is given up, and what was sent on it *unknown*, when it breaks; when a reply arrives that nobody waits
//      for; when nothing at all arrives for `silence_max` while a reply is overdue; and when the server refuses a write
//      because it is a replica now: its address may name another server.
//   6. Where replicas are required, what may have written is answered once Redis says that so many have it (WAIT), and is
//      *unknown* where it says that fewer have, or cannot say. One question is under way at a time, for all that was sent before it.
//
// Lives on the transport's thread. The owner keeps it alive while it is inside of one of its functions.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/redis/connection_options.h"
#include "engine/redis/transport.h"

namespace lockstep::engine {

/// One call: commands that are sent together, and who is to be told what came of them.
class RedisCall {
public:
    using Answer = Outcome<std::vector<RedisValue>>;

    RedisCall(RedisCommands what, MonoTime until) : commands(std::move(what)), deadline(until) {}
    RedisCall(const RedisCall&) = delete;
    RedisCall& operator=(const RedisCall&) = delete;
    virtual ~RedisCall() = default;

    /// Called once.
    virtual void finish(Answer answer) = 0;

    const RedisCommands commands;
    const MonoTime deadline;
};

class RedisConnection final : private RedisTransportListener {
public:
    /// The transport outlives the connection, and tells `listener()` what happens to it. REQUIRES: times and pauses above zero, the
    /// first pause not above the last.
    RedisConnection(RedisTransport& transport, RedisConnectionOptions options);
    RedisConnection(const RedisConnection&) = delete;
    RedisConnection& operator=(const RedisConnection&) = delete;
    ~RedisConnection() = default;

    [[nodiscard]] RedisTransportListener& listener() { return *this; }

    /// Begins the first attempt. REQUIRES: called once.
    void open();
    /// For good: answers whatever is unanswered, sent or not, and every call from now on.
    void close(std::string why);

    /// Sends the call now or as soon as the rules allow, and answers it in any case.
    void submit(std::unique_ptr<RedisCall> call);

    [[nodiscard]] bool connected() const { return state_ == State::ready; }
    /// Connections made so far, log-in included.
    [[nodiscard]] std::uint64_t connections() const { return connections_; }
    /// Why there is no connection; empty while there is one.
    [[nodiscard]] const std::string& last_error() const { return last_error_; }
    /// Called when a connection is made (empty text) and whenever one is lost or could not be made (why).
    void on_state(std::function<void(bool connected, const std::string& why)> listener) { told_ = std::move(listener); }

private:
    enum class State : std::uint8_t { closed, waiting, connecting, logging_in, ready };

    /// A call's place in a queue. A sent call that was overdue has been answered and leaves its place without it.
    struct Place {
        std::unique_ptr<RedisCall> call;
        std::size_t expected;  // replies
        std::size_t bytes;
        bool asks_replicas = false;  // no call's: the question whether they have what was sent before it
        std::vector<RedisValue> replies{};
        std::size_t arrived = 0;
    };
    using Places = std::deque<Place>;

    void on_connected() override;
    void on_closed(std::string why) override;
    void on_reply(RedisValue reply) override;
    void on_wake() override;

    void start_attempt();
    void on_log_in_reply(const RedisValue& reply);
    void become_ready();
    void take_reply(RedisValue reply);
    void answer(Place done);
    /// Asks whether the replicas have what has been sent, now or once the question under way has been answered.
    void ask_replicas();
    void on_replicas(const RedisValue& reply);
    /// Hangs up, and goes on as when the other side has.
    void drop(const std::string& why);
    void lost(const std::string& why);
    void answer_lost(Places places, MonoTime now);

    /// Whether a call may be sent: there is a connection, and no reason to doubt it.
    [[nodiscard]] bool open_for_calls() const { return state_ == State::ready && !in_doubt_; }
    void send(Place place);
    void send_queued();
    void forget(const Place& place);
    [[nodiscard]] std::string why_waiting() const;

    void expire(MonoTime now);
    [[nodiscard]] std::vector<std::unique_ptr<RedisCall>> take_expired(Places& places, MonoTime now, bool keep_place);
    /// Asks the transport for the next instant at which there is something to decide.
    void arm();

    RedisTransport& transport_;
    const RedisConnectionOptions options_;
    const RedisCommands log_in_;
    const RedisCommands wait_;
    std::function<void(bool, const std::string&)> told_;

    State state_ = State::closed;
    bool opened_ = false;
    Places queued_;          // waiting to be sent
    Places in_flight_;       // sent, in the order in which replies come
    Places unconfirmed_;     // replied to by the primary, before the question about its replicas that is under way
    std::size_t calls_ = 0;  // in all of them
    std::size_t bytes_ = 0;

    std::size_t log_in_replies_ = 0;  // still to come
    bool asking_replicas_ = false;    // a question about them is in flight
    bool ask_again_ = false;          // something has been sent since
    bool demoted_ = false;            // the server takes no writes any more
    std::size_t overdue_ = 0;         // places in flight without a call
    bool in_doubt_ = false;           // a reply became overdue, and nothing has arrived since
    MonoTime quiet_since_{};          // the last arrival, or when the first reply became overdue

    MonoTime state_ends_{};                  // waiting: the next attempt; connecting, logging in: the end of this one
    std::optional<MonoTime> next_deadline_;  // no call's deadline is earlier
    std::optional<MonoTime> armed_;
    Duration pause_;
    MonoTime ready_since_{};
    std::uint64_t connections_ = 0;
    std::string last_error_ = "not connected yet";
};

}  // namespace lockstep::engine
