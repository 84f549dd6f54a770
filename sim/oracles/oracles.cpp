#include <type_traits>

#include "sim/oracles/approval_bound.h"
#include "sim/oracles/bounded_memory.h"
#include "sim/oracles/calm_weather.h"
#include "sim/oracles/cancel_told.h"
#include "sim/oracles/circuit_rules.h"
#include "sim/oracles/content_seen.h"
#include "sim/oracles/dead_letter_complete.h"
#include "sim/oracles/fail_closed.h"
#include "sim/oracles/fail_modes.h"
#include "sim/oracles/hearsay.h"
#include "sim/oracles/indexes_agree.h"
#include "sim/oracles/job_history.h"
#include "sim/oracles/legal_transitions.h"
#include "sim/oracles/lifetimes_kept.h"
#include "sim/oracles/limits_in_force.h"
#include "sim/oracles/live_worker_only.h"
#include "sim/oracles/lock_exclusion.h"
#include "sim/oracles/no_cold_start.h"
#include "sim/oracles/no_duplicate_dispatch.h"
#include "sim/oracles/no_lost_job.h"
#include "sim/oracles/no_starvation.h"
#include "sim/oracles/nothing_leaks.h"
#include "sim/oracles/one_terminal_result.h"
#include "sim/oracles/outputs_audited.h"
#include "sim/oracles/policy_before_dispatch.h"
#include "sim/oracles/policy_marks_own.h"
#include "sim/oracles/quarantine_final.h"
#include "sim/oracles/questions_true.h"
#include "sim/oracles/records_true.h"
#include "sim/oracles/result_from_its_worker.h"
#include "sim/oracles/result_heard.h"
#include "sim/oracles/result_kept.h"
#include "sim/oracles/retry_bounds.h"
#include "sim/oracles/routing_rules.h"
#include "sim/oracles/saga_exact.h"
#include "sim/oracles/single_ticker.h"
#include "sim/oracles/slot_used.h"
#include "sim/oracles/snapshot_whole.h"
#include "sim/oracles/sound_message_kept.h"
#include "sim/oracles/stored_result_wins.h"
#include "sim/oracles/tenant_limit.h"
#include "sim/oracles/tenant_walls.h"
#include "sim/oracles/timeout_explained.h"
#include "sim/oracles/valid_requests.h"

