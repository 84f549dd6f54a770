// Which build of Lockstep a program is: what `--version`, the metric lockstep_build_info and the packages say.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lockstep::prod {

/// Written by every build (.cmake/commit.cmake): the commit, 12 digits, or nothing where it is not known; whether the tree had been
/// changed since.
extern const char* const kCommit;
extern const bool kDirty;

/// "0.1.0+1f2e3d4c5b6a", with ".dirty" where the tree had been changed since that commit; "0.1.0" where no commit is known. As
/// `lockstep` calls its build in what it writes.
[[nodiscard]] std::string build_name();

/// `--version` of a program that has a name: "lockstepd 0.1.0+1f2e3d4c5b6a", or with `--json` one object with the members name,
/// version, commit, dirty, build and compiler. `app` has to outlive the parse.
void add_version_flag(CLI::App& app);

}  // namespace lockstep::prod
