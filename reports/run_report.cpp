#include "reports/run_report.h"

#include <fmt/format.h>

namespace lockstep::reports {

std::string digest_text(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

}  // namespace lockstep::reports
