// saga_exact: a rollback publishes each recorded compensation of its own run once, in LIFO order, none lost, none twice; one
// that policy denies is used up. No failure undoes what jobs of another tenant did, whatever runs and workflows are called.
//
// Nobody takes an entry off a stack without the lock of that very saga: saga:<workflow>:lock for saga:<workflow>:stack, and
// lockstep:saga:lock:<run> for lockstep:saga:<run>.
//
// What is recorded is read off the stacks, and told by the job that it undoes; what is rolled back, off the submissions in the
// stream. A saga is owed a rollback once one of its jobs ended FAILED after a fatal result was delivered. Runs of one workflow
// are sagas of their own; where jobs name no run, only what was recorded before the failure is owed.
//
// What is recorded and what is submitted says what it is to say (undoing.h); nothing is recorded for a compensation. Nothing is
// submitted in the name of a rollback after the shorter of its limit and the life of its lock. What no submission could look like,
// and what others have recorded once saga_entry_max_age has passed since a rollback came across it, is kept aside with a letter.
//
// Where Redis loses data, a saga is excused whose stack is another one than before, that was being rolled back, or of a job of which
// something is lost (lost_records.h), and no other.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/config/tunables.h"
#include "engine/wire/fwd.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class SagaExact final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{
        fakes::EventKind::fault,        fakes::EventKind::lock_acquired, fakes::EventKind::lock_released,
        fakes::EventKind::lock_expired, fakes::EventKind::read_back,     fakes::EventKind::deliver,
        fakes::EventKind::publish,      fakes::EventKind::stored,        fakes::EventKind::state,
        fakes::EventKind::kernel_check};
    /// The tunables outlive the oracle.
    SagaExact(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "saga_exact"; }
    [[nodiscard]] bool waits() const override;
    void on_event(const fakes::Event& event, Time now) override;
    void at_rest(const RestView& view) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void list_inserted(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) override;
    void list_removed(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Saga;
    struct Entry {
        Saga* saga = nullptr;  // by its own tenant, run and workflow, wherever it is kept
        std::string bytes;
        std::string stack;   // where it is kept
        std::string parent;  // the job that it undoes
        std::string idempotency_key;
        std::uint64_t recorded = 0;  // in the order of things
        std::string published_as;    // the compensation job; empty = not published
        EventNumber recorded_at = 0;
        EventNumber published_at = 0;
        bool readable = true;
        bool taken = false;  // off the stack
        bool denied = false;
        bool kept = false;        // aside: it cannot be used, or nobody has come for it
        std::optional<Time> met;  // when a rollback has come by for the first time
        bool expired = false;     // taken off by another tenant's rollback, and kept aside
        bool garbled = false;     // published, and changed on its way to the stream: it is nobody's to lose
    };
    struct Saga {
        std::deque<Entry> entries;  // all that there ever were; stable in memory
        bool of_run = false;
        bool may_roll_back = false;
        std::optional<std::uint64_t> owed_since;  // the latest failure that owes a rollback for certain
        std::uint64_t last_step = 0;  // the beginning of the rollback, or the last time that an entry was taken
        std::uint64_t ended = 0;      // the last time that nothing of it was recorded any more
        bool under_way = false;
        bool lost = false;  // Redis has lost something of it
    };
    /// What is known of a job that belongs to a workflow.
    struct Step {
        std::string saga;
        bool of_run = false;
        bool undoable = false;                           // its success is to be recorded
        std::shared_ptr<const cap::JobRequest> request;  // of one that names a compensation
        bool compensation = false;
        bool succeeded = false;
    };

    void lose_request(std::string_view key);
    void on_lock(fakes::NodeId client, std::string_view stack);
    void on_holder(const fakes::Event& event);
    /// What was kept there is another thing than before.
    void lose_stack(std::string_view key);
    [[nodiscard]] bool lost(std::string_view saga) const;
    void power_cut();
    /// Whether the stream alone knew the compensation when NATS lost its power, and nobody has heard of it since.
    [[nodiscard]] bool cut_off(std::string_view job, std::string_view state) const;
    void on_kept_aside(fakes::NodeId client, std::string_view id, std::string_view bytes);
    void judge_recorded(fakes::NodeId client, const cap::JobRequest& recorded);
    void judge_sent(const fakes::Event& event, const Entry& entry);
    void on_result_delivered(const fakes::Event& event);
    void on_state(const fakes::Event& event);
    void on_published(const fakes::Event& event);
    /// Whether this is a compensation that was changed on its way; notes it with what was sent.
    [[nodiscard]] bool garbled(const fakes::Event& event);
    void on_question(const fakes::Event& event);
    void on_denied(std::string_view job);
    /// One that is on its way when somebody else is told "no" cannot be called back; policy decides once more before it is
    /// dispatched.
    void on_sent(const fakes::Event& event);
    void judge_order(const fakes::Event& event, const Saga& saga, const Entry& entry);
    [[nodiscard]] static bool owed(const Saga& saga, const Entry& entry);
    /// Whether the last answer that the node had about this compensation was a denial.
    [[nodiscard]] bool denied_to(fakes::NodeId node, const std::string& job) const;
    [[nodiscard]] static bool done(const Entry& entry);
    [[nodiscard]] static Entry* find(Saga& saga, std::string_view parent);
    void judge_entry(const Saga& saga, const std::string& name, const Entry& entry);

    const engine::Tunables& tunables_;
    std::map<std::string, Saga, std::less<>> sagas_;
    /// The lock of a stack.
    struct Locked {
        Time at{};
        bool has_submitted = false;  // what comes first may take the life of the lock
    };
    std::map<std::pair<fakes::NodeId, std::string>, Locked> locked_;  // as each took it last
    std::map<std::string, EventNumber, std::less<>> kept_aside_;      // by the id of the letter that is due
    std::set<std::string, std::less<>> letters_;
    const Time& now_ = told_at();
    bool clock_jumped_ = false;
    std::map<std::string, std::vector<Entry*>, std::less<>> stacks_;  // by key, head first
    std::map<std::string, Step, std::less<>> steps_;
    std::set<std::string, std::less<>> fatal_;                   // jobs with a fatal result
    std::set<std::string, std::less<>> ambiguous_;               // jobs with another result as well
    std::map<std::string, std::string, std::less<>> sent_to_;    // job -> the worker that it was sent to last
    std::map<std::string, std::string, std::less<>> published_;  // compensation job -> its last state
    std::set<std::string, std::less<>> only_stored_;  // compensations that only the stream had when NATS lost its power
    std::map<std::string, std::pair<std::string, std::string>, std::less<>> asked_;  // compensation job -> saga, key
    std::map<std::pair<fakes::NodeId, std::string>, std::string> answers_;           // of policy, by node and job
    std::set<std::pair<fakes::NodeId, std::string>> denied_when_sent_;
    std::map<std::string, std::string, std::less<>> sent_;     // compensations as they were published, by message id
    std::map<std::string, fakes::NodeId, std::less<>> locks_;  // that are held, and by whom
    std::uint64_t order_ = 0;
    std::set<std::string, std::less<>> lost_stacks_;  // until they have been empty once
    std::set<std::string, std::less<>> lost_locks_;   // nobody knows who has them, until they are taken again
};

}  // namespace lockstep::sim
