// Replicas of one version are replaced by those of another, one after the other, while jobs come in.
#pragma once

#include <filesystem>

#include "prod/integration/deployment.h"

namespace lockstep::prod::testing {

/// Three replicas with the programs in `earlier`, each asked to end and followed by one with those in `later`, while `jobs` jobs are
/// submitted, `roll-0` and so on. Returns when all have ended, or some have not within a minute. Throws std::runtime_error where a
/// replica does not end when it is asked to.
void replace_under_load(Deployment& world, const std::filesystem::path& earlier, const std::filesystem::path& later,
                        int jobs);

}  // namespace lockstep::prod::testing