namespace lockstep::sim {

std::vector<std::unique_ptr<Oracle>> make_oracles(Judge& judge, TunablesInForce& tunables, std::string_view timeouts,
                                                  engine::PinnedSettings pinned, std::uint64_t max_payload) {
    using T = engine::Tunables;
    std::vector<std::unique_ptr<Oracle>> oracles;
    // With all that the oracle reads of them, and what of it suits everybody where not all have the same.
    const auto add = [&]<class Made>(std::type_identity<Made>, std::string_view invariant,
                                     std::initializer_list<TunableUse> uses, const auto&... more) {
        if (const T* read = tunables.as_read_by(invariant, uses))
            oracles.push_back(std::make_unique<Made>(judge, *read, more...));
    };
    add(std::type_identity<NoDuplicateDispatch>{}, "no_duplicate_dispatch",
        {least(&T::publish_settle), least(&T::publish_timeout)});
    oracles.push_back(std::make_unique<NoLostJob>(judge));
    add(std::type_identity<PolicyBeforeDispatch>{}, "policy_before_dispatch",
        {most(&T::policy_check_fail_mode), most(&T::policy_answer_max_age)});
    oracles.push_back(std::make_unique<FailClosed>(judge));
    oracles.push_back(std::make_unique<LegalTransitions>(judge));
    add(std::type_identity<OneTerminalResult>{}, "one_terminal_result",
        {least(&T::bus_ack_wait), exactly(&T::retry_delay_busy)});
    add(std::type_identity<DeadLetterComplete>{}, "dead_letter_complete",
        {most(&T::dlq_undecodable_max_size), least(&T::reconciler_emit_dead_letter), exactly(&T::bus_max_deliver)});
    add(std::type_identity<LockExclusion>{}, "lock_exclusion", {most(&T::job_lock_ttl)});
    add(std::type_identity<SingleTicker>{}, "single_ticker",
        {exactly(&T::reconciler_interval), exactly(&T::replayer_interval)});
    oracles.push_back(std::make_unique<TenantLimit>(judge));
    add(std::type_identity<SagaExact>{}, "saga_exact",
        {most(&T::saga_lock_ttl), most(&T::saga_rollback_timeout), least(&T::saga_entry_max_age)});
    oracles.push_back(std::make_unique<ResultKept>(judge));
    oracles.push_back(std::make_unique<QuarantineFinal>(judge));
    add(std::type_identity<CircuitRules>{}, "circuit_rules",
        {most(&T::circuit_half_open_max), most(&T::safety_timeout), most(&T::store_op_timeout),
         least(&T::circuit_open_for), exactly(&T::circuit_close_after), exactly(&T::circuit_fail_budget)});
    add(std::type_identity<RetryBounds>{}, "retry_bounds",
        {most(&T::max_scheduling_retries), exactly(&T::backoff_base), exactly(&T::backoff_jitter),
         exactly(&T::backoff_max), exactly(&T::retry_delay_busy), exactly(&T::retry_delay_no_workers),
         exactly(&T::retry_delay_publish), exactly(&T::retry_delay_store), exactly(&T::safety_throttle_delay),
         exactly(&T::safety_unavailable_delay)});
    add(std::type_identity<IndexesAgree>{}, "indexes_agree",
        {most(&T::job_meta_ttl), most(&T::reconciler_interval), least(&T::reconciler_batch)});
    add(std::type_identity<NothingLeaks>{}, "nothing_leaks",
        {most(&T::job_lock_ttl), most(&T::saga_lock_ttl), most(&T::saga_rollback_timeout)});
    add(std::type_identity<SnapshotWhole>{}, "snapshot_whole",
        {most(&T::snapshot_interval), most(&T::snapshot_lock_ttl), exactly(&T::data_ttl),
         exactly(&T::store_op_timeout)});
    add(std::type_identity<ApprovalBound>{}, "approval_bound",
        {most(&T::policy_check_fail_mode), most(&T::policy_answer_max_age)});
    add(std::type_identity<JobHistory>{}, "job_history",
        {least(&T::max_scheduling_retries), least(&T::pending_age), exactly(&T::bus_ack_wait),
         exactly(&T::dispatch_timeout), exactly(&T::reconciler_interval), exactly(&T::reconciler_scheduled_timeout),
         exactly(&T::results_from_any_worker), exactly(&T::running_timeout)},
        timeouts);
    add(std::type_identity<NoStarvation>{}, "no_starvation",
        {most(&T::backoff_jitter), most(&T::backoff_max), most(&T::pending_age), most(&T::replayer_interval),
         most(&T::retry_delay_no_workers), most(&T::retry_delay_store), most(&T::safety_throttle_delay),
         most(&T::safety_unavailable_delay)});
    add(std::type_identity<LiveWorkerOnly>{}, "live_worker_only",
        {most(&T::hydrated_worker_ttl), most(&T::worker_ttl)});
    add(std::type_identity<NoColdStart>{}, "no_cold_start",
        {least(&T::hydrated_worker_ttl), least(&T::overload_cpu), least(&T::overload_gpu),
         least(&T::overload_utilization), least(&T::snapshot_read_timeout), least(&T::worker_ttl),
         exactly(&T::data_ttl)});
    oracles.push_back(std::make_unique<ResultHeard>(judge));
    add(std::type_identity<StoredResultWins>{}, "stored_result_wins",
        {least(&T::pending_age), least(&T::reconciler_batch), least(&T::reconciler_max_iterations),
         exactly(&T::bus_ack_wait), exactly(&T::dispatch_timeout), exactly(&T::max_scheduling_retries),
         exactly(&T::reconciler_interval), exactly(&T::reconciler_scheduled_timeout), exactly(&T::running_timeout)},
        timeouts);
    add(std::type_identity<SlotUsed>{}, "slot_used",
        {most(&T::circuit_open_for), most(&T::job_lock_ttl), most(&T::pending_age), most(&T::reconciler_interval),
         most(&T::replayer_interval)});
    add(std::type_identity<SoundMessageKept>{}, "sound_message_kept", {least(&T::bus_max_deliver)});
    add(std::type_identity<BoundedMemory>{}, "bounded_memory", {most(&T::bus_bytes_in_flight)}, max_payload);
    add(std::type_identity<ResultFromItsWorker>{}, "result_from_its_worker", {most(&T::results_from_any_worker)});
    oracles.push_back(std::make_unique<TenantWalls>(judge));
    add(std::type_identity<PolicyMarksOwn>{}, "policy_marks_own", {most(&T::policy_check_fail_mode)});
    oracles.push_back(std::make_unique<ContentSeen>(judge));
    add(std::type_identity<TimeoutExplained>{}, "timeout_explained",
        {most(&T::backoff_jitter), most(&T::backoff_max), most(&T::publish_resend_limit), most(&T::publish_timeout),
         most(&T::retry_delay_no_workers), most(&T::retry_delay_publish), most(&T::retry_delay_store),
         most(&T::safety_throttle_delay), most(&T::safety_unavailable_delay), most(&T::store_op_timeout)});
    add(std::type_identity<CancelTold>{}, "cancel_told", {most(&T::store_op_timeout), least(&T::cancel_on_timeout)});
    add(std::type_identity<CalmWeather>{}, "calm_weather",
        {most(&T::store_op_timeout), least(&T::pending_age), exactly(&T::retry_delay_busy),
         exactly(&T::retry_delay_no_workers), exactly(&T::retry_delay_publish), exactly(&T::retry_delay_store),
         exactly(&T::safety_throttle_delay), exactly(&T::safety_unavailable_delay), exactly(&T::worker_ttl)});
    add(std::type_identity<RoutingRules>{}, "routing_rules",
        {most(&T::max_dispatch_retries), exactly(&T::hydrated_worker_ttl), exactly(&T::overload_cpu),
         exactly(&T::overload_gpu), exactly(&T::overload_utilization), exactly(&T::routing_inflight_correction),
         exactly(&T::snapshot_lock_ttl), exactly(&T::worker_ttl)});
    add(std::type_identity<Hearsay>{}, "hearsay",
        {exactly(&T::data_ttl), exactly(&T::hydrated_worker_ttl), exactly(&T::snapshot_lock_ttl),
         exactly(&T::worker_ttl)});
    add(std::type_identity<LimitsInForce>{}, "limits_in_force",
        {most(&T::lock_wait), most(&T::reconciler_interval), most(&T::store_op_timeout), least(&T::dispatch_timeout),
         exactly(&T::job_lock_ttl)},
        timeouts);
    oracles.push_back(std::make_unique<ValidRequests>(judge));
    oracles.push_back(std::make_unique<QuestionsTrue>(judge));
    oracles.push_back(std::make_unique<OutputsAudited>(judge));
    add(std::type_identity<FailModes>{}, "fail_modes",
        {least(&T::bus_guard_on_error), least(&T::circuit_open_for), exactly(&T::output_policy_fail_mode),
         exactly(&T::policy_check_fail_mode)},
        pinned);
    oracles.push_back(std::make_unique<LifetimesKept>(judge, tunables));
    oracles.push_back(std::make_unique<RecordsTrue>(judge));
    return oracles;
}

}  // namespace lockstep::sim
