// A fault of a scenario: where it is placed, how long it lasts, and what it does. Each kind is a struct of its own that holds what
// its arguments say, with its name in a file, a line of help, and theirs: format, schema, documents and lists are made from it.
//
// A kind derives from the way in which it comes about, and so says who begins it: sim/faults/ has no list of kinds beside the one
// here, and does not compile while a kind is begun by nobody. A new one is a struct here, in `Any`, and what it does there.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "engine/runtime/time.h"
#include "fakes/event.h"
#include "fakes/rng.h"
#include "sim/scenario/data_loss.h"

namespace lockstep::sim {

using engine::Duration;
using fakes::Distribution;

/// What a worker starts again with; all else stays as it was.
struct WorkerChange {
    std::optional<std::string> pool;
    std::optional<int> max_parallel_jobs;
    std::optional<std::vector<std::string>> capabilities;
    std::optional<std::map<std::string, std::string>> labels;
    [[nodiscard]] bool empty() const { return !pool && !max_parallel_jobs && !capabilities && !labels; }
};

/// Where on the stream of events a fault is placed.
struct Trigger {
    fakes::EventKind event{};
    fakes::When when = fakes::When::applied;
    int nth = 1;
    enum class Per : std::uint8_t { run, node, job } per = Per::run;
    /// Filters; empty = any. Globs: `*` is any run of characters.
    std::string node, job, subject, command, script, key, name, to;
    std::optional<Duration> after, until;  // virtual time, both ends included
};

/// Tunables by name, with values as set_tunable takes them; checked.
using NamedTunables = std::vector<std::pair<std::string, std::string>>;

/// What an argument of a fault holds.
enum class FaultArgKind : std::uint8_t {
    node,           // "target": a node, a group, or "actor"
    worker,         // "target": a worker or a group of them
    node_or_group,  // "a", "b"
    direction,      // both | a_to_b | b_to_a
    probability,    // 0 to 1
    distribution,
    duration,
    signed_duration,
    number,
    glob,
    words,         // list of text
    call_outcome,  // not_applied | unknown | lost
    in_hand,       // stuck | forgotten
    status,        // gRPC status: number or name
    kernel_decision,
    output_decision,
    pools,  // documents
    timeouts,
    settings,       // the settings service's `scheduler` block
    layers,         // its other documents
    tunables,       // of a scheduler that starts again
    worker_change,  // of a worker that starts again
    anything,       // text
    count,          // of calls, from 1
    script,         // glob over the names of scripts
    job,            // glob over job ids
};

namespace faults {

/// An argument: its name in a file, what it holds, and which member that is.
template <class Part, class Value>
struct Argument {
    std::string_view name;
    FaultArgKind kind;
    Value Part::* member;
    bool required;
};
/// How long it lasts, which faults have in common that last.
struct ForArgument {};

template <class Part, class Value>
constexpr Argument<Part, Value> arg(std::string_view name, FaultArgKind kind, Value Part::* member) {
    return {name, kind, member, false};
}
template <class Part, class Value>
constexpr Argument<Part, Value> required(std::string_view name, FaultArgKind kind, Value Part::* member) {
    return {name, kind, member, true};
}

// How they come about ---------------------------------------------------------------------------------------------------

struct Targeted {
    std::string target;  // a node, a group, or "actor"
};
/// Something happens to each of these nodes.
struct OfNode : Targeted {};
/// The way between two parts is disturbed.
struct OfLink {
    std::string a, b;  // nodes or groups
};
/// A server is told to do something, or an operator does it, at once.
struct OfServer {};
struct OfRedis : OfServer {};
struct OfNats : OfServer {};
/// A server is in another state for as long as it lasts.
struct OfServerState {};
/// Single calls or messages go wrong.
struct OfCalls {
    double rate = 1.0;
    std::optional<std::uint64_t> count;  // how many it hits
};
/// Workers behave otherwise.
struct OfWorkers : Targeted {};

/// A node goes down and comes back.
struct Restarting : OfNode {
    NamedTunables config;  // of a scheduler from its restart on
    WorkerChange worker;   // of a worker from its restart on
};
/// Globs that narrow it; empty = any.
struct OfRedisCalls : OfCalls {
    std::vector<std::string> commands;
    std::string script, key, job;
};
struct OfMessages : OfCalls {
    std::string subject;
};
/// Asked of the safety kernel.
struct OfChecks : OfCalls {
    std::string job;  // glob
};

constexpr int kUnavailable = 14;  // as gRPC numbers it

// What these parts have in common in a file.
inline constexpr ForArgument kFor;
inline constexpr auto kTarget = required("target", FaultArgKind::node, &Targeted::target);
inline constexpr auto kWorkers = required("target", FaultArgKind::worker, &Targeted::target);
inline constexpr auto kConfig = arg("config", FaultArgKind::tunables, &Restarting::config);
inline constexpr auto kWorker = arg("worker", FaultArgKind::worker_change, &Restarting::worker);
inline constexpr auto kRate = arg("rate", FaultArgKind::probability, &OfCalls::rate);
inline constexpr auto kCount = arg("count", FaultArgKind::count, &OfCalls::count);
inline constexpr auto kSubject = arg("subject", FaultArgKind::glob, &OfMessages::subject);

inline constexpr DataLoss kRedisData{.redis = true, .nats = false};
inline constexpr DataLoss kNatsData{.redis = false, .nats = true};

// The kinds -------------------------------------------------------------------------------------------------------------

struct Crash : Restarting {
    static constexpr std::string_view kName = "crash";
    static constexpr std::string_view kHelp =
        "a node dies where it stands and restarts after `for`; without it, it stays down";
    static constexpr auto arguments() { return std::tuple(kTarget, kFor, kConfig, kWorker); }
};

struct Stop : Restarting {
    static constexpr std::string_view kName = "stop";
    static constexpr std::string_view kHelp =
        "a node is asked to end, as by SIGTERM: a scheduler and a result reader finish or hand back their work, every "
        "other node just dies as by crash; it starts again `for` later, once it has ended; without it, it stays down";
    static constexpr auto arguments() { return std::tuple(kTarget, kFor, kConfig, kWorker); }
};

struct Pause : OfNode {
    static constexpr std::string_view kName = "pause";
    static constexpr std::string_view kHelp = "a node freezes: its timers and messages wait, the world goes on";
    static constexpr auto arguments() { return std::tuple(kTarget, kFor); }
};

struct Partition : OfLink {
    std::string direction = "both";

