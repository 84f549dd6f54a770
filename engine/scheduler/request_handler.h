// A job request, from its validation to the decision what becomes of it (wire.md 6.2 and 8).
#pragma once

#include "engine/announce/dead_letters.h"
#include "engine/bus/disposition.h"
#include "engine/policy/waiting_answers.h"
#include "engine/reconcile/pending_replayer.h"
#include "engine/scheduler/approval.h"
#include "engine/scheduler/dispatch.h"
#include "engine/scheduler/read_along.h"
#include "engine/scheduler/replica.h"

namespace lockstep::engine {

class RequestHandler final : public RequestTaker {
public:
    explicit RequestHandler(Replica& replica, DeadLetters& dead_letters, Dispatcher& dispatcher)
        : replica_(replica),
          dead_letters_(dead_letters),
          dispatcher_(dispatcher),
          effective_config_(replica.mechanisms.on(Mechanism::tightening_layers)) {}

    /// Handles one delivery of a request. Redelivery at any point is harmless: everything is decided on what the store says.
    /// `message` is null where none is marked; it outlives the call.
    [[nodiscard]] Task<Disposition> handle_delivered(cap::JobRequest request, std::string trace_id,
                                                     MessageMarks* message);
    [[nodiscard]] Task<Disposition> handle(cap::JobRequest request, std::string trace_id) override;
    /// The same for a request that comes from the store and not from the bus. Others than the scheduler have written there:
    /// whose it is, is looked at again (D-06).
    [[nodiscard]] Task<Disposition> handle_stored(cap::JobRequest request, std::string trace_id) override;

    /// A settings document has been read, see EffectiveConfig::note_readable.
    void note_settings(const std::string& key, const std::string& document) {
        effective_config_.note_readable(key, document);
    }

private:
    struct Taken {
        cap::JobRequest& request;
        const JobFacts& facts;
        const ReadAlong& along;
        std::string trace_id;
        MonoTime since;
        MonoTime asked{};                // when policy was asked for the decision that counts
        bool stored_unreadable = false;  // there is a stored request, and it is not known what it says
        std::string submitted_hash;      // of the request with the marks that were taken off it; empty: none were
        bool content_changed = false;    // since a human approved it: policy is asked about it anew
    };

    [[nodiscard]] Task<Disposition> take_up(cap::JobRequest request, std::string trace_id, MessageMarks* message);
    [[nodiscard]] Task<Disposition> under_lock(JobLease& lease, Taken job);
    /// Nothing with `disposition` set, when it could not be learnt whether a human has approved: that is a failure of the store,
    /// and no fail mode of policy may let the job through for it. Or when a human has been asked just this and has not
    /// answered: a label of the submitter's own is no reason to ask policy again and again (H-06).
    [[nodiscard]] Task<std::optional<SafetyDecision>> decide(JobLease& lease, Taken& job, Disposition& disposition);
    /// Whether the job's input is still the one that the human was asked about (D-33). Nothing: Redis has given no answer. `grant` outlives
    /// the call.
    [[nodiscard]] Task<std::optional<bool>> stands_for_input(const Taken& job, Grant& grant);
    /// What policy has said a moment ago, when the job had to wait for a slot that it has now.
    [[nodiscard]] std::optional<SafetyDecision> kept_answer(Taken& job);
    /// A submission of a job that has ended badly comes again: its dead letter is written if somebody has left it out, and
    /// never changed (C-36).
    /// REQUIRES: it was found so.
    [[nodiscard, gnu::noinline]] Task<Disposition> repeat_dead_letter(JobLease& lease, Taken job);
    /// REQUIRES: `state` is a final one.
    [[nodiscard, gnu::noinline]] Task<Disposition> end_job(JobLease& lease, JobState state, DeadLetter letter,
                                                           const SafetyDecision* decision);
    [[nodiscard, gnu::noinline]] Task<Disposition> ask_for_approval(JobLease& lease, const Taken& job,
                                                                    SafetyDecision decision);
    /// What has gone wrong so often in a row, in a field of the job hash.
    struct Streak {
        const char* field;  // null: nothing has
        std::int64_t count;
    };
    /// Tries it again after `delay`. `decision` is recorded; null: none is, since a question that is open stands.
    [[nodiscard, gnu::noinline]] Task<Disposition> postpone(JobLease& lease, const SafetyDecision* decision,
                                                            Duration delay, Streak streak = {});
    /// Judging the job takes too long again and again: policy has not let it through, and no fail mode does (D-32).
    [[nodiscard, gnu::noinline]] Task<Disposition> timed_out(JobLease& lease, const Taken& job,
                                                             SafetyDecision decision);
    /// What becomes of a job that policy would let go on and whose input it was not shown (D-09). Nothing: it
    /// goes on, marked where need be.
    [[nodiscard]] Task<std::optional<Disposition>> hold_for_input(JobLease& lease, const Taken& job,
                                                                  SafetyDecision& decision);
    [[nodiscard, gnu::noinline]] Task<Disposition> unavailable(JobLease& lease, Taken job, SafetyDecision decision);
    [[nodiscard, gnu::noinline]] Task<Disposition> dispatch(JobLease& lease, Taken job, SafetyDecision decision);
    /// A gate is not for workers: it waits for a human, whatever policy says short of a denial, and then succeeds.
    [[nodiscard, gnu::noinline]] Task<Disposition> pass_gate(JobLease& lease, const Taken& job,
                                                             SafetyDecision decision);
    /// False where nothing is known of the job but a request that is not its.
    [[nodiscard]] bool adopt_stored_request(Taken& job);
    /// Records the limits of a stored request that is not the one that was delivered: they were not known when the job was taken
    /// up, from where they count. Nothing: the job goes on.
    [[nodiscard, gnu::noinline]] Task<std::optional<Disposition>> record_stored_limits(JobLease& lease,
                                                                                       const Taken& job);
    /// Whether requests have to name one tenant.
    [[nodiscard]] bool one_tenant() const { return replica_.mechanisms.on(Mechanism::tenant_rule); }
    /// Ends a job whose input would be data that it may not see. Nothing: the job goes on.
    [[nodiscard, gnu::noinline]] Task<std::optional<Disposition>> refuse_foreign_input(JobLease& lease,
                                                                                       const Taken& job);
    /// The request is gone, as if it had never come.
    [[nodiscard]] Disposition drop(const cap::JobRequest& request, std::string_view reason);
    /// Takes off what only policy writes. Its hash, by which a human's approval is found again, is that of what was submitted.
    void set_marks_aside(Taken& job) const;
    [[nodiscard]] static std::string hash_of(const Taken& job);
    void note_state_read(std::string_view topic, bool readable);

    Replica& replica_;
    DeadLetters& dead_letters_;
    Dispatcher& dispatcher_;
    EffectiveConfig effective_config_;
    WaitingAnswers answers_;
    std::map<std::string, std::int64_t, std::less<>> unreadable_streak_;  // by topic
};

}  // namespace lockstep::engine
