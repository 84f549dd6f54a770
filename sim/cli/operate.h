// Hands what belongs to other programs to them, as git runs its subcommands.
#pragma once

#include <string>
#include <vector>

namespace lockstep::sim::cli {

/// Replaces this process by lockstepctl with these arguments: the one beside this program, else the one on PATH. Returns
/// only when there is none, with a negative number.
int exec_lockstepctl(const std::vector<std::string>& args);
/// The same for lockstep-dev, which starts a deployment for who tries it out.
int exec_dev(const std::vector<std::string>& args);
/// The same for lockstep-rehearsal, which runs scenarios on real servers.
int exec_rehearsal(const std::vector<std::string>& args);

}  // namespace lockstep::sim::cli