    static constexpr std::string_view kName = "partition";
    static constexpr std::string_view kHelp = "two parts cannot reach each other";
    static constexpr auto arguments() {
        return std::tuple(required("a", FaultArgKind::node_or_group, &Partition::a),
                          required("b", FaultArgKind::node_or_group, &Partition::b),
                          arg("direction", FaultArgKind::direction, &Partition::direction), kFor);
    }
};

struct SlowLink : OfLink {
    Distribution latency;

    static constexpr std::string_view kName = "slow_link";
    static constexpr std::string_view kHelp = "messages between two parts take longer";
    static constexpr auto arguments() {
        return std::tuple(required("a", FaultArgKind::node_or_group, &SlowLink::a),
                          required("b", FaultArgKind::node_or_group, &SlowLink::b),
                          required("latency", FaultArgKind::distribution, &SlowLink::latency), kFor);
    }
};

struct LossyLink : OfLink {
    double rate = 1.0;

    static constexpr std::string_view kName = "lossy_link";
    static constexpr std::string_view kHelp = "messages between two parts get lost";
    static constexpr auto arguments() {
        return std::tuple(required("a", FaultArgKind::node_or_group, &LossyLink::a),
                          required("b", FaultArgKind::node_or_group, &LossyLink::b),
                          required("rate", FaultArgKind::probability, &LossyLink::rate), kFor);
    }
};

struct ClockJump : OfNode {
    Duration by{};

