// Replicas of two versions at work: those of one are replaced by those of another, one after the other, or both go on side by side.
#pragma once

#include <filesystem>

#include "prod/integration/deployment.h"

namespace lockstep::prod::testing {

/// Three replicas with the programs in `earlier`, each asked to end and followed by one with those in `later`, while `jobs` jobs are
/// submitted, `roll-0` and so on. Returns when all have ended, or some have not within a minute. Throws std::runtime_error where a
/// replica does not end when it is asked to.
void replace_under_load(Deployment& world, const std::filesystem::path& earlier, const std::filesystem::path& later,
                        int jobs);

/// One replica of each version for as long as `jobs` jobs take, `beside-0` and so on, which all come at once to eight slots. Returns when
/// all have ended, or some have not within three minutes.
void run_side_by_side(Deployment& world, const std::filesystem::path& earlier, const std::filesystem::path& later,
                      int jobs);

}  // namespace lockstep::prod::testing
