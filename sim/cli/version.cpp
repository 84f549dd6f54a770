#include "sim/cli/version.h"

namespace lockstep::sim::cli {

const char* const kVersion = LOCKSTEP_VERSION;

}  // namespace lockstep::sim::cli
