#include "engine/store/scripts.h"

#include "engine/store/script_text.h"
#include "engine/store/scripts/bury_undecodable.lua.h"
#include "engine/store/scripts/bus_guard_enter.lua.h"
#include "engine/store/scripts/cancel.lua.h"
#include "engine/store/scripts/circuit_admit.lua.h"
#include "engine/store/scripts/circuit_failure.lua.h"
#include "engine/store/scripts/circuit_success.lua.h"
#include "engine/store/scripts/claim_scans.lua.h"
#include "engine/store/scripts/commit.lua.h"
#include "engine/store/scripts/common.lua.h"
#include "engine/store/scripts/hand_on.lua.h"
#include "engine/store/scripts/index_page.lua.h"
#include "engine/store/scripts/outbox_page.lua.h"
#include "engine/store/scripts/overdue_page.lua.h"
#include "engine/store/scripts/put_dead_letter.lua.h"
#include "engine/store/scripts/release_lock.lua.h"
#include "engine/store/scripts/renew_lock.lua.h"
#include "engine/store/scripts/repair_dead_letter.lua.h"
#include "engine/store/scripts/replace_document.lua.h"
#include "engine/store/scripts/replay_page.lua.h"
#include "engine/store/scripts/saga_keep.lua.h"
#include "engine/store/scripts/saga_next.lua.h"
#include "engine/store/scripts/stale_jobs.lua.h"
#include "engine/store/scripts/take_lock.lua.h"
#include "engine/store/scripts/take_snapshot_lock.lua.h"
#include "engine/store/scripts/take_up.lua.h"
#include "engine/store/scripts/tenant_is_full.lua.h"
#include "engine/store/scripts/tend_capacity.lua.h"
#include "engine/store/scripts/tend_queue.lua.h"
#include "engine/store/scripts/tend_tenant.lua.h"
#include "engine/store/scripts/tick_lock.lua.h"
#include "engine/store/scripts/time_out.lua.h"
#include "engine/store/scripts/undecodable_sums.lua.h"
#include "engine/store/scripts/write_snapshot.lua.h"

namespace lockstep::engine {

namespace {

RedisScript with_common(std::string_view name, std::string_view text) {
    return with_library(name, scripts::kCommon, text);
}

}  // namespace

const StoreScripts& StoreScripts::shared() {
    static const StoreScripts kScripts;
    return kScripts;
}

StoreScripts::StoreScripts()
    : take_up(with_common("take_up", scripts::kTakeUp)),
      take_lock(with_common("take_lock", scripts::kTakeLock)),
      commit(with_common("commit", scripts::kCommit)),
      renew_lock(with_common("renew_lock", scripts::kRenewLock)),
      release_lock(with_common("release_lock", scripts::kReleaseLock)),
      tick_lock("tick_lock", scripts::kTickLock),
      cancel(with_common("cancel", scripts::kCancel)),
      stale_jobs(with_common("stale_jobs", scripts::kStaleJobs)),
      overdue_page(with_common("overdue_page", scripts::kOverduePage)),
      index_page(with_common("index_page", scripts::kIndexPage)),
      replay_page(with_common("replay_page", scripts::kReplayPage)),
      tenant_is_full(with_common("tenant_is_full", scripts::kTenantIsFull)),
      tend_tenant(with_common("tend_tenant", scripts::kTendTenant)),
      hand_on(with_common("hand_on", scripts::kHandOn)),
      tend_capacity(with_common("tend_capacity", scripts::kTendCapacity)),
      tend_queue(with_common("tend_queue", scripts::kTendQueue)),
      bus_guard_enter(with_common("bus_guard_enter", scripts::kBusGuardEnter)),
      time_out(with_common("time_out", scripts::kTimeOut)),
      saga_keep(with_common("saga_keep", scripts::kSagaKeep)),
      saga_next(with_common("saga_next", scripts::kSagaNext)),
      put_dead_letter(with_common("put_dead_letter", scripts::kPutDeadLetter)),
      bury_undecodable(with_common("bury_undecodable", scripts::kBuryUndecodable)),
      undecodable_sums(with_common("undecodable_sums", scripts::kUndecodableSums)),
      outbox_page(with_common("outbox_page", scripts::kOutboxPage)),
      circuit_admit(with_common("circuit_admit", scripts::kCircuitAdmit)),
      circuit_failure(with_common("circuit_failure", scripts::kCircuitFailure)),
      circuit_success(with_common("circuit_success", scripts::kCircuitSuccess)),
      claim_scans(with_common("claim_scans", scripts::kClaimScans)),
      repair_dead_letter(with_common("repair_dead_letter", scripts::kRepairDeadLetter)),
      take_snapshot_lock("take_snapshot_lock", scripts::kTakeSnapshotLock),
      write_snapshot("write_snapshot", scripts::kWriteSnapshot),
      replace_document("replace_document", scripts::kReplaceDocument) {}

}  // namespace lockstep::engine
