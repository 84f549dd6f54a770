#include "reports/run_report.h"

#include <fmt/format.h>

namespace lockstep::reports {

std::string digest_text(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

std::string missed_text(const ExpectationOutcome& outcome) {
    const std::string others = outcome.others.empty() ? "" : fmt::format(" (and {})", outcome.others);
    return fmt::format("expected {}, got {}{}", outcome.expected, outcome.actual, others);
}

}  // namespace lockstep::reports
