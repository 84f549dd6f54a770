#include "engine/config/relations.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "engine/ports/bus.h"
#include "engine/ports/redis.h"

namespace lockstep::engine {

namespace {

using Severity = Relation::Severity;

/// Of rules about a job's lock: whoever has lost it must not go on, and another replica may begin.
constexpr std::string_view kLockReason = "a job's lock has to outlive every step that is taken under it";
constexpr std::string_view kLockWayOut = "lengthen the lock or shorten the step";
constexpr std::string_view kShorter = "is shorter than";

constexpr std::array kRelations{
    Relation{
        .first = "job_lock_ttl",
        .second = "safety_timeout",
        .times = {},
        .holds = [](const auto& t) { return t.job_lock_ttl >= t.safety_timeout; },
        .broken = kShorter,
        .reason = kLockReason,
        .way_out = kLockWayOut,
    },
    Relation{
        .first = "job_lock_ttl",
        .second = "store_op_timeout",
        .times = {},
        .holds = [](const auto& t) { return t.job_lock_ttl >= t.store_op_timeout; },
        .broken = kShorter,
        .reason = kLockReason,
        .way_out = kLockWayOut,
    },
    Relation{
        .first = "job_lock_ttl",
        .second = "output_meta_timeout",
        .times = {},
        .holds = [](const auto& t) { return t.job_lock_ttl >= t.output_meta_timeout; },
        .broken = kShorter,
        .reason = kLockReason,
        .way_out = kLockWayOut,
    },
    // Of what waits behind a question that takes all its time, the next is still answered in time.
    Relation{
        .first = "store_op_timeout",
        .second = "redis_replicas_patience",
        .times = {},
        .holds =
            [](const auto& t) {
                return t.redis_replicas == 0 || (t.store_op_timeout >= 2 * t.redis_replicas_patience &&
                                                 t.redis_replicas_patience < kRedisSilenceMax);
            },
        .broken = "or a second is too short for",
        .reason = "twice the patience with replicas must fit into a call, and a server that is silent for a second "
                  "counts as gone",
        .way_out = "lengthen the call or shorten the patience",
    },
    // Renewed every third of its life, so only the renewals carry a lock over such a publish.
    Relation{
        .first = "job_lock_ttl",
        .second = "publish_timeout",
        .times = {},
        .holds = [](const auto& t) { return t.job_lock_ttl >= t.publish_timeout; },
        .broken = kShorter,
        .reason =
            "a publish that takes all its time may find its lock lost, and its job stays DISPATCHED until a result "
            "or a timeout comes",
        .way_out = kLockWayOut,
        .severity = Severity::warn,
    },
    // A renewal begins after a third of the lock's life; one that hangs must end before the next third is over.
    Relation{
        .first = "job_lock_ttl",
        .second = "store_op_timeout",
        .times = {},
        .holds = [](const auto& t) { return t.job_lock_ttl >= 3 * t.store_op_timeout; },
        .broken = "is shorter than three times",
        .reason = "a renewal that gets no answer leaves no time for another one",
        .way_out = "lengthen the lock or shorten the call",
        .severity = Severity::warn,
    },
    Relation{
        .first = "saga_lock_ttl",
        .second = "saga_rollback_timeout",
        .times = {},
        .holds = [](const auto& t) { return t.saga_lock_ttl >= t.saga_rollback_timeout; },
        .broken = kShorter,
        .reason = "another replica would begin the same rollback meanwhile",
        .way_out = "lengthen the lock or shorten the rollback",
    },
    Relation{
        .first = "backoff_max",
        .second = "backoff_base",
        .times = {},
        .holds = [](const auto& t) { return t.backoff_max >= t.backoff_base; },
        .broken = kShorter,
        .reason = "the longest pause cannot be shorter than the first",
        .way_out = "raise the one or lower the other",
    },
    Relation{
        .first = "circuit_close_after",
        .second = "circuit_half_open_max",
        .times = {},
        .holds = [](const auto& t) { return t.circuit_close_after <= t.circuit_half_open_max; },
        .broken = "is more than",
        .reason = "the circuit to policy would never close again",
        .way_out = "ask for fewer successes or allow more probes",
    },
    Relation{
        .first = "publish_resend_limit",
        .second = "publish_timeout",
        .times = {},
        .holds = [](const auto& t) { return t.publish_resend_limit + t.publish_timeout <= kDuplicateWindow; },
        .broken = "leaves, of the two minutes for which a stream knows a message again, less than",
        .reason = "what is sent again after them would be taken for another message, and a worker has it twice",
        .way_out = "shorten either",
    },
    Relation{
        .first = "dispatch_timeout",
        .second = "publish_resend_limit",
        .times = {},
        .holds = [](const auto& t) { return t.dispatch_timeout >= t.publish_resend_limit; },
        .broken = kShorter,
        .reason = "a job whose message may still be sent again is ended as timed out, and its worker told to stop",
        .way_out = "lengthen the timeout or shorten the limit",
        .severity = Severity::warn,
    },
    // The mark is there to recognise a redelivery, and the last one comes up to an ack wait after the one before it was handled.
    Relation{
        .first = "bus_processed_ttl",
        .second = "bus_ack_wait",
        .times = {},
        .holds = [](const auto& t) { return t.bus_processed_ttl >= 2 * t.bus_ack_wait; },
        .broken = "is shorter than twice",
        .reason = "a message that has been handled would come again after its mark is gone",
        .way_out = "lengthen the mark's life or shorten the ack wait",
    },
    // Whatever is left of a message's deliveries, its job's record says that there is nothing more to do.
    Relation{
        .first = "job_meta_ttl",
        .second = "bus_ack_wait",
        .times = "bus_max_deliver",
        .holds = [](const auto& t) { return t.job_meta_ttl / t.bus_max_deliver >= t.bus_ack_wait; },
        .broken = kShorter,
        .reason = "a message that comes again after its job's records are gone runs the job once more",
        .way_out = "keep the records for longer or shorten the ack wait",
        .severity = Severity::warn,
    },
    // Each change of state gives the records their whole life anew.
    Relation{
        .first = "job_meta_ttl",
        .second = "running_timeout",
        .times = {},
        .holds = [](const auto& t) { return t.job_meta_ttl >= t.running_timeout; },
        .broken = kShorter,
        .reason =
            "the records of a job would be gone while a worker is at it: its result is refused, and nobody ends it",
        .way_out = "keep the records for longer or shorten the timeout",
    },
    Relation{
        .first = "job_meta_ttl",
        .second = "dispatch_timeout",
        .times = {},
        .holds = [](const auto& t) { return t.job_meta_ttl >= t.dispatch_timeout; },
        .broken = kShorter,
        .reason =
            "the records of a job would be gone while it is on its way: its result is refused, and nobody ends it",
        .way_out = "keep the records for longer or shorten the timeout",
    },
    Relation{
        .first = "snapshot_interval",
        .second = "worker_ttl",
        .times = {},
        .holds = [](const auto& t) { return t.snapshot_interval < t.worker_ttl; },
        .broken = "is not below",
        .reason = "a replica that starts finds no worker in the snapshot that still counts",
        .way_out = "write snapshots more often",
        .severity = Severity::warn,
    },
    Relation{
        .first = "hydrated_worker_ttl",
        .second = "worker_ttl",
        .times = {},
        .holds = [](const auto& t) { return t.hydrated_worker_ttl <= t.worker_ttl; },
        .broken = "is more than",
        .reason = "what a snapshot says of a worker counts for no longer than what the worker says itself",
        .way_out = "lower it",
        .severity = Severity::warn,
    },
};

static_assert(std::ranges::all_of(kRelations, [](const Relation& relation) { return relation.holds.by_default(); }));

// The default ack wait is longer than the timeouts allow, because the reference refuses a durable with another one; every start
// says so until it has been set. What it is told to be set to, and the example deployment has, keeps the relation.
constexpr Duration kExampleAckWait = std::chrono::seconds{30};
static_assert(late_result_wait(kDefaultTunables.bus_ack_wait, kDefaultTunables.reconciler_interval) >=
              kDefaultTunables.dispatch_timeout);
static_assert(late_result_wait(kExampleAckWait, kDefaultTunables.reconciler_interval) <
              std::min(kDefaultTunables.dispatch_timeout, kDefaultTunables.running_timeout));

std::string value_of(const Tunables& tunables, std::string_view name) {
    return tunable_text(tunables, *find_tunable(name));
}

}  // namespace

std::span<const Relation> relations() { return kRelations; }

std::string describe(const Relation& relation, const Tunables& tunables,
                     const std::function<std::string(std::string_view tunable)>& name_of) {
    const auto named = [&](std::string_view tunable) {
        return fmt::format("{} {}", name_of(tunable), value_of(tunables, tunable));
    };
    std::string text = fmt::format("{} {} {}", named(relation.first), relation.broken, named(relation.second));
    if (!relation.times.empty()) text += fmt::format(" × {}", named(relation.times));
    return fmt::format("{}: {}; {}", text, relation.reason, relation.way_out);
}

}  // namespace lockstep::engine