    static constexpr std::string_view kName = "clock_jump";
    static constexpr std::string_view kHelp = "the wall clock of a node jumps, backwards when negative";
    static constexpr auto arguments() {
        return std::tuple(kTarget, required("by", FaultArgKind::signed_duration, &ClockJump::by));
    }
};

struct ClockDrift : OfNode {
    double ppm = 0;

    static constexpr std::string_view kName = "clock_drift";
    static constexpr std::string_view kHelp = "the clock of a node runs fast, or slow when negative";
    static constexpr auto arguments() {
        return std::tuple(kTarget, required("ppm", FaultArgKind::number, &ClockDrift::ppm));
    }
};

struct RedisErrors : OfRedisCalls {
    std::string outcome;  // not_applied | unknown | lost; empty: drawn for each call

    static constexpr std::string_view kName = "redis.errors";
    static constexpr std::string_view kHelp = "Redis calls fail, with or without effect";
    static constexpr auto arguments() {
        return std::tuple(kRate, arg("outcome", FaultArgKind::call_outcome, &RedisErrors::outcome),
                          arg("commands", FaultArgKind::words, &RedisErrors::commands),
                          arg("script", FaultArgKind::script, &RedisErrors::script),
                          arg("key", FaultArgKind::glob, &RedisErrors::key),
                          arg("job", FaultArgKind::job, &RedisErrors::job), kCount, kFor);
    }
};

struct RedisLatency : OfRedisCalls {
    Distribution latency;

    static constexpr std::string_view kName = "redis.latency";
    static constexpr std::string_view kHelp = "Redis answers late";
    static constexpr auto arguments() {
        return std::tuple(required("latency", FaultArgKind::distribution, &RedisLatency::latency),
                          arg("commands", FaultArgKind::words, &RedisLatency::commands),
                          arg("script", FaultArgKind::script, &RedisLatency::script),
                          arg("key", FaultArgKind::glob, &RedisLatency::key),
                          arg("job", FaultArgKind::job, &RedisLatency::job), kCount, kFor);
    }
};

struct RedisRestart : OfRedis {
    static constexpr std::string_view kName = "redis.restart";
    static constexpr std::string_view kHelp = "Redis restarts and keeps what its persistence kept";
    static constexpr DataLoss kLoses = kRedisData;
    static constexpr auto arguments() { return std::tuple(kFor); }
};

struct RedisFailover : OfRedis {
    static constexpr std::string_view kName = "redis.failover";
    static constexpr std::string_view kHelp =
        "nobody answers for `for`, then a replica that had lagged behind is the primary";
    static constexpr DataLoss kLoses = kRedisData;
    static constexpr auto arguments() { return std::tuple(kFor); }
};

struct RedisReplicaStalls : OfServerState {
    static constexpr std::string_view kName = "redis.replica_stalls";
    static constexpr std::string_view kHelp =
        "the replica of Redis gets nothing for a while: nobody who waits for it has it, and a failover goes back to "
        "before that";
    static constexpr auto arguments() { return std::tuple(kFor); }
};

struct RedisTwoPrimaries : OfServerState, Targeted {
    static constexpr std::string_view kName = "redis.two_primaries";
    static constexpr std::string_view kHelp =
        "a replica that had lagged behind is the primary at once, while the old one goes on for the nodes of `target`: "
        "what "
        "they write is gone after `for`";
    static constexpr DataLoss kLoses = kRedisData;
    static constexpr auto arguments() { return std::tuple(kTarget, kFor); }
};

struct RedisScriptFlush : OfRedis {
    static constexpr std::string_view kName = "redis.script_flush";
    static constexpr std::string_view kHelp = "Redis forgets its scripts";
    static constexpr auto arguments() { return std::tuple(); }
};

struct RedisEvict : OfRedis {
    std::string keys;

    static constexpr std::string_view kName = "redis.evict";
    static constexpr std::string_view kHelp = "keys vanish";
    static constexpr DataLoss kLoses = kRedisData;
    static constexpr auto arguments() { return std::tuple(arg("keys", FaultArgKind::glob, &RedisEvict::keys)); }
};

struct RedisCorrupt : OfRedis {
    std::string keys;

