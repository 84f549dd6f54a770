// Rollbacks: undoing the finished steps of a workflow whose step failed fatally (wire.md 10).
//
// 1. A rollback is owed from the commit on that makes the failed job FAILED. The handler of that result starts it at once, in
//    the background; whatever a crash, a lost answer, a slow kernel or a stop leaves undone, any replica resumes.
// 2. Under the saga's lock, the newest entry first: asked about at policy, published, and only then taken off. The
//    compensation of one entry has one job id however often it is published, so a crash in between repeats nothing (H-12).
// 3. A denial uses the entry up. No answer from policy lets it through: the scheduler asks again before it is dispatched.
// 4. Nothing is begun after `saga_rollback_timeout`, but for the first entry, which has the life of the lock: servers that are slow
//    delay a rollback and do not stop it. A replica that was paused in mid-step publishes nothing any more once another may
//    have taken over (H-42b).
// 5. A rollback undoes what jobs of the failed job's tenant did, and nothing else. What others have recorded on a stack that they
//    share stays there; what has stood there for too long is told of, kept aside and taken off (D-07).
// 6. Last in, first out is the order of publishing. The jobs then run as any others, side by side (H-42c).
#pragma once

#include <set>
#include <string>

#include "engine/announce/dead_letters.h"
#include "engine/config/context.h"
#include "engine/policy/policy_client.h"
#include "engine/rollback/saga_store.h"
#include "engine/runtime/scope.h"

namespace lockstep::engine {

class Rollbacks {
public:
    /// All arguments outlive it.
    Rollbacks(const Context& context, SagaStore& sagas, Leases& leases, PolicyClient& policy,
              DeadLetters& dead_letters);

    /// Rolls back in the background what is owed. Nothing when this replica is at it already, or stopping.
    void start(const SagaName& saga);
    /// Resumes for ever what nobody is at.
    [[nodiscard]] Task<void> run();
    /// Keeps alive for ever what runs that go on have recorded.
    [[nodiscard]] Task<void> keep_recorded();
    /// Lets each finish the entry that it is at, until `deadline`; then stops the rest where they stand and leaves their
    /// locks in the book of leases. What is left is resumed elsewhere, or after the next start. REQUIRES: the scheduler is stopping.
    [[nodiscard]] Task<void> drain(MonoTime deadline);

    [[nodiscard]] std::size_t in_progress() const { return at_work_.size(); }

private:
    /// When nothing is begun any more. Neither is later than the end of the lock's life.
    struct TimeLimits {
        MonoTime of_all{}, of_the_first{};
    };

    /// What came of one entry.
    enum class Undone : std::uint8_t {
        dealt_with,  // published, denied or unusable: it is to be taken off
        stopped,     // nothing is known to have come of it; it stays
    };

    [[nodiscard]] Task<void> roll_back(SagaName saga, Token token);
    /// Works off entries until none is left, the time is over or something fails. Whether this replica had something to roll back.
    [[nodiscard]] Task<bool> work_off(const SagaName& saga, Lease& lease, TimeLimits limits);
    [[nodiscard]] Task<Undone> undo(const cap::JobRequest& job, MonoTime until);
    [[nodiscard]] Task<bool> publish(const cap::JobRequest& job);
    [[nodiscard]] DeadLetter letter_for(const SagaName& saga, const std::string& entry, const std::string& refusal);
    [[nodiscard]] DeadLetter letter_of_others(const SagaName& saga, const std::string& entry);
    void count_active();

    const Context& context_;
    SagaStore& sagas_;
    Leases& leases_;
    PolicyClient& policy_;
    DeadLetters& dead_letters_;
    std::set<std::string> at_work_;  // the names of the sagas
    Scope work_;                     // last: its tasks use everything above
};

}  // namespace lockstep::engine
