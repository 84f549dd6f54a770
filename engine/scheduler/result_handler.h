// A worker's result (spec: wire, sections 6.3 and 9).
#pragma once

#include "engine/saga/rollbacks.h"
#include "engine/scheduler/context.h"
#include "engine/scheduler/dead_letters.h"
#include "engine/scheduler/verdict.h"

namespace lockstep::engine {

class ResultHandler {
public:
    ResultHandler(Context& context, DeadLetters& dead_letters, Rollbacks& rollbacks)
        : context_(context), dead_letters_(dead_letters), rollbacks_(rollbacks) {}

    /// Handles one delivery of a result. The first one that ends the job counts; all later ones change nothing.
    [[nodiscard]] Task<Verdict> handle(cap::JobResult result);

private:
    [[nodiscard]] Task<Verdict> under_lock(JobLease& lease, const cap::JobResult& result, const JobFacts& facts);

    void note_effect(const SagaEffect& effect);

    Context& context_;
    DeadLetters& dead_letters_;
    Rollbacks& rollbacks_;
};

}  // namespace lockstep::engine