    static constexpr std::string_view kName = "redis.corrupt";
    static constexpr std::string_view kHelp = "texts under keys are cut in half";
    static constexpr DataLoss kLoses = kRedisData;
    static constexpr auto arguments() { return std::tuple(required("keys", FaultArgKind::glob, &RedisCorrupt::keys)); }
};

struct RedisOom : OfCalls {
    static constexpr std::string_view kName = "redis.oom";
    static constexpr std::string_view kHelp = "Redis refuses writes for want of memory";
    static constexpr auto arguments() { return std::tuple(kFor); }
};

struct NatsPublishErrors : OfMessages {
    std::string outcome;  // as of RedisErrors
    std::string job;      // glob

    static constexpr std::string_view kName = "nats.publish_errors";
    static constexpr std::string_view kHelp = "JetStream publishes fail, with or without effect";
    static constexpr auto arguments() {
        return std::tuple(kRate, arg("outcome", FaultArgKind::call_outcome, &NatsPublishErrors::outcome), kSubject,
                          arg("job", FaultArgKind::job, &NatsPublishErrors::job), kCount, kFor);
    }
};

struct NatsLostAcks : OfMessages {
    static constexpr std::string_view kName = "nats.lost_acks";
    static constexpr std::string_view kHelp = "acknowledgements of consumers get lost";
    static constexpr auto arguments() { return std::tuple(kRate, kSubject, kCount, kFor); }
};

struct NatsLateAcks : OfMessages {
    Distribution latency;

    static constexpr std::string_view kName = "nats.late_acks";
    static constexpr std::string_view kHelp = "acknowledgements of consumers arrive late";
    static constexpr auto arguments() {
        return std::tuple(kRate, arg("latency", FaultArgKind::distribution, &NatsLateAcks::latency), kSubject, kCount,
                          kFor);
    }
};

struct NatsDuplicate : OfMessages {
    static constexpr std::string_view kName = "nats.duplicate";
    static constexpr std::string_view kHelp = "messages are delivered twice";
    static constexpr auto arguments() { return std::tuple(kRate, kSubject, kCount, kFor); }
};

struct NatsReorder : OfMessages {
    Distribution latency;

    static constexpr std::string_view kName = "nats.reorder";
    static constexpr std::string_view kHelp = "messages overtake each other";
    static constexpr auto arguments() {
        return std::tuple(kRate, arg("latency", FaultArgKind::distribution, &NatsReorder::latency), kSubject, kCount,
                          kFor);
    }
};

struct NatsRestart : OfNats {
    static constexpr std::string_view kName = "nats.restart";
    static constexpr std::string_view kHelp = "NATS restarts and keeps its streams";
    static constexpr auto arguments() { return std::tuple(kFor); }
};

struct NatsPowerCut : OfNats {
    static constexpr std::string_view kName = "nats.power_cut";
    static constexpr std::string_view kHelp = "NATS restarts and loses what it had not synced";
    static constexpr DataLoss kLoses = kNatsData;
    static constexpr auto arguments() { return std::tuple(kFor); }
};

struct NatsNewLeader : OfNats {
    std::string in_hand;  // stuck | forgotten; empty: stuck

    static constexpr std::string_view kName = "nats.new_leader";
    static constexpr std::string_view kHelp =
        "another server of a cluster leads the consumers, and delivers nothing again of what is in hand";
    static constexpr auto arguments() {
        return std::tuple(arg("in_hand", FaultArgKind::in_hand, &NatsNewLeader::in_hand));
    }
};

struct NatsNoQuorum : OfServerState {
    static constexpr std::string_view kName = "nats.no_quorum";
    static constexpr std::string_view kHelp =
        "most servers of a cluster are away: core messages pass, streams and consumers do nothing and answer nobody";
    static constexpr auto arguments() { return std::tuple(kFor); }
};

struct NatsGarbledDelivery : OfMessages {
    static constexpr std::string_view kName = "nats.garbled_delivery";
    static constexpr std::string_view kHelp = "stored messages reach their consumers as bytes that are no packet";
    static constexpr auto arguments() { return std::tuple(kRate, kSubject, kCount, kFor); }
};

struct NatsDropCore : OfMessages {
    static constexpr std::string_view kName = "nats.drop_core";
    static constexpr std::string_view kHelp = "core messages get lost for single subscribers";
    static constexpr auto arguments() { return std::tuple(kRate, kSubject, kCount, kFor); }
};

struct KernelErrors : OfChecks {
    int status = kUnavailable;

