// A job request, from its validation to the decision what becomes of it (spec: wire, sections 6.2 and 8).
#pragma once

#include "engine/scheduler/context.h"
#include "engine/scheduler/dead_letters.h"
#include "engine/scheduler/dispatch.h"
#include "engine/scheduler/verdict.h"

namespace lockstep::engine {

class RequestHandler {
public:
    explicit RequestHandler(Context& context, DeadLetters& dead_letters, Dispatcher& dispatcher)
        : context_(context), dead_letters_(dead_letters), dispatcher_(dispatcher) {}

    /// Handles one delivery of a request. Redelivery at any point is harmless: everything is decided on what the store says.
    [[nodiscard]] Task<Verdict> handle(cap::JobRequest request, std::string trace_id);

private:
    struct Taken {
        cap::JobRequest& request;
        const JobFacts& facts;
        std::string trace_id;
        MonoTime since;
    };

    [[nodiscard]] Task<Verdict> under_lock(JobLease& lease, Taken job);
    /// Nothing when it could not be learnt whether a human has approved: that is a failure of the store, and no fail mode
    /// of policy may let the job through for it.
    [[nodiscard]] Task<std::optional<SafetyDecision>> decide(const cap::JobRequest& request);
    /// Whether a human has approved exactly this request.
    [[nodiscard]] Task<std::optional<bool>> approved(const cap::JobRequest& request);
    [[nodiscard]] Task<Verdict> end_job(JobLease& lease, JobState state, DeadLetter letter, const SafetyDecision* decision);
    [[nodiscard]] Task<Verdict> ask_for_approval(JobLease& lease, const Taken& job, SafetyDecision decision);
    [[nodiscard]] Task<Verdict> postpone(JobLease& lease, const SafetyDecision& decision, Duration delay);
    [[nodiscard]] Task<Verdict> unavailable(JobLease& lease, Taken job, SafetyDecision decision);
    [[nodiscard]] Task<Verdict> dispatch(JobLease& lease, Taken job, SafetyDecision decision);
    void adopt_stored_request(Taken& job);
    void note_state_read(std::string_view topic, bool readable);

    Context& context_;
    DeadLetters& dead_letters_;
    Dispatcher& dispatcher_;
    std::map<std::string, std::int64_t, std::less<>> unreadable_streak_;  // by topic
};

}  // namespace lockstep::engine
