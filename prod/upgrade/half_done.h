// A deployment caught in the middle of its work by one version, and what a later one has to make of it.
#pragma once

#include <map>
#include <string>

#include "prod/integration/deployment.h"

namespace lockstep::prod::testing {

struct CarriedOn {
    std::map<std::string, std::string> ends;  // the state of each job
    std::map<std::string, int> executed;      // how often each was started, compensations aside
    int undone = 0;                           // compensations that were started

    friend bool operator==(const CarriedOn&, const CarriedOn&) = default;
};

/// Nothing that had ended runs again, every result that stood in the stream counts, and what was waiting runs once.
[[nodiscard]] const CarriedOn& as_promised();

/// With the programs that the deployment launches: jobs that have ended in each way, that run, that wait for a person, a slot or a
/// worker, steps of a saga, results and submissions that nobody has read. At its end nothing but the servers runs.
void leave_half_done(Deployment& world);

/// Starts workers and a replica with the programs that the deployment launches now, decides about the jobs that wait for a person, and
/// returns what became of all jobs once it is as promised, or after a minute and a half.
[[nodiscard]] CarriedOn carry_on(Deployment& world);

[[nodiscard]] std::string to_text(const CarriedOn& found);

}  // namespace lockstep::prod::testing
