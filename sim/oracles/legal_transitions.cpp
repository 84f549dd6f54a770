#include "sim/oracles/legal_transitions.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <array>
#include <span>

namespace lockstep::sim {

namespace {

using Names = std::span<const std::string_view>;

// Written down a second time on purpose: an oracle that asked the engine's table could not catch an error in it.
constexpr std::array<std::string_view, 6> kFromAbsent{"PENDING", "APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED", "RUNNING", "FAILED"};
constexpr std::array<std::string_view, 9> kFromPending{"APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED", "RUNNING", "SUCCEEDED",
                                                       "FAILED", "TIMEOUT", "DENIED", "CANCELLED"};
constexpr std::array<std::string_view, 9> kFromApproval{"PENDING", "SCHEDULED", "DISPATCHED", "RUNNING", "SUCCEEDED",
                                                        "FAILED", "TIMEOUT", "DENIED", "CANCELLED"};
constexpr std::array<std::string_view, 10> kFromScheduled{"SCHEDULED", "APPROVAL_REQUIRED", "DISPATCHED", "RUNNING", "SUCCEEDED",
                                                          "FAILED", "CANCELLED", "TIMEOUT", "DENIED", "OUTPUT_QUARANTINED"};
constexpr std::array<std::string_view, 7> kFromDispatched{"SCHEDULED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "TIMEOUT",
                                                          "OUTPUT_QUARANTINED"};
constexpr std::array<std::string_view, 5> kFromRunning{"SUCCEEDED", "FAILED", "CANCELLED", "TIMEOUT", "OUTPUT_QUARANTINED"};
constexpr std::array<std::string_view, 1> kFromSucceeded{"OUTPUT_QUARANTINED"};

Names targets_of(std::string_view from) {
    if (from.empty()) return kFromAbsent;
    if (from == "PENDING") return kFromPending;
    if (from == "APPROVAL_REQUIRED") return kFromApproval;
    if (from == "SCHEDULED") return kFromScheduled;
    if (from == "DISPATCHED") return kFromDispatched;
    if (from == "RUNNING") return kFromRunning;
    if (from == "SUCCEEDED") return kFromSucceeded;
    return {};
}

}  // namespace

void LegalTransitions::on_event(const fakes::Event& event, Time) {
    if (event.kind != fakes::EventKind::state) return;
    exercise();
    const EventNumber before = std::exchange(changed_[std::string(event.job)], present());
    if (std::ranges::find(targets_of(event.from), event.to) == targets_of(event.from).end())
        violated(event.node, event.job,
                 fmt::format("it went from {} to {}", event.from.empty() ? "nothing" : event.from, event.to),
                 before);
}

}  // namespace lockstep::sim
