#include "sim/oracles/legal_transitions.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace lockstep::sim {

namespace {

using Names = std::span<const std::string_view>;

// Written down a second time on purpose: an oracle that asked the engine's table could not catch an error in it.
constexpr std::array<std::string_view, 6> kFromAbsent{"PENDING",    "APPROVAL_REQUIRED", "SCHEDULED",
                                                      "DISPATCHED", "RUNNING",           "FAILED"};
constexpr std::array<std::string_view, 9> kFromPending{
    "APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED", "RUNNING", "SUCCEEDED", "FAILED", "TIMEOUT", "DENIED", "CANCELLED"};
constexpr std::array<std::string_view, 9> kFromApproval{"PENDING", "SCHEDULED", "DISPATCHED", "RUNNING",  "SUCCEEDED",
                                                        "FAILED",  "TIMEOUT",   "DENIED",     "CANCELLED"};
constexpr std::array<std::string_view, 10> kFromScheduled{
    "SCHEDULED", "APPROVAL_REQUIRED", "DISPATCHED", "RUNNING", "SUCCEEDED",
    "FAILED",    "CANCELLED",         "TIMEOUT",    "DENIED",  "OUTPUT_QUARANTINED"};
constexpr std::array<std::string_view, 7> kFromDispatched{"SCHEDULED", "RUNNING", "SUCCEEDED",         "FAILED",
                                                          "CANCELLED", "TIMEOUT", "OUTPUT_QUARANTINED"};
constexpr std::array<std::string_view, 5> kFromRunning{"SUCCEEDED", "FAILED", "CANCELLED", "TIMEOUT",
                                                       "OUTPUT_QUARANTINED"};
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
    // The event is told before the change itself: what is recorded is still what the job was.
    const std::string recorded = recorded_.of(event.job);
    const std::string_view from = event.from.empty() ? std::string_view(recorded) : event.from;
    // SetState looks at the hash only (3.2): to it a job whose hash is gone is a new one.
    const auto may_follow = [&event](std::string_view state) {
        return std::ranges::find(targets_of(state), event.to) != targets_of(state).end();
    };
    if (!may_follow(event.from) && !may_follow(from))
        violated(event.node, event.job, fmt::format("it went from {} to {}", from.empty() ? "nothing" : from, event.to),
                 before);
}

}  // namespace lockstep::sim
