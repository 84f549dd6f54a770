#include "sim/measure/run_measures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fakes/redis/server.h"
#include "sim/measure/units.h"

namespace lockstep::sim {

namespace {

constexpr std::size_t kSteps = 200;  // of a course: more than a picture shows

/// The smallest sample that at least this share of them does not exceed. REQUIRES: sorted, and not empty.
double quantile(const std::vector<double>& sorted, double share) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
    return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

void summarise(MeasuredRun& run) {
    for (const auto& [name, samples] : run.samples) {
        if (samples.empty()) continue;
        std::vector<double> sorted = samples;
        std::ranges::sort(sorted);
        run.values[name + ".mean"] =
            std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
        run.values[name + ".p50"] = quantile(sorted, 0.5);
        run.values[name + ".p95"] = quantile(sorted, 0.95);
        run.values[name + ".p99"] = quantile(sorted, 0.99);
        run.values[name + ".max"] = sorted.back();
    }
}

}  // namespace

RunMeasures::RunMeasures(const EventQueue& queue, const Topology& topology)
    : jobs_(queue), workers_(topology), shared_(queue), recovery_(jobs_.backlog(), topology) {}

void RunMeasures::observe(SimTrace& trace, fakes::redis::RedisServer& redis) {
    trace.add_observer(jobs_, JobTimes::kWanted);
    trace.add_observer(servers_, ServerLoad::kWanted);
    trace.add_observer(workers_, WorkerTimes::kWanted);
    trace.add_observer(recovery_, Recovery::kWanted);
    trace.add_observer(reached_, ReachedCounts::kWanted);
    redis.add_observer(jobs_);
    redis.add_observer(shared_);
    redis.add_observer(delays_);
}

MeasuredRun RunMeasures::take(Time end) const {
    MeasuredRun run;
    jobs_.report(run);
    servers_.report(run, jobs_.jobs(), end, kSteps);
    workers_.report(run, end);
    shared_.report(run, end);
    delays_.report(run);
    recovery_.report(run);
    reached_.report(run);
    run.step_ms = millis_since_start(end) / static_cast<double>(kSteps);
    run.backlog = jobs_.backlog().peaks(end, kSteps);
    summarise(run);
    return run;
}

}  // namespace lockstep::sim
