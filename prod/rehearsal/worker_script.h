// What a real worker has to run so that its jobs come to what a scenario wants of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/scenario/scenario.h"

namespace lockstep::prod::rehearsal {

/// The exit status by which a command gives its job this outcome (`lockstep-worker --exec`); nothing: none does.
[[nodiscard]] std::optional<int> exit_status_for(std::string_view outcome);

/// Whether all jobs of the group just succeed: then a worker that sleeps will do.
[[nodiscard]] bool only_succeeds(const sim::WorkerGroup& group);

/// A shell command per job that takes the service time. The first jobs of a worker come to what `first_outcomes` says: each takes
/// the next number by making a file `<counter>.<number>`. REQUIRES: outcomes that have an exit status, one in `outcomes`.
[[nodiscard]] std::string worker_script(const sim::WorkerGroup& group, const std::string& counter);

}  // namespace lockstep::prod::rehearsal
