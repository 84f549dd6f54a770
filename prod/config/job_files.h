// pools.yaml and timeouts.yaml together, as a start and a later reading of them take them: both or neither.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/config/timeouts.h"
#include "prod/config/pools_file.h"
#include "prod/config/settings.h"

namespace lockstep::prod {

struct JobFiles {
    PoolsFile pools;
    std::optional<engine::Timeouts> timeouts;  // nothing: there is no such file, the built-in ones hold
    engine::Tunables tunables;                 // those of the settings, with the reconciler's limits of the file
    std::vector<std::string> warnings;
};

/// A start takes no timeouts file for the built-in timeouts, with a warning (in production mode only when none is named); while
/// the daemon runs there are better ones, those in force.
enum class TimeoutsFile : std::uint8_t { optional, required };

/// The error names file, place and what is expected, one mistake per line; nothing is to be applied then.
[[nodiscard]] tl::expected<JobFiles, std::string> read_job_files(const Settings& settings, TimeoutsFile timeouts);

}  // namespace lockstep::prod
