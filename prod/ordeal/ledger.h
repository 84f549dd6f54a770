// What an ordeal knows in the end: what was submitted, what the streams held, what workers ran, what Redis says, and what was
// done to whom. Plain data; judge.h says what it proves.
//
// 1. All of it comes from outside the programs under test: acknowledgements from NATS, messages from its streams, records
//    of workers, keys of Redis.
// 2. Times are the system clock's. Every process of an ordeal runs on one machine, so they compare.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lockstep::prod::ordeal {

using Span = std::chrono::microseconds;
using Moment = std::chrono::sys_time<Span>;

[[nodiscard]] inline Moment now() { return std::chrono::floor<Span>(std::chrono::system_clock::now()); }

/// What policy makes of a job.
enum class JobKind : std::uint8_t { ordinary, denied, needs_approval };

struct Submission {
    JobKind kind = JobKind::ordinary;
    std::size_t content_size = 0;        // of the label that is compared at the end
    std::optional<Moment> acknowledged;  // by JetStream, for the first time
    std::uint64_t sequence = 0;          // of the acknowledged message
    int times_sent = 0;                  // submissions on purpose, not tries to get one acknowledged
    bool cancel_asked = false;
};

/// Jobs that attackers submit under a name of their own.
inline constexpr std::string_view kAttackPrefix = "attack-";

/// A message on sys.job.result, as the stream holds it.
struct StoredResult {
    std::string job;
    std::string status;  // the state that it asks for, such as SUCCEEDED
    std::string worker;
    std::uint64_t sequence = 0;
    Moment stored;
    bool may_be_tried_again = false;  // by the submitter: such a failure has no dead letter
};

struct Execution {
    std::string job;
    std::string worker;
    Moment started;
};

struct StateChange {
    std::string state;
    Moment at;
};

/// What Redis says of a job when all is over.
struct JobEnd {
    std::string state;  // empty: it knows none
    std::string reason;
    std::string worker;
    std::vector<StateChange> history;
    bool dead_letter = false;
    std::string letter_code;    // the reason that it gives
    std::string content_fault;  // how the stored request differs from what was submitted; empty: not at all
};

enum class DisturbanceKind : std::uint8_t {
    replica_kill,
    replica_stop,
    replica_freeze,
    nats_kill,
    nats_freeze,
    redis_kill,
    redis_freeze,
    worker_kill,
    worker_freeze,
    kernel_kill,
    cut,
    stall,
    flood,
    large,
    garbage,
    nonsense,
};
inline constexpr std::size_t kDisturbanceKinds = static_cast<std::size_t>(DisturbanceKind::nonsense) + 1;
[[nodiscard]] std::string_view name_of(DisturbanceKind kind);
/// Whether it takes something from somebody; the others only send messages.
[[nodiscard]] bool hurts(DisturbanceKind kind);

struct Disturbance {
    DisturbanceKind kind{};
    std::string target;
    Moment from;
    Moment until;  // when what was taken was given back
};

/// A replica as the operating system sees it, once it has been ready for a while and at the end.
struct Footprint {
    std::string replica;
    long descriptors_before = 0;
    long descriptors_after = 0;
    long resident_kb_before = 0;
    long resident_kb_after = 0;
    long resident_kb_most = 0;
};

struct Consumer {
    std::string name;
    std::uint64_t pending = 0;  // not delivered yet
    std::uint64_t unacknowledged = 0;
    std::uint64_t hostile =
        0;  // most of the latter that can be about jobs of attackers: so many of those have not ended
    /// What it has still to do for honest jobs.
    [[nodiscard]] std::uint64_t left() const { return pending + (std::max(unacknowledged, hostile) - hostile); }
};

/// An end that nobody had asked for.
struct Crash {
    std::string program;
    int exit_code = 0;  // 128 + signal, when one ended it
    std::string last_words;
};

/// A mark of a message in hand that nobody has taken away.
struct LeftMark {
    std::string key;
    std::optional<Moment> set;  // for the last time; nothing: it has no end
    bool hostile = false;       // of a message that no honest sender has sent
};

/// The times that the deployment was given.
struct Rules {
    Span dispatch_timeout{};
    Span running_timeout{};
    Span patience{};  // how much longer a job may wait for a result that the stream holds
    Span in_flight_life{};
    bool clustered = false;  // what NATS holds has copies, and those may come apart
    bool lossy = false;      // what no replica of Redis has is gone when another one takes the writes
};

struct Ledger {
    std::uint64_t seed = 0;
    bool interrupted = false;  // somebody had no more patience: what follows is not complete
    Rules rules;
    std::map<std::string, Submission> submissions;
    std::set<std::string> stored;       // jobs whose submission the stream holds in the end
    std::vector<StoredResult> results;  // in the order of the stream
    std::vector<Execution> executions;
    std::map<std::string, int> dispatched;        // messages for workers in the stream, by job
    std::vector<std::string> dispatched_unsound;  // messages for workers that differ from what was submitted, and how
    std::map<std::string, JobEnd> ends;
    std::vector<Disturbance> disturbances;
    // Of an attack; see attack.h.
    std::optional<Moment> attacked_from;  // nothing: there was none
    std::map<std::string, int> attacks;   // strikes by kind
    std::set<std::string> may_not_run;    // jobs that attackers have submitted, and no rule lets through
    std::map<std::string, std::string>
        let_through;  // those of them that neither failed nor were dropped, and their states
    int garbage_acknowledged = 0;
    int nonsense_acknowledged = 0;
    int garbage_letters = 0;
    // Left behind.
    bool settled = false;  // nothing moved any more before patience ended
    Span settling{};
    std::string unrest;  // what was not at rest when it was looked at last
    std::vector<std::string> locks;
    std::vector<LeftMark> in_flight;
    std::vector<Consumer> consumers;
    std::vector<Footprint> footprints;
    std::vector<Crash> crashes;
    std::vector<std::string> unstoppable;  // replicas that did not end within their time after SIGTERM
};

}  // namespace lockstep::prod::ordeal
