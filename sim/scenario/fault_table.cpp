#include <algorithm>

#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

namespace {

using enum FaultArgKind;
using Args = std::vector<FaultArg>;

constexpr bool kRequired = true;
constexpr DataLoss kRedis{.redis = true, .nats = false};
constexpr DataLoss kNats{.redis = false, .nats = true};

constexpr FaultArg kFor{"for", duration};
constexpr FaultArg kRate{"rate", probability};
constexpr FaultArg kSubject{"subject", glob};
constexpr FaultArg kScript{"script", script};
constexpr FaultArg kKey{"key", glob};
constexpr FaultArg kCount{"count", count};
constexpr FaultArg kJob{"job", job};
constexpr FaultArg kConfig{"config", tunables};
constexpr FaultArg kWorker{"worker", worker_change};
constexpr FaultArg kLatency{"latency", distribution, kRequired};

const std::vector<FaultInfo>& table() {
    static const std::vector<FaultInfo> kFaults{
        {"crash", "a node dies where it stands and restarts after `for`; without it, it stays down",
         Args{{"target", node, kRequired}, kFor, kConfig, kWorker}},
        {"stop",
         "a node is asked to end, as by SIGTERM: a scheduler and a result reader finish or hand back their work, every "
         "other node just dies as by crash; it starts again `for` later, once it has ended; without it, it stays down",
         Args{{"target", node, kRequired}, kFor, kConfig, kWorker}},
        {"pause", "a node freezes: its timers and messages wait, the world goes on",
         Args{{"target", node, kRequired}, kFor}},
        {"partition", "two parts cannot reach each other",
         Args{{"a", node_or_group, kRequired}, {"b", node_or_group, kRequired}, {"direction", direction}, kFor}},
        {"slow_link", "messages between two parts take longer",
         Args{{"a", node_or_group, kRequired}, {"b", node_or_group, kRequired}, kLatency, kFor}},
        {"lossy_link", "messages between two parts get lost",
         Args{
             {"a", node_or_group, kRequired}, {"b", node_or_group, kRequired}, {"rate", probability, kRequired}, kFor}},
        {"clock_jump", "the wall clock of a node jumps, backwards when negative",
         Args{{"target", node, kRequired}, {"by", signed_duration, kRequired}}},
        {"clock_drift", "the clock of a node runs fast, or slow when negative",
         Args{{"target", node, kRequired}, {"ppm", number, kRequired}}},
        {"redis.errors", "Redis calls fail, with or without effect",
         Args{kRate, {"outcome", call_outcome}, {"commands", words}, kScript, kKey, kJob, kCount, kFor}},
        {"redis.latency", "Redis answers late", Args{kLatency, {"commands", words}, kScript, kKey, kJob, kCount, kFor}},
        {"redis.restart", "Redis restarts and keeps what its persistence kept", Args{kFor}, kRedis},
        {"redis.failover", "nobody answers for `for`, then a replica that had lagged behind is the primary", Args{kFor},
         kRedis},
        {"redis.script_flush", "Redis forgets its scripts", Args{}},
        {"redis.evict", "keys vanish", Args{{"keys", glob}}, kRedis},
        {"redis.corrupt", "texts under keys are cut in half", Args{{"keys", glob, kRequired}}, kRedis},
        {"redis.oom", "Redis refuses writes for want of memory", Args{kFor}},
        {"nats.publish_errors", "JetStream publishes fail, with or without effect",
         Args{kRate, {"outcome", call_outcome}, kSubject, kJob, kCount, kFor}},
        {"nats.lost_acks", "acknowledgements of consumers get lost", Args{kRate, kSubject, kCount, kFor}},
        {"nats.late_acks", "acknowledgements of consumers arrive late",
         Args{kRate, {"latency", distribution}, kSubject, kCount, kFor}},
        {"nats.duplicate", "messages are delivered twice", Args{kRate, kSubject, kCount, kFor}},
        {"nats.reorder", "messages overtake each other",
         Args{kRate, {"latency", distribution}, kSubject, kCount, kFor}},
        {"nats.restart", "NATS restarts and keeps its streams", Args{kFor}},
        {"nats.power_cut", "NATS restarts and loses what it had not synced", Args{kFor}, kNats},
        {"nats.garbled_delivery", "stored messages reach their consumers as bytes that are no packet",
         Args{kRate, kSubject, kCount, kFor}},
        {"nats.drop_core", "core messages get lost for single subscribers", Args{kRate, kSubject, kCount, kFor}},
        {"kernel.errors", "policy checks answer a gRPC status", Args{kRate, {"status", status}, kJob, kCount, kFor}},
        {"kernel.latency", "policy checks answer late", Args{kRate, kLatency, kJob, kCount, kFor}},
        {"kernel.outage", "policy checks do not answer", Args{kJob, kCount, kFor}},
        {"kernel.flap", "policy checks fail and work in turns",
         Args{{"period", duration, kRequired}, {"status", status}, kFor}},
        {"kernel.decision", "policy answers this, whatever its rules say",
         Args{kRate, {"decision", kernel_decision, kRequired}, kJob, kCount, kFor}},
        {"output_policy.errors", "output checks answer a gRPC status",
         Args{kRate, {"status", status}, kJob, kCount, kFor}},
        {"output_policy.latency", "output checks answer late", Args{kRate, kLatency, kJob, kCount, kFor}},
        {"output_policy.decision", "output policy answers this, whatever its rules say",
         Args{kRate, {"decision", output_decision, kRequired}, kJob, kCount, kFor}},
        {"worker.silence", "heartbeats stop, work goes on", Args{{"target", worker, kRequired}, kFor}},
        {"worker.zombie", "heartbeats go on, work stops", Args{{"target", worker, kRequired}, kFor}},
        {"worker.overload", "a worker reports itself overloaded", Args{{"target", worker, kRequired}, kFor}},
        {"corrupt", "bytes of packets are flipped or cut", Args{kRate, kSubject, kCount, kFor}},
        {"config.update", "an operator writes new settings and announces them",
         Args{
             {"pools", pools}, {"timeouts", timeouts}, {"scheduler", settings}, {"raw", anything}, {"layers", layers}}},
    };
    return kFaults;
}

}  // namespace

std::span<const FaultInfo> fault_table() { return table(); }

const FaultInfo* find_fault(std::string_view name) {
    const auto found = std::ranges::find(table(), name, &FaultInfo::name);
    return found == table().end() ? nullptr : &*found;
}

}  // namespace lockstep::sim
