// What has to come of the jobs of a recording.
#pragma once

#include <map>
#include <string>

#include "prod/integration/deployment.h"

namespace lockstep::prod::testing {

struct CarriedOn {
    std::map<std::string, std::string> ends;  // the state of each job of the recording
    std::map<std::string, int> executed;      // how often each was started since, compensations aside
    int undone = 0;                           // compensations that were started

    friend bool operator==(const CarriedOn&, const CarriedOn&) = default;
};

/// Nothing that had ended runs again, every result that stood in the stream counts, and what was waiting runs once.
[[nodiscard]] const CarriedOn& as_promised();

/// Puts the recording into the servers, starts workers and a replica with the programs that the deployment launches, decides about
/// the jobs that wait for a person, and tells what has come of it once all is as promised, or after a minute.
[[nodiscard]] CarriedOn carry_on(Deployment& world, const nlohmann::json& recording);

[[nodiscard]] std::string to_text(const CarriedOn& found);

}  // namespace lockstep::prod::testing
