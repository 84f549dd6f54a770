// lockstep-load: schedulers under load on real servers. How many jobs a second, at what cost to whom, and how long a job waits.
// Servers, workers and schedulers share this machine, so what counts are the relations of figures of one run.
#include <fmt/core.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <exception>

#include "bench/load/arguments.h"
#include "bench/load/measure.h"
#include "bench/load/patience.h"
#include "bench/load/report.h"
#include "fakes/testing/server_process.h"
#include "prod/version/build.h"
#include "reports/atomic_file.h"
#include "reports/usage/standard_streams.h"

namespace {

using namespace lockstep::bench;

// As those of `lockstep`.
constexpr int kMeasured = 0;
constexpr int kFailed = 1;
constexpr int kBroken = 3;
constexpr int kNotTried = 4;
constexpr int kInterrupted = 130;

std::atomic<bool> stop_asked = false;

void ask_to_stop(int) { stop_asked = true; }

/// One measurement of every variant; the open loop of all at one rate, so that they can be compared.
void measure_round(const Plan& plan, const Patience& patience, Rounds& rounds) {
    std::optional<double> rate = plan.rate ? plan.rate->jobs_per_second : std::nullopt;
    for (std::size_t i = 0; i < plan.variants.size(); ++i) {
        const Variant& variant = plan.variants[i];
        fmt::print(stderr, "round {} of {}, {}\n", rounds[i].size() + 1, plan.rounds, variant.name);
        Figures figures;
        if (!plan.rate || !plan.rate->jobs_per_second) figures.add("closed_loop", closed_loop(plan, variant, patience));
        if (!rate) rate = figures.at("closed_loop/jobs_per_second") / 2;
        if (plan.rate) figures.add("open_loop", open_loop(plan, variant, *rate, patience));
        rounds[i].push_back(std::move(figures));
    }
}

int run(const Arguments& arguments) {
    for (const char* server : {"redis-server", "nats-server"}) {
        if (lockstep::fakes::testing::find_program(server)) continue;
        fmt::print(stderr, "lockstep-load: {} is not installed, so nothing was measured; ./dev deps installs it\n",
                   server);
        return kNotTried;
    }
    const Plan& plan = arguments.plan;
    const Patience patience(stop_asked);
    Rounds rounds(plan.variants.size());
    for (int i = 0; i < plan.rounds; ++i) measure_round(plan, patience, rounds);
    fmt::print("{}", as_text(plan, rounds));
    if (arguments.json.empty()) return kMeasured;
    const auto written =
        lockstep::reports::write_atomically(arguments.json, as_json(plan, rounds, lockstep::prod::build_name()));
    if (written) return kMeasured;
    fmt::print(stderr, "lockstep-load: {}\n", written.error());
    return kBroken;
}

}  // namespace

namespace {

int program(int argc, char** argv) {
    struct sigaction action{};
    action.sa_handler = ask_to_stop;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    try {
        const Parsed parsed = parse(argc, argv);
        if (!parsed.arguments) return parsed.exit_code;
        return run(*parsed.arguments);
    } catch (const Interrupted&) {
        fmt::print(stderr, "lockstep-load: interrupted, nothing was measured to its end\n");
        return kInterrupted;
    } catch (const Failed& failure) {
        fmt::print(stderr, "lockstep-load: {}\n", failure.what());
        return kFailed;
    } catch (const std::exception& error) {
        fmt::print(stderr, "lockstep-load: {}\n", error.what());
        return kBroken;
    }
}

}  // namespace

int main(int argc, char** argv) { return lockstep::usage::run_program("lockstep-load", argc, argv, program); }
