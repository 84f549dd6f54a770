// A fault of a scenario: where it is placed, how long it lasts, and what it does. Each kind is a struct of its own that holds what
// its arguments say; the table of faults (fault_table.cpp) gives it its name and them theirs.
//
// A kind derives from the way in which it comes about, and so says who begins it: sim/faults/ has no list of kinds beside this
// one, and does not compile while a kind is begun by nobody.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/runtime/time.h"
#include "fakes/event.h"
#include "fakes/rng.h"

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
};

/// Tunables by name, with values as set_tunable takes them; checked.
using NamedTunables = std::vector<std::pair<std::string, std::string>>;

namespace faults {

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

// The kinds -------------------------------------------------------------------------------------------------------------

struct Crash : Restarting {};
struct Stop : Restarting {};
struct Pause : OfNode {};
struct Partition : OfLink {
    std::string direction = "both";
};
struct SlowLink : OfLink {
    Distribution latency;
};
struct LossyLink : OfLink {
    double rate = 1.0;
};
struct ClockJump : OfNode {
    Duration by{};
};
struct ClockDrift : OfNode {
    double ppm = 0;
};

struct RedisErrors : OfRedisCalls {
    std::string outcome;  // not_applied | unknown | lost; empty: drawn for each call
};
struct RedisLatency : OfRedisCalls {
    Distribution latency;
};
struct RedisRestart : OfRedis {};
struct RedisFailover : OfRedis {};
struct RedisScriptFlush : OfRedis {};
struct RedisEvict : OfRedis {
    std::string keys;
};
struct RedisCorrupt : OfRedis {
    std::string keys;
};
struct RedisOom : OfCalls {};

struct NatsPublishErrors : OfMessages {
    std::string outcome;  // as of RedisErrors
    std::string job;      // glob
};
struct NatsLostAcks : OfMessages {};
struct NatsLateAcks : OfMessages {
    Distribution latency;
};
struct NatsDuplicate : OfMessages {};
struct NatsReorder : OfMessages {
    Distribution latency;
};
struct NatsRestart : OfNats {};
struct NatsPowerCut : OfNats {};
struct NatsGarbledDelivery : OfMessages {};
struct NatsDropCore : OfMessages {};

struct KernelErrors : OfChecks {
    int status = kUnavailable;
};
struct KernelLatency : OfChecks {
    Distribution latency;
};
struct KernelOutage : OfChecks {};
struct KernelFlap : OfChecks {
    Duration period{};
    int status = kUnavailable;
};
struct KernelDecision : OfChecks {
    std::string decision;
};
struct OutputPolicyErrors : OfChecks {
    int status = kUnavailable;
};
struct OutputPolicyLatency : OfChecks {
    Distribution latency;
};
struct OutputPolicyDecision : OfChecks {
    std::string decision;
};

struct WorkerSilence : OfWorkers {};
struct WorkerZombie : OfWorkers {};
struct WorkerOverload : OfWorkers {};

struct Corrupt : OfMessages {};
struct ConfigUpdate : OfServer {
    std::string pools, timeouts, settings;  // JSON text of the new documents
    std::string raw;                        // what replaces all of them, JSON or not
    std::string layers;                     // JSON object, other documents by scope and id
};

/// In the order of the table.
using Any = std::variant<Crash, Stop, Pause, Partition, SlowLink, LossyLink, ClockJump, ClockDrift, RedisErrors,
                         RedisLatency, RedisRestart, RedisFailover, RedisScriptFlush, RedisEvict, RedisCorrupt,
                         RedisOom, NatsPublishErrors, NatsLostAcks, NatsLateAcks, NatsDuplicate, NatsReorder,
                         NatsRestart, NatsPowerCut, NatsGarbledDelivery, NatsDropCore, KernelErrors, KernelLatency,
                         KernelOutage, KernelFlap, KernelDecision, OutputPolicyErrors, OutputPolicyLatency,
                         OutputPolicyDecision, WorkerSilence, WorkerZombie, WorkerOverload, Corrupt, ConfigUpdate>;

}  // namespace faults

struct Fault {
    std::string pointer;  // JSON pointer in the file, for messages
    Duration at{};
    std::optional<Trigger> on;
    std::optional<Duration> duration;  // "for"
    faults::Any what;

    /// The name after "do".
    [[nodiscard]] std::string_view kind() const;

    /// REQUIRES: it is of this kind.
    template <class Kind>
    [[nodiscard]] Kind& as() {
        return std::get<Kind>(what);
    }
    /// What several kinds have in common; null where this one has it not.
    template <class Part>
    [[nodiscard]] const Part* part() const {
        const auto seek = []<class Kind>(const Kind& kind) -> const Part* {
            if constexpr (std::derived_from<Kind, Part>)
                return &kind;
            else
                return nullptr;
        };
        return std::visit(seek, what);
    }
    template <class Part>
    [[nodiscard]] Part* part() {
        return const_cast<Part*>(std::as_const(*this).part<Part>());
    }
};

}  // namespace lockstep::sim