    static constexpr std::string_view kName = "kernel.errors";
    static constexpr std::string_view kHelp = "policy checks answer a gRPC status";
    static constexpr auto arguments() {
        return std::tuple(kRate, arg("status", FaultArgKind::status, &KernelErrors::status),
                          arg("job", FaultArgKind::job, &KernelErrors::job), kCount, kFor);
    }
};

struct KernelLatency : OfChecks {
    Distribution latency;

    static constexpr std::string_view kName = "kernel.latency";
    static constexpr std::string_view kHelp = "policy checks answer late";
    static constexpr auto arguments() {
        return std::tuple(kRate, required("latency", FaultArgKind::distribution, &KernelLatency::latency),
                          arg("job", FaultArgKind::job, &KernelLatency::job), kCount, kFor);
    }
};

struct KernelOutage : OfChecks {
    static constexpr std::string_view kName = "kernel.outage";
    static constexpr std::string_view kHelp = "policy checks do not answer";
    static constexpr auto arguments() {
        return std::tuple(arg("job", FaultArgKind::job, &KernelOutage::job), kCount, kFor);
    }
};

struct KernelFlap : OfChecks {
    Duration period{};
    int status = kUnavailable;

    static constexpr std::string_view kName = "kernel.flap";
    static constexpr std::string_view kHelp = "policy checks fail and work in turns";
    static constexpr auto arguments() {
        return std::tuple(required("period", FaultArgKind::duration, &KernelFlap::period),
                          arg("status", FaultArgKind::status, &KernelFlap::status), kFor);
    }
};

struct KernelDecision : OfChecks {
    std::string decision;

    static constexpr std::string_view kName = "kernel.decision";
    static constexpr std::string_view kHelp = "policy answers this, whatever its rules say";
    static constexpr auto arguments() {
        return std::tuple(kRate, required("decision", FaultArgKind::kernel_decision, &KernelDecision::decision),
                          arg("job", FaultArgKind::job, &KernelDecision::job), kCount, kFor);
    }
};

struct OutputPolicyErrors : OfChecks {
    int status = kUnavailable;

    static constexpr std::string_view kName = "output_policy.errors";
    static constexpr std::string_view kHelp = "output checks answer a gRPC status";
    static constexpr auto arguments() {
        return std::tuple(kRate, arg("status", FaultArgKind::status, &OutputPolicyErrors::status),
                          arg("job", FaultArgKind::job, &OutputPolicyErrors::job), kCount, kFor);
    }
};

struct OutputPolicyLatency : OfChecks {
    Distribution latency;

    static constexpr std::string_view kName = "output_policy.latency";
    static constexpr std::string_view kHelp = "output checks answer late";
    static constexpr auto arguments() {
        return std::tuple(kRate, required("latency", FaultArgKind::distribution, &OutputPolicyLatency::latency),
                          arg("job", FaultArgKind::job, &OutputPolicyLatency::job), kCount, kFor);
    }
};

struct OutputPolicyDecision : OfChecks {
    std::string decision;

