// Which build of Lockstep a program is: what `--version`, the metric lockstep_build_info and the packages say.
#pragma once

#include <string>

#include "reports/usage/command.h"

namespace lockstep::prod {

/// Written by every build (.cmake/commit.cmake): the commit, 12 digits, or nothing where it is not known; whether the tree had been
/// changed since.
extern const char* const kCommit;
extern const bool kDirty;

/// The name of the build (reports/usage/version_flag.h), as `lockstep` calls its own in what it writes.
[[nodiscard]] std::string build_name();

/// `--version` of a program that has a name.
void add_version_flag(const usage::Command& program);

}  // namespace lockstep::prod
