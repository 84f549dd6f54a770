// The saga's keys in Redis (redis-schema.md 10):
//
//   saga:<workflow>:stack  list of recorded templates, the newest at the head; other implementations push and pop here too
//   saga:<workflow>:lock   rollback mutex; ours holds a token. Other implementations hold the constant `1` and delete it
//                          without looking, so a lock that is gone is lost, and only our own token is ever deleted
//   lockstep:saga:<length of tenant>:<tenant>:<run>       the stack of a run
//   lockstep:saga:lock:<length of tenant>:<tenant>:<run>  its lock
//   lockstep:saga:owed     zset of the sagas whose rollback is owed, by the time of its last try
//   lockstep:saga:kept     zset of the sagas of runs, by when their stack is given a new life if its run goes on
//   lockstep:saga:pending  the same as older versions have left it
//   lockstep:saga:aborted:<saga>  a run that has failed: what it still records is undone at once (H-42a). Only runs have it; a
//                          workflow's later runs share its stack and are not to be undone
//   lockstep:saga:met:<stack>  zset of other tenants' entries that a rollback has come across, by the SHA-1 of their bytes and
//                          since when: after `saga_entry_max_age` they leave the stack with a dead letter
//   lockstep:saga:unreadable:<letter>  an entry that could not be read, for the operator whom its dead letter tells
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/mechanisms.h"
#include "engine/config/tunables.h"
#include "engine/ports/clock.h"
#include "engine/ports/redis.h"
#include "engine/saga/effect.h"
#include "engine/store/dead_letter.h"
#include "engine/store/job_store.h"
#include "engine/store/lease.h"
#include "engine/store/lost_handlings.h"
#include "engine/store/scripts.h"

namespace lockstep::engine {

/// What a rollback finds when it looks for the next thing to do.
struct SagaStep {
    enum class Kind : std::uint8_t {
        entry,  // this is to be undone next
        over,   // nothing is left; the rollback is owed no more, and its lock is released
        busy,   // somebody else has the lock: nothing was done
        lost,   // the lock is not ours any more: nothing was done
    };
    Kind kind = Kind::lost;
    std::string entry;
    bool of_others = false;  // the entry is another tenant's, and has stood on the stack for too long
    LostHandlings lost;      // begin: of this saga's rollbacks
};

/// An entry that has been dealt with.
struct DealtWith {
    std::string entry;
    std::optional<DeadLetter> letter;  // for one that could not be read; stored together with the removal
};

class SagaStore {
public:
    /// All arguments outlive the store.
    SagaStore(Redis& redis, Clock& clock, const Tunables& tunables, const StoreScripts& scripts,
              const Mechanisms& mechanisms);

    /// The saga that is meant: without Mechanism::rollback_tenant, everything on the stack that its run or workflow names.
    [[nodiscard]] SagaName meant(SagaName saga) const;
    /// Makes the effect part of the commit that ends the job. Anything but applied: the commit must not be made now.
    [[nodiscard]] Task<Outcome<Done>> include(SagaEffect effect, Commit& commit);

    /// Sagas whose rollback is owed, the ones that have waited longest first, of each kind `limit` or a few more. REQUIRES: a limit.
    [[nodiscard]] Task<Outcome<std::vector<SagaName>>> pending(std::int64_t limit);
    /// Gives stacks of runs that go on a new life, at most `limit` of those that are due for it. How many were due. REQUIRES: a limit.
    [[nodiscard]] Task<Outcome<std::int64_t>> keep_recorded(std::int64_t limit);
    /// Takes the lock and looks. *unknown*: the lock may be ours. Here and below, a lease with an empty token stands for going
    /// without a lock; the last step ends it.
    [[nodiscard]] Task<Outcome<SagaStep>> begin(const SagaName& saga, Lease& lease);
    /// Takes exactly that entry off, if it still is there, and looks again. Asking twice does no harm.
    [[nodiscard]] Task<Outcome<SagaStep>> next(const SagaName& saga, Lease& lease, DealtWith done);

private:
    [[nodiscard]] Task<Outcome<SagaStep>> step(const SagaName& saga, Lease& lease, std::string step, DealtWith done);
    [[nodiscard]] MonoTime deadline() const { return clock_.in(tunables_.store_op_timeout); }

    Redis& redis_;
    Clock& clock_;
    const Tunables& tunables_;
    const StoreScripts& scripts_;
    const bool atomic_;  // off: an entry is pushed ahead of the state, and taken off ahead of its publish
    const bool by_tenant_;
};

}  // namespace lockstep::engine
