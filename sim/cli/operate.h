// Hands operator commands to lockstepctl, as git runs its subcommands.
#pragma once

#include <string>
#include <vector>

namespace lockstep::sim::cli {

/// Replaces this process by lockstepctl with these arguments: the one beside this program, else the one on PATH. Returns
/// only when there is none, with a negative number.
int exec_lockstepctl(const std::vector<std::string>& args);

}  // namespace lockstep::sim::cli
