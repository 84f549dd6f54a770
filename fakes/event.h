// What can happen in the simulated world, as one flat record. Faults are placed on events, rules watch them, the trace
// stores them and the digest is taken over them; the views in an event are valid only while it is being told.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace cordum::agent::v1 {
class BusPacket;
}  // namespace cordum::agent::v1

namespace lockstep::fakes {

/// A node of the simulated world; numbered in the order of the scenario's topology.
struct NodeId {
    std::int32_t value = -1;
    friend auto operator<=>(const NodeId&, const NodeId&) = default;
    [[nodiscard]] bool valid() const { return value >= 0; }
    /// As the key of what is drawn for it (fakes/rng.h).
    [[nodiscard]] std::uint64_t key() const { return static_cast<std::uint64_t>(value); }
};

enum class EventKind : std::uint8_t {
    // Calls, told up to three times (see When).
    publish,       // JetStream publish: subject, message_id, payload; answered: outcome, sequence, flag = duplicate
    core_publish,  // subject, payload
    ack,           // a consumer's answer: subject, stream, sequence, name = durable
    nak,           // + number = delay in nanoseconds
    term,
    in_progress,
    redis,         // command, script (name), key (the first), args = all arguments; answered: outcome, payload = reply
    kernel_check,  // job, payload; answered: to = decision or status name
    output_check,
    // Facts.
    stored,         // a stream took a message: stream, sequence, subject, message_id, payload
    deliver,        // to a consumer: subject, stream, sequence, name = durable, number = delivery count, payload
    core_deliver,   // to one core subscriber: subject, name = queue group, payload
    lock_acquired,  // key, name = token; job for a job lock
    lock_renewed,
    lock_released,
    lock_expired,
    state,         // job, from, to
    heartbeat,     // a worker sent one
    job_started,   // a worker took up a job: job, message_id = dispatch id, number = execution count on that worker
    job_finished,  // a worker ended it: job, to = status; flag = the result was sent
    result,        // a worker published a result: job, to = status
    submit,        // the gateway submitted: job; flag = acknowledged
    cancel,        // operator or gateway: job
    approve,
    reached,  // name
    timer,    // name
    node_up,
    node_down,
    paused,
    resumed,
    connection_broken,
    fault,   // name, from = "begin" | "end"
    metric,  // not in the digest
    log,     // not in the digest: name = message, number = level
    // Facts once more; the numbers above are in digests.
    max_deliveries,  // a consumer gives a message up: stream, sequence, name = durable, number = deliveries, subject
    slow_consumer,   // a server hangs up on a client that reads too little: name = limit, number = bytes it had waiting
    read_back,  // a client got a message of a stream that it had asked for: subject, stream, sequence, payload
};
/// Whether it is told up to three times.
[[nodiscard]] constexpr bool is_call(EventKind kind) { return kind <= EventKind::output_check; }
/// Whether it may concern all that its node does.
[[nodiscard]] constexpr bool is_life(EventKind kind) {
    return kind == EventKind::node_up || kind == EventKind::node_down || kind == EventKind::paused ||
           kind == EventKind::resumed || kind == EventKind::fault;
}
inline constexpr std::size_t kEventKinds = static_cast<std::size_t>(EventKind::read_back) + 1;

/// Some of the kinds: what an observer asks to be told of.
class EventKinds {
public:
    constexpr EventKinds() = default;
    constexpr EventKinds(std::initializer_list<EventKind> kinds) {
        for (const EventKind kind : kinds) bits_ |= bit(kind);
    }
    [[nodiscard]] static constexpr EventKinds all() {
        EventKinds kinds;
        kinds.bits_ = (std::uint64_t{1} << kEventKinds) - 1;
        return kinds;
    }
    [[nodiscard]] constexpr bool contains(EventKind kind) const { return (bits_ & bit(kind)) != 0; }
    friend constexpr EventKinds operator|(EventKinds a, EventKinds b) {
        a.bits_ |= b.bits_;
        return a;
    }
    friend constexpr bool operator==(EventKinds, EventKinds) = default;

private:
    static constexpr std::uint64_t bit(EventKind kind) { return std::uint64_t{1} << static_cast<unsigned>(kind); }
    static_assert(kEventKinds < 64);

    std::uint64_t bits_ = 0;
};

/// Where in a call an event stands. A fact has `applied`.
enum class When : std::uint8_t {
    before,    // decided, not yet left the node
    applied,   // it took effect at the other side; the answer is on its way
    answered,  // the caller has the answer
};

enum class EventOutcome : std::uint8_t { none, applied, not_applied, unknown };

/// A job by number, which saves whoever keeps something of every job from comparing names: the trace gives each name that it
/// meets one, from 1. 0: there is no job, or nobody has numbered it.
using JobNumber = std::uint32_t;

struct Event {
    EventKind kind{};
    When when = When::applied;
    EventOutcome outcome = EventOutcome::none;
    bool flag = false;
    NodeId node;  // the node that caused it: for the side of a server, the client on whose behalf it acts
    NodeId peer;  // the other side, where there is one

    std::string_view subject;
    std::string_view job;
    JobNumber job_number = 0;
    std::string_view command;
    std::string_view script;
    std::string_view key;
    std::string_view name;
    std::string_view from;
    std::string_view to;
    std::string_view stream;
    std::string_view message_id;
    std::string_view payload;
    std::uint64_t sequence = 0;
    std::int64_t number = 0;

    /// The decoded packet of a bus event; null when it does not parse, or for other events.
    const cordum::agent::v1::BusPacket* packet = nullptr;
};

[[nodiscard]] std::string_view to_string(EventKind kind);
[[nodiscard]] std::string_view to_string(When when);

}  // namespace lockstep::fakes
