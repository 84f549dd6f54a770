// Which build of Lockstep a program is, and how it says so.
#pragma once

#include <string>

#include "reports/usage/command.h"

namespace lockstep::usage {

struct Build {
    std::string version;
    std::string commit{};  // 12 digits; empty where it is not known
    bool dirty = false;    // the tree had been changed since that commit

    /// "0.1.0+1f2e3d4c5b6a", with ".dirty" where the tree had been changed since that commit; "0.1.0" where no commit is known.
    [[nodiscard]] std::string name() const;
};

/// `--version` of a program that has a name: "lockstepd 0.1.0+1f2e3d4c5b6a", or with `--json` one object with the members name,
/// version, commit, dirty, build and compiler.
void add_version_flag(const Command& program, Build build);

}  // namespace lockstep::usage
