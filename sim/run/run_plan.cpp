#include "sim/run/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep::sim {

namespace {

/// The moment of the `n`th run at a rate.
Duration offset_of(int n, double per_second) {
    if (per_second <= 0) return {};
    return Duration{static_cast<std::int64_t>(1e9 * n / per_second)};
}

/// Empty for an order that is no decision.
std::string decision_in(const RunOrder& order) {
    switch (order.kind) {
        case RunOrder::Kind::approve:
            return fmt::format("the {} of {} of {}", order.approved ? "approval" : "rejection", order.step, order.run);
        case RunOrder::Kind::cancel: return fmt::format("the cancellation of {}", order.run);
        case RunOrder::Kind::retry: return fmt::format("the retry of {}", order.run);
        default: return {};
    }
}

}  // namespace

RunPlan::RunPlan(const std::vector<Load>& load) {
    std::vector<Action> actions;
    int generated = 0;
    for (const Load& line : load) {
        if (line.kind != Load::Kind::workflow) continue;
        const bool numbered = line.order.kind == RunOrder::Kind::start && line.order.run.empty();
        for (int n = 0; n < (numbered ? line.count : 1); ++n) {
            actions.push_back({line.at + offset_of(n, line.per_second), line.order});
            if (numbered) actions.back().order.run = fmt::format("run-{}", generated++);
        }
    }
    // By insertion where times agree: std::stable_sort asks for scratch memory by a deprecated call.
    std::vector<std::pair<Duration, std::size_t>> order;
    for (std::size_t i = 0; i < actions.size(); ++i) order.emplace_back(actions[i].at, i);
    std::ranges::sort(order);
    for (const auto& [at, index] : order) actions_.push_back(std::move(actions[index]));
    done_.assign(actions_.size(), false);
    changed_ = done_;
    open_ = actions_.size();
}

void RunPlan::finish(std::size_t index, bool changed) {
    if (done_[index]) return;
    done_[index] = true;
    changed_[index] = changed;
    --open_;
}

std::vector<std::string> RunPlan::in_vain() const {
    std::map<std::string, bool> changed;
    for (std::size_t i = 0; i < actions_.size(); ++i)
        if (const std::string what = decision_in(actions_[i].order); !what.empty()) changed[what] |= changed_[i];
    std::vector<std::string> all;
    for (const auto& [what, has] : changed)
        if (!has) all.push_back(what);
    return all;
}

}  // namespace lockstep::sim
