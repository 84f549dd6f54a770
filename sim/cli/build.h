// The commit that a program was built of. Defined for programs only (.cmake/commit.cmake), so that a commit compiles no library
// anew.
#pragma once

namespace lockstep::sim::cli {

extern const char* const kCommit;  // 12 digits; empty where it is not known
extern const bool kDirty;          // the tree had been changed since

}  // namespace lockstep::sim::cli
