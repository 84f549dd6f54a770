#include "fakes/worker/outcome.h"

#include "engine/runtime/invariant.h"
#include "engine/wire/messages.h"

namespace lockstep::fakes {

std::optional<WorkOutcome> WorkOutcome::named(std::string_view name) {
    using Kind = WorkOutcome::Kind;
    const auto success = [](Kind how) { return WorkOutcome{how, cap::JOB_STATUS_SUCCEEDED}; };
    if (name == "hang") return success(Kind::hang);
    if (name == "crash") return success(Kind::crash);
    if (name == "late") return success(Kind::late);
    if (name == "duplicate") return success(Kind::duplicate);
    if (name == "contradict") return success(Kind::contradict);
    if (name == "early") return success(Kind::early);
    if (name == "progress") return success(Kind::progress);
    cap::JobStatus status{};
    if (!cap::JobStatus_Parse("JOB_STATUS_" + std::string(name), &status)) return std::nullopt;
    return WorkOutcome{Kind::status, status};
}

OutcomeTable::OutcomeTable(const std::map<std::string, double>& weights) {
    double sum = 0;
    for (const auto& [name, weight] : weights) {
        const auto outcome = WorkOutcome::named(name);
        PRECONDITION(outcome.has_value(), "a worker cannot end a job as \"{}\"", name);
        if (weight <= 0) continue;
        sum += weight;
        entries_.push_back({sum, *outcome});
    }
    if (entries_.empty()) entries_.push_back({1.0, *WorkOutcome::named("SUCCEEDED")});
}

WorkOutcome OutcomeTable::draw(Rng& rng) const {
    const double point = rng.uniform() * entries_.back().up_to;
    for (const Entry& entry : entries_) {
        if (point < entry.up_to) return entry.outcome;
    }
    return entries_.back().outcome;
}

}  // namespace lockstep::fakes
