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
#include "sim/oracles/limits_in_force.h"
#include "sim/oracles/live_worker_only.h"
#include "sim/oracles/lock_exclusion.h"
#include "sim/oracles/no_cold_start.h"
#include "sim/oracles/no_duplicate_dispatch.h"
#include "sim/oracles/no_lost_job.h"
#include "sim/oracles/no_starvation.h"
#include "sim/oracles/nothing_leaks.h"
#include "sim/oracles/one_terminal_result.h"
#include "sim/oracles/policy_before_dispatch.h"
#include "sim/oracles/policy_marks_own.h"
#include "sim/oracles/quarantine_final.h"
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

std::vector<std::unique_ptr<Oracle>> make_oracles(Judge& judge, const engine::Tunables& tunables,
                                                  std::string_view timeouts, engine::PinnedSettings pinned) {
    std::vector<std::unique_ptr<Oracle>> oracles;
    oracles.push_back(std::make_unique<NoDuplicateDispatch>(judge));
    oracles.push_back(std::make_unique<NoLostJob>(judge));
    oracles.push_back(std::make_unique<PolicyBeforeDispatch>(judge, tunables));
    oracles.push_back(std::make_unique<FailClosed>(judge));
    oracles.push_back(std::make_unique<LegalTransitions>(judge));
    oracles.push_back(std::make_unique<OneTerminalResult>(judge, tunables));
    oracles.push_back(std::make_unique<DeadLetterComplete>(judge, tunables));
    oracles.push_back(std::make_unique<LockExclusion>(judge, tunables));
    oracles.push_back(std::make_unique<SingleTicker>(judge, tunables));
    oracles.push_back(std::make_unique<TenantLimit>(judge));
    oracles.push_back(std::make_unique<SagaExact>(judge));
    oracles.push_back(std::make_unique<ResultKept>(judge));
    oracles.push_back(std::make_unique<QuarantineFinal>(judge));
    oracles.push_back(std::make_unique<CircuitRules>(judge, tunables));
    oracles.push_back(std::make_unique<RetryBounds>(judge, tunables));
    oracles.push_back(std::make_unique<IndexesAgree>(judge));
    oracles.push_back(std::make_unique<NothingLeaks>(judge, tunables));
    oracles.push_back(std::make_unique<SnapshotWhole>(judge, tunables));
    oracles.push_back(std::make_unique<ApprovalBound>(judge, tunables));
    oracles.push_back(std::make_unique<JobHistory>(judge, tunables, timeouts));
    oracles.push_back(std::make_unique<NoStarvation>(judge, tunables));
    oracles.push_back(std::make_unique<LiveWorkerOnly>(judge, tunables));
    oracles.push_back(std::make_unique<NoColdStart>(judge, tunables));
    oracles.push_back(std::make_unique<ResultHeard>(judge));
    oracles.push_back(std::make_unique<StoredResultWins>(judge, tunables, timeouts));
    oracles.push_back(std::make_unique<SlotUsed>(judge, tunables));
    oracles.push_back(std::make_unique<SoundMessageKept>(judge, tunables));
    oracles.push_back(std::make_unique<BoundedMemory>(judge, tunables));
    oracles.push_back(std::make_unique<ResultFromItsWorker>(judge, tunables));
    oracles.push_back(std::make_unique<TenantWalls>(judge));
    oracles.push_back(std::make_unique<PolicyMarksOwn>(judge, tunables));
    oracles.push_back(std::make_unique<ContentSeen>(judge));
    oracles.push_back(std::make_unique<TimeoutExplained>(judge, tunables));
    oracles.push_back(std::make_unique<CancelTold>(judge, tunables));
    oracles.push_back(std::make_unique<CalmWeather>(judge, tunables));
    oracles.push_back(std::make_unique<RoutingRules>(judge, tunables));
    oracles.push_back(std::make_unique<Hearsay>(judge, tunables));
    oracles.push_back(std::make_unique<LimitsInForce>(judge, tunables, timeouts));
    oracles.push_back(std::make_unique<ValidRequests>(judge));
    oracles.push_back(std::make_unique<FailModes>(judge, tunables, pinned));
    return oracles;
}

}  // namespace lockstep::sim
