#include "reports/compare/test_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace lockstep::reports {

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

/// How a variant of the samples behaves.
struct Character {
    double latency = 1;  // factors
    double commands = 1;
    double recovery = 1;
};

std::vector<Measure> sample_measures() {
    return {{"submit_to_terminal.p99", "ms", Measure::Better::lower,
             "Time from submit to a terminal state, 99th percentile."},
            {"recovery", "ms", Measure::Better::lower, "Time from the end of a fault until the backlog is gone."},
            {"redis.commands_per_job", "count", Measure::Better::lower, "Redis commands for each job that ended."},
            {"jobs.succeeded", "count", Measure::Better::higher, "Jobs that ended SUCCEEDED."},
            {"herd.peak", "count", Measure::Better::lower, "Most retries in any one second."},
            {"dead_letters", "count", Measure::Better::lower, "Messages in the dead letter queue."},
            {"routed_by_label", "ratio", Measure::Better::neither, "Share of dispatches that a label decided."}};
}

/// Noise that all variants of a seed share, and a little of their own.
ComparedRun sample_run(std::size_t variant, std::size_t scenario, std::uint64_t seed, const Character& character) {
    TestNoise shared(seed * 16 + scenario);
    TestNoise own(seed * 4096 + scenario * 64 + variant + 7);
    ComparedRun run{variant, scenario, seed, seed * 1'000'003 + scenario * 101 + variant, true, "", {}};
    const auto around = [&](double middle, double common, double private_part) {
        return std::round(middle * std::exp(common * shared.normal() + private_part * own.normal()) * 1000) / 1000;
    };
    run.values.push_back(around(1200 * character.latency, 0.2, 0.04));
    run.values.push_back(seed % 5 == 0 ? kNothing : around(8000 * character.recovery, 0.3, 0.3));
    run.values.push_back(around(21 * character.commands, 0.02, 0.01));
    run.values.push_back(200);
    run.values.push_back(std::round(around(40 / character.latency, 0.3, 0.2)));
    run.values.push_back(kNothing);
    run.values.push_back(around(0.5 * character.commands, 0.01, 0.01));
    return run;
}

Distribution sample_distribution(std::size_t variant, double middle) {
    Distribution out{variant, "submit_to_terminal", "ms", 6000, {}};
    TestNoise noise(variant + 99);
    std::vector<double> values;
    for (int i = 0; i < 600; ++i) values.push_back(std::round(middle * std::exp(0.8 * noise.normal())));
    std::ranges::sort(values);
    for (std::size_t i = 2; i < values.size(); i += 3)
        out.points.emplace_back(values[i], static_cast<double>(i + 1) / static_cast<double>(values.size()));
    return out;
}

Distribution sample_attempts(std::size_t variant, double again) {
    Distribution out{variant, "attempts_per_job", "count", 6000, {}};
    double left = 1;
    for (int attempts = 1; attempts < 6; ++attempts) {
        left *= again;
        out.points.emplace_back(attempts, 1 - left);
    }
    out.points.emplace_back(6, 1);
    return out;
}

Course sample_course(std::size_t variant, double factor) {
    Course out{variant, 500, {}, {}};
    for (int step = 0; step < 120; ++step) {
        const double outage = step >= 30 && step < 60 ? step - 30.0 : std::max(0.0, 30.0 - 2.0 * (step - 60));
        const double backlog = step < 30 ? 2 + step % 3 : outage * factor;
        out.backlog.push_back(std::round(backlog));
        out.retries.push_back(step >= 30 && step < 75 ? std::round(10 / factor + step % 4) : 0);
    }
    return out;
}

Comparison frame(std::size_t seeds) {
    Comparison out;
    out.title = "Backoff under a pool outage";
    out.question = "Does a longer backoff cost time to recover?";
    out.file = "scenarios/compare/backoff.json";
    out.version = "0.1.0";
    out.commit = "0123456789abcdef";
    out.command = "lockstep compare scenarios/compare/backoff.json --seeds " + std::to_string(seeds);
    out.scenarios = {{"scenarios/pool_outage.json", "pool_outage", "5f0e"}};
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) out.seeds.push_back(seed);
    out.measures = sample_measures();
    out.criteria.objectives = {"submit_to_terminal.p99", "redis.commands_per_job"};
    return out;
}

void add_variant(Comparison& out, std::string name, std::map<std::string, std::string> settings, const Character& is) {
    const std::size_t variant = out.variants.size();
    out.variants.push_back({std::move(name), std::move(settings)});
    for (std::size_t scenario = 0; scenario < out.scenarios.size(); ++scenario)
        for (const std::uint64_t seed : out.seeds) out.runs.push_back(sample_run(variant, scenario, seed, is));
    out.distributions.push_back(sample_distribution(variant, 400 * is.latency));
    out.distributions.push_back(sample_attempts(variant, 0.3 / is.latency));
    out.courses.push_back(sample_course(variant, is.latency));
}

}  // namespace

Comparison small_comparison() {
    Comparison out = frame(30);
    add_variant(out, "default", {{"backoff_base", "1s"}, {"max_dispatch_retries", "50"}}, {});
    add_variant(out, "patient", {{"backoff_base", "5s"}, {"max_dispatch_retries", "50"}}, {1.2, 0.7, 1.0});
    out.faults = {{"pool_down", 15'000, 30'000}, {"kernel_slow", 25'000, 40'000}};
    return out;
}

Comparison grid_comparison() {
    Comparison out = frame(20);
    out.title = "Backoff and retries";
    out.axes = {{"backoff_base", {"200ms", "1s", "5s"}}, {"max_dispatch_retries", {"10", "50", "100"}}};
    const double latencies[] = {1.0, 0.8, 1.1};
    const double commands[] = {1.0, 1.1, 1.25};
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t k = 0; k < 3; ++k) {
            const std::string& base = out.axes[0].second[i];
            const std::string& retries = out.axes[1].second[k];
            add_variant(out, fmt::format("backoff_base={}, max_dispatch_retries={}", base, retries),
                        {{"backoff_base", base}, {"max_dispatch_retries", retries}},
                        {latencies[i] * (1 + 0.1 * static_cast<double>(k)), commands[k] / latencies[i], 1});
        }
    return out;
}

}  // namespace lockstep::reports
