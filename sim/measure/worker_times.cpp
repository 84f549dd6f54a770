#include "sim/measure/worker_times.h"

#include <algorithm>

#include "sim/measure/units.h"

namespace lockstep::sim {

namespace {

/// The worker of a direct subject, `worker.<id>.jobs`; empty for another one.
std::string_view worker_of(std::string_view subject) {
    constexpr std::string_view kPrefix = "worker.";
    constexpr std::string_view kSuffix = ".jobs";
    if (!subject.starts_with(kPrefix) || !subject.ends_with(kSuffix) ||
        subject.size() <= kPrefix.size() + kSuffix.size())
        return {};
    return subject.substr(kPrefix.size(), subject.size() - kPrefix.size() - kSuffix.size());
}

}  // namespace

void WorkerTimes::on_event(const fakes::Event& event, Time now) {
    using fakes::EventKind;
    switch (event.kind) {
        case EventKind::job_started: jobs_[std::string(event.job)].running[event.node] = now; return;
        case EventKind::job_finished: {
            Work& work = jobs_[std::string(event.job)];
            const auto began = work.running.extract(event.node);
            if (began.empty()) return;
            const Duration took = now - began.mapped();
            work.done += took;
            if (event.flag && !std::exchange(work.told, true)) work.useful = took;
            return;
        }
        case EventKind::publish:
            if (event.when == fakes::When::applied) on_dispatch(event, now);
            return;
        case EventKind::node_down:
            gone_.emplace(event.node, now);
            lose_work(event.node, now);
            return;
        case EventKind::node_up: gone_.erase(event.node); return;
        default: return;
    }
}

/// What a node was at when it died has been for nothing.
void WorkerTimes::lose_work(fakes::NodeId node, Time now) {
    for (auto& [name, work] : jobs_) {
        const auto began = work.running.extract(node);
        if (!began.empty()) work.done += now - began.mapped();
    }
}

void WorkerTimes::on_dispatch(const fakes::Event& event, Time now) {
    const std::string_view worker = worker_of(event.subject);
    if (worker.empty() || gone_.empty()) return;
    for (const auto& [node, since] : gone_) {
        if (topology_.name(node) != worker) continue;
        ++dispatches_to_gone_;
        longest_believed_ = std::max(longest_believed_, now - since);
    }
}

void WorkerTimes::report(MeasuredRun& run, Time end) const {
    Duration wasted{};
    for (const auto& [name, work] : jobs_) {
        wasted += work.done - work.useful;
        for (const auto& [node, began] : work.running) wasted += end - began;
    }
    run.values["wasted_work"] = millis(wasted);
    run.values["dispatches_to_gone_workers"] = static_cast<double>(dispatches_to_gone_);
    run.values["gone_worker_believed"] = millis(longest_believed_);
}

}  // namespace lockstep::sim
