#include "sim/run/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep::sim {

namespace {

/// The moment of the `n`th run at a rate.
Duration offset_of(int n, double per_second) {
    if (per_second <= 0) return {};
    return Duration{static_cast<std::int64_t>(1e9 * n / per_second)};
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
    open_ = actions_.size();
}

void RunPlan::finish(std::size_t index) {
    if (done_[index]) return;
    done_[index] = true;
    --open_;
}

}  // namespace lockstep::sim
