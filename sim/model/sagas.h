// What is recorded to be undone where a workflow fails, the rollbacks that submit it, and what Redis has lost of either
// (engine/delivery-semantics.md, "Steps that are undone").
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wire/fwd.h"
#include "fakes/event.h"
#include "sim/model/names.h"
#include "sim/model/state.h"

namespace lockstep::sim {

struct Job;
struct Saga;
struct SagaStack;

/// Whether a job is undone where others fail.
[[nodiscard]] bool belongs_to_workflow(const cap::JobRequest& request);
/// Marked as a compensation by its label or in its environment.
[[nodiscard]] bool is_marked_as_compensation(const cap::JobRequest& request);

/// A compensation on a stack, or what was one.
struct SagaEntry {
    Saga* saga = nullptr;  // its own, on whatever stack it is
    SagaStack* stack = nullptr;
    const Job* undoes = nullptr;                     // null: it names none
    std::shared_ptr<const cap::JobRequest> request;  // null: it cannot be used
    std::size_t text = 0;                            // a digest
    std::uint64_t order = 0;                         // as of Saga
    EventNumber event = 0;
    const Job* submitted = nullptr;  // the job as which the stream has it, maybe changed on its way; null: it has not
    EventNumber stored = 0;          // when
    bool is_taken = false;           // off the stack
    bool is_denied = false;
    bool is_kept = false;     // aside: it cannot be used, or is too old
    std::optional<Time> met;  // when a rollback came across it first

    [[nodiscard]] bool is_done() const {
        return submitted != nullptr || (is_taken && (is_denied || is_kept || request == nullptr));
    }
};

/// Jobs that are undone together: of one run, or of a workflow where they name no run. Points of time are numbers in the order in which
/// things were seen.
struct Saga {
    std::string_view name;
    bool is_run = false;
    bool may_roll_back = false;               // one of its jobs failed fatally
    std::optional<std::uint64_t> owed_since;  // the latest failure that owes a rollback for certain
    std::uint64_t last_step = 0;              // the look at its stack: when that was locked, or when one was taken last
    std::uint64_t ended = 0;                  // when its last rollback was over
    bool is_under_way = false;  // since one of its jobs failed, until Redis owes no rollback
    bool is_lost = false;       // Redis has lost something of it
    std::deque<SagaEntry> recorded;

    /// Where jobs name no run, what is recorded after the failure is left for the next one.
    [[nodiscard]] bool owes(const SagaEntry& one) const { return owed_since && (is_run || one.order < *owed_since); }
    /// One of these is not submitted and taken.
    [[nodiscard]] bool owes_any() const;
    void end_rollback(std::uint64_t order) {
        is_under_way = false;
        ended = order;
    }
};

struct SagaStack {
    struct Rollback {
        fakes::NodeId replica;
        Time begun{};
        bool has_submitted = false;
    };
    std::string key;
    std::vector<SagaEntry*> recorded;  // the head first
    std::vector<Rollback> rollbacks;   // the latest of each replica
    fakes::NodeId locked_by;           // invalid: none
    bool is_lock_known = true;         // not since Redis was restored, until it is taken or freed
    bool is_lost = false;              // what Redis has is not what there was, until it is empty
};

/// A job that is a compensation.
struct Compensating {
    const Job* job = nullptr;
    SagaEntry* recorded = nullptr;  // as which it was submitted
    std::size_t sent = 0;           // a digest of it as it was submitted; 0: it was not
    std::uint64_t looked = 0;       // as Saga::last_step, when it was submitted
    bool is_stored = false;         // the stream has it
    Saga* asked_in = nullptr;       // of which policy was asked about the entry with this key, last
    std::string asked_key;
    std::shared_ptr<const cap::PolicyCheckRequest> question;  // that was asked last
    std::vector<fakes::NodeId> denied_to;                     // by the last answers that these had

    /// It has not ended, and does not wait for a human. Excused is what only the stream had when NATS forgot it.
    [[nodiscard]] bool is_open() const;
};

struct Sagas {
    std::map<std::string, Saga, std::less<>> by_name;
    std::map<std::string, SagaStack, std::less<>> stacks;  // by lock
    std::map<fakes::JobNumber, Compensating> compensations;
    std::uint64_t order = 0;

    /// Made where there is none.
    [[nodiscard]] Saga& named(const std::string& name);
    [[nodiscard]] Compensating& compensation(const Job& job);
    /// A rollback is owed, or a compensation that was submitted has not ended.
    [[nodiscard]] bool waits() const;
    /// What it had is another thing now, or gone.
    void lose(SagaStack& stack);
};

/// Part of the model of one job.
struct Undoing {
    State last = State::absent;  // that it has entered
    bool has_succeeded = false;
    EventNumber kept_aside = 0;    // when one was kept for which this is the dead letter; 0: none was
    const Saga* due_in = nullptr;  // where its compensation is to be recorded, since it succeeded
};

}  // namespace lockstep::sim