    static constexpr std::string_view kName = "output_policy.decision";
    static constexpr std::string_view kHelp = "output policy answers this, whatever its rules say";
    static constexpr auto arguments() {
        return std::tuple(kRate, required("decision", FaultArgKind::output_decision, &OutputPolicyDecision::decision),
                          arg("job", FaultArgKind::job, &OutputPolicyDecision::job), kCount, kFor);
    }
};

struct WorkerSilence : OfWorkers {
    static constexpr std::string_view kName = "worker.silence";
    static constexpr std::string_view kHelp = "heartbeats stop, work goes on";
    static constexpr auto arguments() { return std::tuple(kWorkers, kFor); }
};

struct WorkerZombie : OfWorkers {
    static constexpr std::string_view kName = "worker.zombie";
    static constexpr std::string_view kHelp = "heartbeats go on, work stops";
    static constexpr auto arguments() { return std::tuple(kWorkers, kFor); }
};

struct WorkerOverload : OfWorkers {
    static constexpr std::string_view kName = "worker.overload";
    static constexpr std::string_view kHelp = "a worker reports itself overloaded";
    static constexpr auto arguments() { return std::tuple(kWorkers, kFor); }
};

struct Corrupt : OfMessages {
    static constexpr std::string_view kName = "corrupt";
    static constexpr std::string_view kHelp = "bytes of packets are flipped or cut";
    static constexpr auto arguments() { return std::tuple(kRate, kSubject, kCount, kFor); }
};

struct ConfigUpdate : OfServer {
    std::string pools, timeouts, settings;  // JSON text of the new documents
    std::string raw;                        // what replaces all of them, JSON or not
    std::string layers;                     // JSON object, other documents by scope and id

    static constexpr std::string_view kName = "config.update";
    static constexpr std::string_view kHelp = "an operator writes new settings and announces them";
    static constexpr auto arguments() {
        return std::tuple(arg("pools", FaultArgKind::pools, &ConfigUpdate::pools),
                          arg("timeouts", FaultArgKind::timeouts, &ConfigUpdate::timeouts),
                          arg("scheduler", FaultArgKind::settings, &ConfigUpdate::settings),
                          arg("raw", FaultArgKind::anything, &ConfigUpdate::raw),
                          arg("layers", FaultArgKind::layers, &ConfigUpdate::layers));
    }
};

/// In the order in which people read of them.
using Any = std::variant<Crash, Stop, Pause, Partition, SlowLink, LossyLink, ClockJump, ClockDrift, RedisErrors,
                         RedisLatency, RedisRestart, RedisFailover, RedisReplicaStalls, RedisTwoPrimaries,
                         RedisScriptFlush, RedisEvict, RedisCorrupt, RedisOom, NatsPublishErrors, NatsLostAcks,
                         NatsLateAcks, NatsDuplicate, NatsReorder, NatsRestart, NatsPowerCut, NatsNewLeader,
                         NatsNoQuorum, NatsGarbledDelivery, NatsDropCore, KernelErrors, KernelLatency, KernelOutage,
                         KernelFlap, KernelDecision, OutputPolicyErrors, OutputPolicyLatency, OutputPolicyDecision,
                         WorkerSilence, WorkerZombie, WorkerOverload, Corrupt, ConfigUpdate>;

}  // namespace faults

struct Fault {
    std::string pointer;  // JSON pointer in the file, for messages
    Duration at{};
    std::optional<Trigger> on;
    std::optional<Duration> duration;  // "for"
    faults::Any what;

    // Defined in one place: a compiler takes seconds for a variant of so many.
    Fault();
    Fault(const Fault& other);
    Fault(Fault&& other) noexcept;
    Fault& operator=(const Fault& other);
    Fault& operator=(Fault&& other) noexcept;
    ~Fault();

    /// The name after "do".
    [[nodiscard]] std::string_view kind() const;

    /// REQUIRES: it is of this kind.
    template <class Kind>
    [[nodiscard]] Kind& as() {
        return std::get<Kind>(what);
    }
    /// What several kinds have in common; null where this one has it not.
    template <class Part>
    [[nodiscard]] const Part* part() const;
    template <class Part>
    [[nodiscard]] Part* part() {
        return const_cast<Part*>(std::as_const(*this).part<Part>());
    }
};

}  // namespace lockstep::sim
