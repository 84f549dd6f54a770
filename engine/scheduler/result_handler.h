// A worker's result (spec: wire, sections 6.3 and 9).
#pragma once

#include "engine/scheduler/context.h"
#include "engine/scheduler/dead_letters.h"
#include "engine/scheduler/verdict.h"

namespace lockstep::engine {

class ResultHandler {
public:
    ResultHandler(Context& context, DeadLetters& dead_letters) : context_(context), dead_letters_(dead_letters) {}

    /// Handles one delivery of a result. The first one that ends the job counts; all later ones change nothing.
    [[nodiscard]] Task<Verdict> handle(cap::JobResult result);

private:
    [[nodiscard]] Task<Verdict> under_lock(JobLease& lease, const cap::JobResult& result, const JobFacts& facts);

    Context& context_;
    DeadLetters& dead_letters_;
};

}  // namespace lockstep::engine
