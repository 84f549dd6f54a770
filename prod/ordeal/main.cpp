// lockstep-ordeal: hurts a real deployment, keeps a ledger of its own, and says what held.
#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "engine/config/tunables.h"
#include "prod/ordeal/cluster.h"
#include "prod/ordeal/judge.h"
#include "prod/ordeal/ordeal.h"
#include "prod/ordeal/report.h"
#include "prod/version/build.h"
#include "reports/usage/command.h"
#include "reports/usage/standard_streams.h"

namespace {

using namespace lockstep::prod::ordeal;

// As those of `lockstep`.
constexpr int kHeld = 0;
constexpr int kViolated = 1;
constexpr int kWrongUse = 2;
constexpr int kFailed = 3;
constexpr int kNothingProved = 4;
constexpr int kInterrupted = 130;

constexpr auto kSpanLeast = std::chrono::seconds(5);
constexpr auto kSpanMost = std::chrono::hours(24);

std::atomic<bool> stop_asked = false;

void ask_to_stop(int) { stop_asked = true; }

struct Arguments {
    Options options;
    std::string span = "15m";
    std::string quiet_limit = "3m";
    std::string programs = std::filesystem::canonical("/proc/self/exe").parent_path();
    std::string logs;
    std::string json;
    std::vector<std::string> environment;
    bool silent = false;
};

int wrong(const std::string& why) {
    fmt::print(stderr, "lockstep-ordeal: {}\n", why);
    return kWrongUse;
}

/// The last mistake, or nothing.
std::string complete(Arguments& arguments) {
    const auto span = [](const char* option, const std::string& text,
                         std::chrono::milliseconds& target) -> std::string {
        const auto parsed = lockstep::engine::parse_duration(text);
        if (!parsed) return fmt::format("{}: {}", option, parsed.error());
        target = std::chrono::duration_cast<std::chrono::milliseconds>(*parsed);
        if (target >= kSpanLeast && target <= kSpanMost) return {};
        return fmt::format("{}: expected from 5s to 24h, got {}", option, text);
    };
    for (const std::string& entry : arguments.environment) {
        const auto equals = entry.find('=');
        if (equals == std::string::npos || equals == 0)
            return fmt::format("--env: expected NAME=VALUE, got \"{}\"", entry);
        arguments.options.environment[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
    arguments.options.programs = arguments.programs;
    arguments.options.logs = arguments.logs;
    if (auto mistake = span("--for", arguments.span, arguments.options.span); !mistake.empty()) return mistake;
    return span("--quiet-limit", arguments.quiet_limit, arguments.options.quiet_limit);
}

/// False when it cannot be written.
bool write(const std::string& file, const std::string& text) {
    const std::string unfinished = file + ".unfinished";
    std::ofstream out(unfinished, std::ios::binary);
    out << text;
    out.close();
    std::error_code error;
    if (out) std::filesystem::rename(unfinished, file, error);
    return out && !error;
}

int conclude(const Arguments& arguments, const Ledger& ledger) {
    const Verdict verdict = judge(ledger);
    fmt::print("{}", as_text(ledger, verdict));
    const Shape& shape = arguments.options.shape;
    const std::string again =
        fmt::format("./dev ordeal {}{}{}--for {} --seed {}", shape.attack ? "--attack " : "",
                    shape.available ? "--available " : "", shape.lossy ? "--lossy " : "", arguments.span, ledger.seed);
    if (!arguments.json.empty() && !write(arguments.json, as_json(ledger, verdict))) {
        fmt::print(stderr, "lockstep-ordeal: cannot write {}\n", arguments.json);
        return kFailed;
    }
    if (verdict.violated()) {
        fmt::print("VIOLATED, seed {}; the same blows again: {}\n", ledger.seed, again);
        return kViolated;
    }
    if (verdict.proved_nothing()) {
        fmt::print("nothing was proved: too few jobs ended, or too little was done to anybody; try a longer --for\n");
        return kNothingProved;
    }
    fmt::print("all held, seed {}; the same blows again: {}\n", ledger.seed, again);
    return kHeld;
}

int run(Arguments& arguments) {
    Options& options = arguments.options;
    if (const auto missing = Cluster::missing_servers(); !missing.empty())
        return wrong(fmt::format("{} is not installed; ./dev deps installs it", fmt::join(missing, " and ")));
    for (const char* program : {"lockstepd", "lockstep-kernel", "lockstep-worker"}) {
        if (!std::filesystem::exists(options.programs / program))
            return wrong(
                fmt::format("there is no {} in {}; --programs names the folder", program, options.programs.string()));
    }
    fmt::print("ordeal: seed {}, {} of blows, {}, {} replicas, {} workers, {} jobs a second\n", options.seed,
               arguments.span, options.shape.available ? "three servers of each kind" : "one server of each kind",
               options.shape.replicas, options.shape.workers, options.jobs_per_second);
    std::fflush(stdout);
    if (!arguments.silent) options.tell = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
    const Ledger ledger = undergo(options, stop_asked);
    if (ledger.interrupted) {
        fmt::print("interrupted after {} jobs and {} disruptions; nothing was judged\n", ledger.submissions.size(),
                   ledger.disturbances.size());
        return kInterrupted;
    }
    return conclude(arguments, ledger);
}

}  // namespace

namespace {

int program(int argc, char** argv) {
    // Undecodable messages are sent on purpose; protobuf would print a line about each.
    google::protobuf::SetLogHandler(nullptr);
    Arguments arguments;
    Options& options = arguments.options;
    const lockstep::usage::Program app(
        "Starts redis-server, nats-server, a kernel, replicas of lockstepd and workers on loopback ports of its own, "
        "submits\n"
        "jobs, and kills, stops, freezes and cuts off whatever the seed says. In the end it heals all, waits for "
        "quiet, and\n"
        "judges by what JetStream acknowledged, what its streams hold, what workers recorded and what Redis says.",
        "lockstep-ordeal");
    lockstep::prod::add_version_flag(app);
    app.option("--for", &arguments.span, "how long it hurts").show_default();
    app.option("--seed", &options.seed, "draws what is done to whom, and when").show_default();
    app.option("--quiet-limit", &arguments.quiet_limit,
               "how long quiet may take to return since a job came to rest or a submission that waited was delivered")
        .show_default();
    app.option("--replicas", &options.shape.replicas).range(1, 9).show_default();
    app.option("--workers", &options.shape.workers, "of three kinds: jobs of 50 ms, 400 ms and 2.5 s")
        .range(3, 30)
        .show_default();
    const auto available = app.flag(
        "--available", &options.shape.available,
        "three redis-servers with three sentinels, and three clustered nats-servers; those that lead are killed and\n"
        "frozen. Writes count once a replica of Redis has them, streams have three copies");
    app.flag("--attack", &options.shape.attack,
             "nobody is killed; after a third of the time hostile tenants and workers send what they can beside honest "
             "jobs,\n"
             "whose time until their end is compared with what it was before. Jobs of attackers wait for workers that "
             "never\n"
             "come: they may still do so in the end")
        .excludes(available);
    app.flag("--lossy", &options.shape.lossy,
             "with --available: writes count before a replica has them; what a failover costs is told")
        .needs("--available");
    app.option("--rate", &options.jobs_per_second, "jobs a second, floods aside").range(1, 1000).show_default();
    app.option("--jobs", &options.jobs_most, "at most so many jobs").range(1, 1'000'000).show_default();
    app.option("--env", &arguments.environment, "NAME=VALUE for the replicas (repeatable)");
    app.option("--json", &arguments.json, "write the report to this file as well").bytes();
    app.option("--logs", &arguments.logs, "copy all logs into this folder in the end").bytes();
    app.option("--programs", &arguments.programs, "folder of lockstepd and the others").bytes().show_default();
    app.flag("--silent", &arguments.silent, "no lines of progress");
    app.footer(
        "Exit codes: 0 all held, 1 something was violated, 2 wrong use, 3 the ordeal itself failed, 4 nothing was "
        "proved,\n"
        "130 interrupted.");
    if (const auto ended = app.parse(argc, argv)) return *ended == 0 ? kHeld : kWrongUse;
    if (const std::string mistake = complete(arguments); !mistake.empty()) return wrong(mistake);
    struct sigaction action{};
    action.sa_handler = ask_to_stop;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    try {
        return run(arguments);
    } catch (const std::exception& error) {
        fmt::print(stderr, "lockstep-ordeal: {}\n", error.what());
        return kFailed;
    }
}

}  // namespace

int main(int argc, char** argv) { return lockstep::usage::run_program("lockstep-ordeal", argc, argv, program); }
