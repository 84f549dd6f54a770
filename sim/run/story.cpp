#include "sim/run/story.h"

#include <fmt/core.h>

#include "sim/world/faults/trigger_matcher.h"

namespace lockstep::sim {

namespace {

constexpr std::size_t kLinesMax = 40;

std::string_view outcome_text(fakes::EventOutcome outcome) {
    switch (outcome) {
        case fakes::EventOutcome::none:
        case fakes::EventOutcome::applied: return "";
        case fakes::EventOutcome::not_applied: return "NOT APPLIED";
        case fakes::EventOutcome::unknown: return "UNKNOWN";
    }
    return "";
}

void append(std::string& line, std::string_view label, std::string_view text) {
    if (!text.empty()) line += fmt::format(" {}{}", label, text);
}

}  // namespace

bool Story::concerns(const fakes::Event& event) const {
    switch (event.kind) {
        case fakes::EventKind::node_up:
        case fakes::EventKind::node_down:
        case fakes::EventKind::paused:
        case fakes::EventKind::resumed:
        case fakes::EventKind::fault: return true;
        case fakes::EventKind::metric:
        case fakes::EventKind::log:
        case fakes::EventKind::timer:
        case fakes::EventKind::heartbeat: return false;
        default: break;
    }
    if (job_.empty()) return false;
    return job_of(event) == job_ || event.key.ends_with(job_);
}

void Story::on_event(const fakes::Event& event, Time now) {
    if (!concerns(event)) return;
    const auto seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
    std::string line = fmt::format("{:>12.6f}s  {:<12} {}", seconds, topology_.name(event.node), to_string(event.kind));
    if (event.when != fakes::When::applied) append(line, "", to_string(event.when));
    append(line, "", outcome_text(event.outcome));
    append(line, "", event.script.empty() ? event.command : event.script);
    append(line, "", event.subject);
    append(line, "", event.name);
    if (!event.from.empty() || !event.to.empty()) line += fmt::format(" {} -> {}", event.from.empty() ? "-" : event.from, event.to);
    append(line, "key ", event.key);
    append(line, "id ", event.message_id);
    if (event.kind == fakes::EventKind::deliver) line += fmt::format(" delivery {}", event.number);
    lines_.push_back(std::move(line));
    if (lines_.size() > kLinesMax) lines_.pop_front();
}

}  // namespace lockstep::sim
