// A deployment caught in the middle of its work: what a recording shows of a version, and what a later one has to make of it.
#pragma once

#include "prod/integration/deployment.h"

namespace lockstep::prod::testing {

/// Sets policy, limits and the worker's behaviour that recorder and test share: topic job.signed needs a person, tenant `few` has
/// one slot, and running jobs time out after some seconds.
void agree_on(Deployment& world);

/// How workers go about jobs, by their ids: `hang…` never ends, `slow…` takes two seconds, `bad…` fails for good.
[[nodiscard]] std::vector<std::string> worker_that_hangs();
/// The same without hanging.
[[nodiscard]] std::vector<std::string> worker_that_ends();

/// With the programs that the deployment launches: jobs that have ended in each way, that run, that wait for a person, a slot or a
/// worker, steps of a saga, results and submissions that nobody has read. At its end nothing but the servers runs.
void leave_half_done(Deployment& world);

}  // namespace lockstep::prod::testing
