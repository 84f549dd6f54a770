#include "bench/load/measure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "bench/load/costs.h"
#include "bench/load/parties.h"

namespace lockstep::bench {

namespace {

constexpr const char* kSucceeded = "SUCCEEDED";
constexpr const char* kDispatched = "DISPATCHED";
constexpr const char* kMemory = "memory/peak_rss_of_scheduler_mib";
constexpr double kMicrosPerSecond = 1e6;
constexpr double kMebibyte = 1024 * 1024;

/// Throws unless all have succeeded.
void must_have_succeeded(const Variant& variant, const std::vector<History>& jobs) {
    std::map<std::string, long> ends;
    for (const History& job : jobs) ++ends[job.empty() ? "no history" : job.back().second];
    if (ends[kSucceeded] == static_cast<long>(jobs.size())) return;
    std::string text;
    for (const auto& [state, count] : ends)
        if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, state);
    throw Failed(fmt::format("{}: not every job has succeeded: {}", variant.name, text));
}

UnixMicros last_end(const std::vector<History>& jobs) {
    UnixMicros last = 0;
    for (const History& job : jobs) last = std::max(last, job.back().first);
    return last;
}

const std::pair<UnixMicros, std::string>* first_dispatch(const History& job) {
    const auto found = std::ranges::find(job, kDispatched, &std::pair<UnixMicros, std::string>::second);
    return found == job.end() ? nullptr : &*found;
}

void set_outcome(Figures& figures, const std::vector<History>& jobs, double seconds) {
    figures.set("jobs", static_cast<double>(jobs.size()));
    figures.set("succeeded", static_cast<double>(jobs.size()));
    figures.set("seconds", seconds);
    figures.set("jobs_per_second", static_cast<double>(jobs.size()) / seconds);
}

/// As long as the workers are busy when no slot is ever free.
void set_ideal(Figures& figures, const Plan& plan) {
    if (plan.service_time.count() == 0) return;
    const double turns = std::ceil(static_cast<double>(plan.jobs) / static_cast<double>(plan.slots));
    const double ideal = turns * std::chrono::duration<double>(plan.service_time).count();
    figures.set("ideal_seconds", ideal);
    figures.set("times_the_ideal", figures.at("seconds") / ideal);
}

void set_quantiles(Figures& figures, const std::string& path, const std::vector<double>& sorted) {
    for (const auto& [name, q] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}, {"max", 1.0}})
        figures.set(path + "/" + name, quantile(sorted, q));
}

}  // namespace

Figures closed_loop(const Plan& plan, const Variant& variant, const Patience& patience) {
    Parties parties(plan, variant, patience);
    const double submitter_before = parties.snapshot().cpu_seconds[kSubmitter];
    parties.submit("load", plan.jobs, 0);
    Snapshot before = parties.snapshot();
    UnixMicros began = parties.start_schedulers();
    // The schedulers' own start is not what a job costs; neither is it a matter of Redis, NATS and the others, which have had nothing
    // else to do meanwhile. Who submitted has done so before.
    before.cpu_seconds[kSchedulers] = parties.snapshot().cpu_seconds[kSchedulers];
    before.cpu_seconds[kSubmitter] = submitter_before;
    parties.await_ends(plan.jobs);
    const Snapshot after = parties.snapshot();
    const double memory = parties.peak_resident_bytes_of_schedulers();

    const auto jobs = parties.redis().histories("load", plan.jobs);
    must_have_succeeded(variant, jobs);
    // One that takes jobs before it says so is not given that time.
    for (const History& job : jobs)
        if (const auto* sent = first_dispatch(job)) began = std::min(began, sent->first);
    Figures figures;
    set_outcome(figures, jobs, static_cast<double>(std::max<UnixMicros>(last_end(jobs) - began, 1)) / kMicrosPerSecond);
    set_ideal(figures, plan);
    const Figures costs = costs_between(before, after, plan.jobs, Submitted::before);
    figures.add("bound", bound_of(costs, figures.at("jobs_per_second"), Submitted::before));
    for (const auto& [path, value] : costs.all()) figures.set(path, value);
    figures.set(kMemory, memory / kMebibyte);
    return figures;
}

Latencies latencies(const std::vector<History>& jobs, double rate) {
    Latencies result;
    const auto offset = [rate](std::size_t i) {
        return static_cast<UnixMicros>(static_cast<double>(i) * kMicrosPerSecond / rate);
    };
    result.began = std::numeric_limits<UnixMicros>::max();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (jobs[i].empty()) throw Failed(fmt::format("job {} has no history", i));
        result.began = std::min(result.began, jobs[i].front().first - offset(i));
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const UnixMicros planned = result.began + offset(i);
        const auto* sent = first_dispatch(jobs[i]);
        if (sent == nullptr) throw Failed(fmt::format("job {} has no {} in its history", i, kDispatched));
        result.dispatched_ms.push_back(static_cast<double>(sent->first - planned) / 1000);
        result.submitted_ms.push_back(static_cast<double>(jobs[i].front().first - planned) / 1000);
    }
    std::ranges::sort(result.dispatched_ms);
    std::ranges::sort(result.submitted_ms);
    return result;
}

Figures open_loop(const Plan& plan, const Variant& variant, double rate, const Patience& patience) {
    Parties parties(plan, variant, patience);
    parties.start_idle_schedulers();
    const Snapshot before = parties.snapshot();
    parties.submit("open", plan.jobs, rate);
    parties.await_ends(plan.jobs);
    const Snapshot after = parties.snapshot();
    const double memory = parties.peak_resident_bytes_of_schedulers();

    const auto jobs = parties.redis().histories("open", plan.jobs);
    must_have_succeeded(variant, jobs);
    const Latencies times = latencies(jobs, rate);
    Figures figures;
    figures.set("planned_per_second", rate);
    set_outcome(figures, jobs, static_cast<double>(last_end(jobs) - times.began) / kMicrosPerSecond);
    set_quantiles(figures, "planned_to_dispatched_ms", times.dispatched_ms);
    set_quantiles(figures, "planned_to_submitted_ms", times.submitted_ms);
    const Figures costs = costs_between(before, after, plan.jobs, Submitted::meanwhile);
    for (const auto& [path, value] : costs.all()) figures.set(path, value);
    figures.set(kMemory, memory / kMebibyte);
    return figures;
}

}  // namespace lockstep::bench
