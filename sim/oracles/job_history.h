// job_history: what was asked of a job, and what was answered, explains every state that it was in.
//
// 1. The operations are those of users and workers: submit, cancel, approve, reject, and the result of a worker. Each has a
//    call and, mostly, an answer; it takes effect at one instant between the two, or never when it has no answer. The states
//    in Redis are the reads.
// 2. A state needs its cause: CANCELLED a cancellation that had been called, by an operator or by whoever may publish on
//    sys.job.cancel, SUCCEEDED a worker's success or an approved gate of which the stream has been told (SAFE-06),
//    DENIED a refusal, or an input that was looked for in vain (that of its stored request, whatever else is delivered under its
//    name), APPROVAL_REQUIRED a policy that asked, and its end an approval. What
//    the scheduler does by itself has its causes in the job (unasked_ends.h).
// 3. An answer binds: who was told that the job is cancelled finds it cancelled; an approval that was accepted releases the
//    job; a result that was taken off the stream has ended the job, if it came from the worker that the job was sent to and
//    was delivered while the job was out, and has not been dealt with before that. What else claims to be a result binds nobody.
// 4. A job is undecided when one of its operations never got an answer, so that the history would bear its having happened
//    as well as its not having happened; and when Redis has lost something of it, which nothing that it is after that
//    explains. Of each job a few flags are kept, whatever its history's length.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "sim/oracles/oracle.h"
#include "sim/oracles/unasked_ends.h"

namespace lockstep::sim {

class JobHistory final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::fault,        fakes::EventKind::redis,   fakes::EventKind::node_down,
                          fakes::EventKind::submit,       fakes::EventKind::cancel,  fakes::EventKind::core_publish,
                          fakes::EventKind::core_deliver, fakes::EventKind::approve, fakes::EventKind::kernel_check,
                          fakes::EventKind::publish,      fakes::EventKind::stored,  fakes::EventKind::read_back,
                          fakes::EventKind::deliver,      fakes::EventKind::ack,     fakes::EventKind::state};
    /// The tunables outlive the oracle. `timeouts`: as timeouts.yaml, in JSON; may be empty.
    JobHistory(Judge& judge, const engine::Tunables& tunables, std::string_view timeouts)
        : Oracle(judge), unasked_(tunables, timeouts), any_worker_(tunables.results_from_any_worker) {}
    [[nodiscard]] std::string_view invariant() const override { return "job_history"; }
    void on_event(const fakes::Event& event, Time now) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void hash_removed(fakes::NodeId client, std::string_view key, std::string_view field,
                      std::string_view before) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& value, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;
    void at_rest(const RestView& view) override;
    void tally(reports::Histories& histories) const override;

private:
    /// One kind of operation on one job.
    struct Operation {
        bool called = false;
        bool open = false;      // called, and the answer is still to come
        bool accepted = false;  // answered: it has taken effect, or will
    };
    struct Job {
        std::string state;
        bool gate = false;
        bool known = false;   // somebody has submitted it
        bool sent = false;    // to a worker
        std::string input;    // the key that it points to; empty = none
        bool stored = false;  // its request is: it points there
        bool policy_refused = false;
        int unanswered_calls = 0;   // to policy
        bool policy_asked = false;  // for a human
        bool success = false;       // results that have reached a scheduler
        bool told = false;          // a success is in the stream, or was acknowledged by it
        bool cancelled_result = false;
        bool was_cancelled = false;  // since the cancellation was called
        bool was_denied = false;     // since the rejection was called
        bool was_released = false;   // left APPROVAL_REQUIRED since the approval was called
        Operation submit, cancel, approve, reject;
    };

    void on_submit(const fakes::Event& event);
    void on_cancel(const fakes::Event& event);
    void on_announced_cancel(const fakes::Event& event);
    void on_decision(const fakes::Event& event);
    void on_request(const fakes::Event& event);
    void on_result(const fakes::Event& event);
    void on_result_done(const fakes::Event& event);
    void on_told(const fakes::Event& event);
    void on_state(const fakes::Event& event);
    void on_answer(const fakes::Event& event);
    /// What is missing for the job to be in `to`; empty: nothing.
    [[nodiscard]] std::string_view unexplained(const Job& job, std::string_view from, std::string_view to) const;
    void blame(fakes::NodeId node, std::string_view job, std::string detail);
    [[nodiscard]] Job& job(std::string_view id);

    UnaskedEnds unasked_;
    const bool any_worker_;
    std::map<std::pair<fakes::NodeId, std::uint64_t>, EventNumber> delivered_;  // results in hand, by sequence
    std::map<std::uint64_t, EventNumber> marked_;  // results that schedulers have dealt with, by sequence, and when
    std::map<std::string, int, std::less<>> looked_for_in_vain_;  // keys that a GET found nothing at
    std::map<std::string, Job, std::less<>> jobs_;
    bool results_bind_ = true;
    std::uint64_t undecided_ = 0;
    std::uint64_t violated_ = 0;
};

}  // namespace lockstep::sim
