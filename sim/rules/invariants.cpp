#include "sim/rules/invariants.h"

#include "sim/rules/rules.h"
#include "sim/scenario/catalogue.h"
#include "sim/spec/giving_up.h"
#include "sim/spec/lifetimes.h"
#include "sim/spec/worker_life.h"

namespace lockstep::sim {

namespace {

using T = engine::Tunables;

constexpr DataLoss kExcusedByRedis{.redis = true, .nats = false};
constexpr DataLoss kExcusedByEither{.redis = true, .nats = true};

std::vector<Invariant> make_table() {
    return {
        // Of a job that Redis has forgotten, it is not known any more that it was sent.
        {.name = "no_duplicate_dispatch",
         .help = "one dispatch number reaches workers at most once; no job is executed twice",
         .paragraph = "engine/delivery-semantics.md#to-a-submitter, 3",
         .rules = rules::no_duplicate_dispatch,
         .reads = {least(&T::publish_settle), least(&T::publish_timeout)},
         .excused_where_lost = kExcusedByRedis},
        // Of a job that Redis has forgotten, it is not known any more that it came; of one that NATS has, only the stream knew.
        {.name = "no_lost_job",
         .help = "every acknowledged submit ends terminal or waiting for an approval",
         .paragraph = "engine/delivery-semantics.md#to-a-submitter, 1",
         .rules = rules::no_lost_job,
         .excused_where_lost = kExcusedByEither},
        {.name = "policy_before_dispatch",
         .help = "no job reaches a worker without an allow for exactly that request",
         .paragraph = "engine/delivery-semantics.md#to-a-submitter, 2",
         .rules = rules::policy_before_dispatch,
         .reads = {most(&T::policy_check_fail_mode)}},
        {.name = "fail_closed",
         .help = "after a failed state read of a job, no publish of it before a later successful read",
         .paragraph = "engine/delivery-semantics.md#the-path-of-a-job, 1",
         .rules = rules::fail_closed},
        {.name = "legal_transitions",
         .help = "every state change in Redis is in the allowed table",
         .paragraph = "engine/store/redis-schema.md 3.1",
         .rules = rules::legal_transitions},
        {.name = "one_terminal_result",
         .help = "late, doubled and conflicting results change nothing after the first final state",
         .paragraph = "engine/delivery-semantics.md#to-a-submitter, 4",
         .rules = rules::one_terminal_result,
         .reads = {least(&T::bus_ack_wait), exactly(&T::max_in_flight), exactly(&T::results_from_any_worker),
                   exactly(&T::retry_delay_busy)}},
        {.name = "dead_letter_complete",
         .help = "every job that ended badly and every message that was given up has its dead letter",
         .paragraph = "engine/wire/wire.md 8.2",
         .rules = rules::dead_letter_complete,
         .reads = {most(&T::dlq_undecodable_max_size), least(&T::reconciler_emit_dead_letter),
                   exactly(&T::bus_max_deliver)}},
        {.name = "lock_exclusion",
         .help = "two holders never both commit under one lock",
         .paragraph = "engine/store/redis-schema.md 5",
         .rules = rules::lock_exclusion,
         .reads = {most(&T::job_lock_ttl)}},
        {.name = "single_ticker",
         .help = "never two replicas tick in one lock window",
         .paragraph = "engine/store/redis-schema.md 5",
         .rules = rules::single_ticker,
         .reads = {exactly(&T::reconciler_interval), exactly(&T::replayer_interval), exactly(&T::delay_poller_interval),
                   exactly(&T::wf_scan_interval)}},
        {.name = "tenant_limit",
         .help = "a job is scheduled only while fewer other jobs of its tenant are active than its limit",
         .paragraph = "engine/delivery-semantics.md#jobs-of-a-tenant-with-a-limit",
         .rules = rules::tenant_limit,
         .excused_where_lost = kExcusedByRedis},
        // Of a job that runs twice, the run that is heard may be the one that gave no pointer.
        {.name = "result_kept",
         .help = "a SUCCEEDED job has the result pointer that its worker gave",
         .paragraph = "engine/wire/wire.md 9, step 4",
         .rules = rules::result_kept,
         .excused_where_lost = kExcusedByRedis},
        {.name = "quarantine_final",
         .help = "an output that policy quarantined is never SUCCEEDED at the end",
         .paragraph = "engine/delivery-semantics.md#to-a-submitter, 5",
         .rules = rules::quarantine_final},
        {.name = "saga_exact",
         .help = "a rollback publishes each compensation of its own run once, last first",
         .paragraph = "engine/delivery-semantics.md#steps-that-are-undone, 1",
         .rules = rules::saga_exact,
         .reads = {most(&T::saga_lock_ttl), most(&T::saga_rollback_timeout), least(&T::saga_entry_max_age)}},
        {.name = "delay_timer_kept",
         .help = "a step that waits for a time goes on then, once, and not before",
         .paragraph = "engine/workflow/workflow.md 5.3",
         .rules = rules::delay_timer_kept,
         .reads = {most(&T::delay_poller_interval), most(&T::delay_persist_min), most(&T::wf_scan_interval)}},
        {.name = "run_exclusion",
         .help = "one workflow run is advanced by one holder of its lock at a time",
         .paragraph = "engine/workflow/workflow.md 8",
         .rules = rules::run_exclusion,
         .reads = {exactly(&T::wf_on_redis_error), exactly(&T::wf_on_contention)}},
        {.name = "run_progress",
         .help = "a workflow run ends or waits for a human, by the rules, and nothing of it is undone or lost",
         .paragraph = "engine/workflow/workflow.md 6",
         .rules = rules::run_progress,
         .excused_where_lost = kExcusedByEither},
        {.name = "runs_true",
         .help = "a workflow run's document says what its definition and its steps make of it",
         .paragraph = "engine/workflow/workflow.md 4",
         .rules = rules::runs_true,
         .reads = {exactly(&T::wf_expr_max_length), exactly(&T::wf_expr_max_result_items),
                   exactly(&T::wf_foreach_max_items)}},
        {.name = "run_cancel_told",
         .help = "a job that its workflow run needs no more is called off",
         .paragraph = "engine/workflow/workflow.md 9",
         .rules = rules::run_cancel_told},
        {.name = "circuit_rules",
         .help = "no kernel call while the circuit is open, few probes half-open, closed after successes",
         .paragraph = "engine/delivery-semantics.md#while-policy-does-not-answer",
         .rules = rules::circuit_rules,
         .reads = {most(&T::circuit_half_open_max), most(&T::store_op_timeout), least(&T::circuit_open_for),
                   exactly(&T::circuit_close_after), exactly(&T::circuit_fail_budget), exactly(&T::safety_timeout)}},
        {.name = "retry_bounds",
         .help = "retry delays and attempt counts stay within their documented bounds",
         .paragraph = "engine/wire/wire.md 4.1",
         .rules = rules::retry_bounds,
         .reads = {most(&T::max_scheduling_retries), exactly(&T::backoff_base), exactly(&T::backoff_jitter),
                   exactly(&T::backoff_max), exactly(&T::retry_delay_busy), exactly(&T::retry_delay_no_workers),
                   exactly(&T::retry_delay_publish), exactly(&T::retry_delay_store), exactly(&T::safety_throttle_delay),
                   exactly(&T::safety_unavailable_delay)}},
        // A job whose hash is gone is still listed, and whose it was is not known: so of tenant_limit and tenant_walls.
        {.name = "indexes_agree",
         .help = "hash, indexes, tenant set, deadlines and events of a job agree at rest",
         .paragraph = "engine/store/redis-schema.md 3.2",
         .rules = rules::indexes_agree,
         .reads = {most(&T::job_meta_ttl), most(&T::reconciler_interval), least(&T::reconciler_batch)},
         .excused_where_lost = kExcusedByRedis},
        {.name = "nothing_leaks",
         .help = "at rest no lock, in-flight key, renewal or timer outlives its time to live",
         .paragraph = "engine/store/redis-schema.md 5",
         .rules = rules::nothing_leaks,
         .reads = {most(&T::job_lock_ttl), most(&T::run_lock_ttl), most(&T::saga_lock_ttl),
                   most(&T::saga_rollback_timeout)}},
        {.name = "snapshot_whole",
         .help = "the worker snapshot in Redis always parses and is fresh",
         .paragraph = "engine/store/redis-schema.md 6",
         .rules = rules::snapshot_whole,
         .reads = {most(&T::snapshot_interval), most(&T::snapshot_lock_ttl), exactly(&T::data_ttl),
                   exactly(&T::store_op_timeout)}},
        {.name = "approval_bound",
         .help = "an approval releases only the request whose hash was approved",
         .paragraph = "engine/delivery-semantics.md#whose-word-counts",
         .rules = rules::approval_bound,
         .reads = {most(&T::policy_check_fail_mode)}},
        // A result is dealt with and taken off the stream, and then Redis loses what it brought about.
        {.name = "job_history",
         .help = "what users and workers did to a job, and were told, explains each of its states",
         .paragraph = "engine/delivery-semantics.md#the-path-of-a-job",
         .rules = rules::job_history,
         .reads = {least(&T::backoff_base), least(&T::backoff_max), least(&T::max_scheduling_retries),
                   least(&T::overload_limit), least(&T::pending_age), exactly(&T::bus_ack_wait),
                   exactly(&T::dispatch_timeout), exactly(&T::reconciler_interval),
                   exactly(&T::reconciler_scheduled_timeout), exactly(&T::results_from_any_worker),
                   exactly(&T::running_timeout)},
         .excused_where_lost = kExcusedByRedis},
        {.name = "no_starvation",
         .help = "a tenant with few waiting jobs gets its turns, whatever the others submit",
         .paragraph = "engine/wire/wire.md 4, step 5",
         .rules = rules::no_starvation,
         .reads = {most(&T::backoff_jitter), most(&T::backoff_max), most(&T::pending_age), most(&T::replayer_interval),
                   most(&T::retry_delay_no_workers), most(&T::retry_delay_publish), most(&T::retry_delay_store),
                   most(&T::safety_throttle_delay), most(&T::safety_unavailable_delay)}},
        {.name = "live_worker_only",
         .help = "a job is sent only to a worker that the sending replica has heard within worker_ttl",
         .paragraph = "engine/config/settings.md 2",
         .rules = rules::live_worker_only,
         .reads = {most(&T::hydrated_worker_ttl), most(&T::worker_ttl)}},
        {.name = "no_cold_start",
         .help = "a replica that starts turns no job away while the stored snapshot names a free worker",
         .paragraph = "engine/store/redis-schema.md 6",
         .rules = rules::no_cold_start,
         .reads = {least(&T::hydrated_worker_ttl), least(&T::overload_cpu), least(&T::overload_gpu),
                   least(&T::overload_utilization), least(&T::snapshot_read_timeout), least(&T::worker_ttl),
                   exactly(&T::data_ttl)}},
        {.name = "result_heard",
         .help = "every service that reads results hears each of them, and none silences another",
         .paragraph = "engine/delivery-semantics.md#to-another-service-that-reads-results, 1",
         .rules = rules::result_heard},
        {.name = "stored_result_wins",
         .help = "no job times out while a result that the stream had before may be unheard, or waits for one too long",
         .paragraph = "engine/delivery-semantics.md#when-a-timeout-follows-a-stored-result",
         .rules = rules::stored_result_wins,
         .reads = {least(&T::reconciler_batch), least(&T::reconciler_max_iterations), exactly(&T::bus_ack_wait),
                   exactly(&T::dispatch_timeout), most(&T::job_lock_ttl), exactly(&T::reconciler_interval),
                   exactly(&T::reconciler_scheduled_timeout), exactly(&T::running_timeout)}},
        {.name = "slot_used",
         .help = "no slot of a tenant stays free while one of its jobs waits for a slot",
         .paragraph = "engine/delivery-semantics.md#jobs-of-a-tenant-with-a-limit, 3",
         .rules = rules::slot_used,
         .reads = {most(&T::circuit_open_for), most(&T::job_lock_ttl), least(&T::overload_cpu), least(&T::overload_gpu),
                   least(&T::overload_utilization), most(&T::pending_age), most(&T::reconciler_interval),
                   most(&T::replayer_interval)}},
        {.name = "sound_message_kept",
         .help = "no message that can be read is given up because it once arrived as something else",
         .paragraph = "engine/delivery-semantics.md#messages-that-cannot-be-handled, 1",
         .rules = rules::sound_message_kept,
         .reads = {least(&T::bus_max_deliver)}},
        {.name = "bounded_memory",
         .help = "what a replica has been delivered and not answered stays within its bound of bytes",
         .paragraph = "engine/delivery-semantics.md#large-submissions",
         .rules = rules::bounded_memory,
         .reads = {most(&T::bus_bytes_in_flight)}},
        {.name = "result_from_its_worker",
         .help = "no result changes a job that was not sent out, or was sent to another worker",
         .paragraph = "engine/delivery-semantics.md#whose-word-counts",
         .rules = rules::result_from_its_worker,
         .reads = {most(&T::results_from_any_worker)}},
        {.name = "tenant_walls",
         .help = "no message of one tenant changes jobs, runs, limits or settings of another",
         .paragraph = "engine/delivery-semantics.md#tenants-and-what-only-policy-writes",
         .rules = rules::tenant_walls,
         .excused_where_lost = kExcusedByRedis},
        {.name = "policy_marks_own",
         .help = "labels and variables that policy sets reach policy and workers from policy only",
         .paragraph = "engine/delivery-semantics.md#tenants-and-what-only-policy-writes, 3",
         .rules = rules::policy_marks_own,
         .reads = {most(&T::policy_check_fail_mode)}},
        {.name = "content_seen",
         .help = "no job is sent whose input a rule must see, unless policy saw it or the job is marked",
         .paragraph = "engine/delivery-semantics.md#whose-word-counts",
         .rules = rules::content_seen},
        {.name = "timeout_explained",
         .help = "a job that ends TIMEOUT has a worker, a disturbance or a deadline that explains it",
         .paragraph = "engine/delivery-semantics.md#how-a-job-can-still-run-twice-or-end-unsent",
         .rules = rules::timeout_explained,
         .reads = {most(&T::backoff_jitter), most(&T::backoff_max), most(&T::publish_resend_limit),
                   most(&T::publish_timeout), most(&T::retry_delay_no_workers), most(&T::retry_delay_publish),
                   most(&T::retry_delay_store), most(&T::safety_throttle_delay), most(&T::safety_unavailable_delay),
                   most(&T::store_op_timeout)}},
        {.name = "cancel_told",
         .help = "a job that ends by timeout or cancel is called off at its worker",
         .paragraph = "engine/delivery-semantics.md#to-a-worker, 5",
         .rules = rules::cancel_told,
         .reads = {most(&T::store_op_timeout), least(&T::cancel_on_timeout)}},
        {.name = "calm_weather",
         .help = "without a disturbance nothing is delivered, locked, tried or done twice",
         .paragraph = "engine/wire/wire.md 4",
         .rules = rules::calm_weather,
         .reads = {most(&T::publish_timeout), most(&T::safety_timeout), most(&T::store_op_timeout),
                   least(&T::pending_age), exactly(&T::retry_delay_busy), exactly(&T::retry_delay_no_workers),
                   exactly(&T::retry_delay_publish), exactly(&T::retry_delay_store), exactly(&T::safety_throttle_delay),
                   exactly(&T::safety_unavailable_delay), exactly(&T::worker_ttl)}},
        {.name = "routing_rules",
         .help = "a job goes to the least loaded worker, as heard, of those that its rules allow",
         .paragraph = "engine/config/settings.md 2",
         .rules = rules::routing_rules,
         .reads = {most(&T::job_lock_ttl), most(&T::max_dispatch_retries), most(&T::store_op_timeout),
                   exactly(&T::hydrated_worker_ttl), exactly(&T::overload_cpu), exactly(&T::overload_gpu),
                   exactly(&T::overload_utilization), exactly(&T::routing_inflight_correction),
                   exactly(&T::snapshot_lock_ttl), exactly(&T::worker_ttl)}},
        {.name = "hearsay",
         .help = "what a snapshot says of a worker goes back to a sign of life of that worker",
         .paragraph = "engine/store/redis-schema.md 6",
         .rules = rules::hearsay,
         .reads = {exactly(&T::data_ttl), exactly(&T::hydrated_worker_ttl), exactly(&T::snapshot_lock_ttl),
                   exactly(&T::worker_ttl)}},
        {.name = "limits_in_force",
         .help = "deadline, attempts, slots and run time of a job are the strictest that apply to it",
         .paragraph = "engine/wire/wire.md 8, step 9",
         .rules = rules::limits_in_force,
         .reads = {most(&T::lock_wait), most(&T::policy_check_fail_mode), most(&T::reconciler_interval),
                   most(&T::store_op_timeout), least(&T::dispatch_timeout), exactly(&T::job_lock_ttl)}},
        {.name = "valid_requests",
         .help = "a request that the rules reject never runs, a valid one is never dropped",
         .paragraph = "engine/wire/wire.md 6.2",
         .rules = rules::valid_requests,
         .reads = {exactly(&T::pointer_prefixes)}},
        {.name = "fail_modes",
         .help = "fail-open lets pass and marks, fail-closed withholds, of inputs and outputs alike",
         .paragraph = "engine/wire/wire.md 8, step 8",
         .rules = rules::fail_modes,
         .reads = {least(&T::bus_guard_on_error), least(&T::circuit_open_for), least(&T::safety_timeout),
                   exactly(&T::output_policy_fail_mode), exactly(&T::policy_check_fail_mode)}},
        {.name = "outputs_audited",
         .help = "what policy withholds or redacts of outputs is told on sys.audit.output_policy",
         .paragraph = "engine/wire/wire.md 9.1",
         .rules = rules::outputs_audited},
        {.name = "questions_true",
         .help = "policy is asked about what the stored request and the settings say",
         .paragraph = "engine/wire/wire.md 7.1",
         .rules = rules::questions_true},
        {.name = "lifetimes_kept",
         .help = "what a scheduler writes to Redis lives as long as it is documented to, no longer or shorter",
         .paragraph = "engine/store/redis-schema.md 1",
         .rules = rules::lifetimes_kept},
        {.name = "records_true",
         .help = "records, dead letters and indexes say what was asked for and what has happened",
         .paragraph = "engine/store/redis-schema.md 2",
         .rules = rules::records_true},
        {.name = "messages_true",
         .help = "each message says who sent it when, under which trace and id, as documented",
         .paragraph = "engine/wire/wire.md 2.2",
         .rules = rules::messages_true},
        {.name = "metrics_true",
         .help = "each replica's counters say how often what they count has happened there",
         .paragraph = "engine/delivery-semantics.md#what-metrics-count",
         .rules = rules::metrics_true},
        {.name = "unclaimed_output",
         .help = "whatever is written or sent is in the register of outputs, which says who judges it",
         .paragraph = "engine/store/redis-schema.md 12",
         .rules = rules::unclaimed_output},
    };
}

}  // namespace

const std::vector<Invariant>& invariants() {
    static const std::vector<Invariant> kTable = make_table();
    return kTable;
}

std::vector<Standing> seen_from_outside() {
    const engine::Tunables tunables;
    Rules rules(Vantage::outside);
    std::vector<Standing> standings;
    for (const Invariant& invariant : invariants()) standings.push_back({.invariant = invariant.name});
    for (std::size_t i = 0; i < standings.size(); ++i) {
        rules.begin(standings[i]);
        invariants()[i].rules(rules, tunables);
    }
    return standings;
}

void add_rules(Judgement& judgement, TunablesInForce& tunables, std::string_view timeouts) {
    static const engine::Tunables kDefaults;
    static const spec::Lifetimes kFamilies{TunablesInForce(kDefaults)};
    judgement.model().set_key_families(kFamilies);
    judgement.model().set_tunables(tunables);
    judgement.model().set_time_limits(timeouts);
    judgement.model().set_answers_good_for(
        spec::by_the_slowest_clock(tunables.most_of(&engine::Tunables::policy_answer_max_age)));
    judgement.model().set_liveness_times({tunables.most_of(&engine::Tunables::worker_ttl),
                                          tunables.most_of(&engine::Tunables::hydrated_worker_ttl),
                                          tunables.most_of(&engine::Tunables::snapshot_lock_ttl)});
    const std::int64_t last = tunables.least_of(&engine::Tunables::bus_max_deliver);
    if (last == tunables.most_of(&engine::Tunables::bus_max_deliver))
        judgement.model().follow_deliveries(spec::first_followed(last), last);
    const auto is_local = [&tunables](std::string engine::Tunables::* mode) {
        return tunables.least_of(mode) == "local";
    };
    judgement.model().set_runs_go_unlocked(is_local(&engine::Tunables::wf_on_redis_error) ||
                                           is_local(&engine::Tunables::wf_on_contention));
    for (const Invariant& invariant : invariants()) {
        const engine::Tunables* read = tunables.as_read_by(invariant.name, invariant.reads);
        if (read != nullptr) judgement.add(invariant.name, invariant.paragraph, invariant.rules, *read);
    }
}

std::span<const NamedItem> invariant_table() {
    static const std::vector<NamedItem> kItems = [] {
        std::vector<NamedItem> items;
        for (const Invariant& invariant : invariants())
            items.push_back({invariant.name, invariant.help, true, invariant.paragraph});
        return items;
    }();
    return kItems;
}

std::vector<std::string> excused_by(DataLoss loss) {
    std::vector<std::string> names;
    for (const Invariant& invariant : invariants()) {
        const DataLoss& excuse = invariant.excused_where_lost;
        if ((loss.redis && excuse.redis) || (loss.nats && excuse.nats)) names.emplace_back(invariant.name);
    }
    return names;
}

}  // namespace lockstep::sim
