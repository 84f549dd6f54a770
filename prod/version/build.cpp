#include "prod/version/build.h"

#include "reports/usage/version_flag.h"

namespace lockstep::prod {

namespace {

usage::Build this_build() { return {LOCKSTEP_VERSION, kCommit, kDirty}; }

}  // namespace

std::string build_name() { return this_build().name(); }

void add_version_flag(const usage::Command& program) { usage::add_version_flag(program, this_build()); }

}  // namespace lockstep::prod
