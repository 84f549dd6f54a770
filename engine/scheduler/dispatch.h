// Sending a job to a worker, once (spec: architecture, "Dispatch").
//
// 1. A dispatch is a number on the job, committed together with DISPATCHED under the fence. Only the handler that
//    committed it ever publishes it.
// 2. The publish is preceded by a check of the lease, and its message id carries the number.
// 3. Acknowledged: RUNNING. Not applied: back to SCHEDULED. Anything else is unknown: a worker may have the job.
// 4. Unknown: look in the stream. Found counts as acknowledged. The same message is sent again only when the connection
//    that carried it is gone, two look-ups a settling time apart on a live one found nothing, the lease still holds, and
//    the first sending is not long ago. Otherwise the job stays DISPATCHED: its result moves it on, or the reconciler
//    ends it visibly.
// 5. RUNNING refused because the job was ended meanwhile: a cancellation is broadcast after the job.
#pragma once

#include "engine/routing/reason.h"
#include "engine/scheduler/context.h"
#include "engine/scheduler/dead_letters.h"
#include "engine/scheduler/verdict.h"

namespace lockstep::engine {

/// A job that policy lets through, and what is known about it.
struct DispatchOrder {
    cap::JobRequest& request;  // as it goes to the worker; empty once it has been sent
    const JobFacts& facts;
    const SafetyDecision& decision;
    std::string trace_id;
    MonoTime taken_up;  // when its handling began
};

class Dispatcher {
public:
    Dispatcher(Context& context, DeadLetters& dead_letters) : context_(context), dead_letters_(dead_letters) {}

    /// Routes, commits and publishes. REQUIRES: the lease is held; the order outlives the call.
    [[nodiscard]] Task<Verdict> dispatch(JobLease& lease, DispatchOrder order);
    /// A redelivery found the job DISPATCHED: moves it on to RUNNING when its message is known to be in the stream, and
    /// publishes nothing in any case.
    [[nodiscard]] Task<Verdict> recover(JobLease& lease, const JobFacts& facts);

private:
    struct Message {
        std::string worker;
        std::string subject;
        std::string payload;
        std::string id;
        std::uint64_t stream_floor = 0;
        std::string topic;
    };
    enum class Sent : std::uint8_t { stored, not_sent, unknown };

    [[nodiscard]] Task<Verdict> no_worker(JobLease& lease, const DispatchOrder& order, DispatchReason reason,
                                          std::string detail);
    /// Commits the dispatch; the number, or nothing with `verdict` set.
    [[nodiscard]] Task<std::optional<std::uint64_t>> commit_dispatch(JobLease& lease, const DispatchOrder& order,
                                                                     const std::string& worker, Verdict& verdict);
    [[nodiscard]] Task<Sent> send(JobLease& lease, const Message& message);
    /// Finds out what became of a message whose first sending had the answer `first`, and sends it again at most until
    /// `resend_until`.
    [[nodiscard]] Task<Sent> settle(JobLease& lease, const Message& message, Unknown first, MonoTime resend_until);
    /// Whether the message is in the stream; nothing when that could not be learnt.
    [[nodiscard]] Task<std::optional<bool>> stored(const Message& message);
    [[nodiscard]] Task<Verdict> take_back(JobLease& lease, const DispatchOrder& order, const Message& message,
                                          std::uint64_t dispatch);
    [[nodiscard]] Task<Verdict> mark_running(JobLease& lease, std::uint64_t dispatch);

    Context& context_;
    DeadLetters& dead_letters_;
};

}  // namespace lockstep::engine
