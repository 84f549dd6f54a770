#include "bench/load/arguments.h"

#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <utility>

#include "engine/config/tunables.h"
#include "prod/version/build.h"
#include "reports/usage/command.h"

namespace lockstep::bench {

namespace {

constexpr int kExitWrongUse = 2;
constexpr int kRoundsOfAComparison = 3;
constexpr const char* kReplicasVariable = "LOCKSTEP_REDIS_REPLICAS";

/// As they stand on the command line.
struct Words {
    std::string rate;
    std::string service_time = "0s";
    bool compare = false;
    std::vector<std::string> environment, b_environment;
    std::string programs = LOCKSTEP_PROGRAM_FOLDER, b_programs;
    std::string scheduler, b_scheduler;
    std::string ready_text, b_ready_text;
    int rounds = 0;
    std::string json;
};

// Each of these returns what is wrong, with the way out; empty: nothing.

std::string read_environment(const char* option, const std::vector<std::string>& entries,
                             std::map<std::string, std::string>& target) {
    for (const std::string& entry : entries) {
        const auto equals = entry.find('=');
        if (equals == std::string::npos || equals == 0)
            return fmt::format("{}: expected NAME=VALUE, got \"{}\"", option, entry);
        target[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
    return {};
}

std::string read_rate(const std::string& text, std::optional<Rate>& target) {
    if (text.empty()) return {};
    target.emplace();
    if (text == "half") return {};
    double rate = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
    if (error != std::errc{} || end != text.data() + text.size() || !(rate >= 0.01 && rate <= 1e6))
        return fmt::format(
            "--rate: expected jobs a second (0.01 to 1000000), or half of what the same run has measured to be the "
            "most, "
            "got \"{}\"",
            text);
    target->jobs_per_second = rate;
    return {};
}

std::string read_service_time(const std::string& text, std::chrono::milliseconds& target) {
    const auto span = engine::parse_duration(text);
    if (!span) return fmt::format("--service-time: {}", span.error());
    target = std::chrono::duration_cast<std::chrono::milliseconds>(*span);
    return {};
}

std::string missing_program(const char* option, const Variant& variant) {
    for (const char* program : {"lockstepd", "lockstepctl", "lockstep-kernel", "lockstep-worker"}) {
        if (::access((variant.programs / program).c_str(), X_OK) == 0) continue;
        return fmt::format("{}: there is no program {} in {}; expected the folder bin of a build", option, program,
                           variant.programs.string());
    }
    return {};
}

std::string mistake_in_comparison(const Words& words, const Plan& plan) {
    const std::pair<const char*, bool> of_b[] = {{"--b-env", !words.b_environment.empty()},
                                                 {"--b-programs", !words.b_programs.empty()},
                                                 {"--b-scheduler", !words.b_scheduler.empty()}};
    bool differ = plan.redis_replicas > 0;
    for (const auto& [option, given] : of_b) {
        if (given && !words.compare)
            return fmt::format("{}: there is no second variant; add --compare to have one", option);
        differ = differ || given;
    }
    if (words.compare && !differ)
        return "--compare: the variants are the same; say what is different about B with --b-env NAME=VALUE, "
               "--b-programs FOLDER or --b-scheduler CMD, or have B wait for --redis-replicas";
    return {};
}

std::string mistake_in_ready_texts(const Words& words) {
    if (!words.ready_text.empty() && words.scheduler.empty() && words.b_scheduler.empty())
        return "--ready-text: it is for --scheduler or --b-scheduler; lockstepd's is known";
    if (!words.b_ready_text.empty() && words.b_scheduler.empty() && words.scheduler.empty())
        return "--b-ready-text: it is for --b-scheduler; lockstepd's is known";
    return {};
}

/// Found out before the measurement, which takes minutes.
std::string mistake_in_json_file(const std::string& file) {
    if (file.empty()) return {};
    const std::filesystem::path path = std::filesystem::absolute(file);
    if (std::filesystem::is_directory(path))
        return fmt::format("--json: {} is a folder; expected a file to write to", file);
    if (::access(path.parent_path().c_str(), W_OK) != 0)
        return fmt::format("--json: nothing can be written into {}; make the folder, or name another one",
                           path.parent_path().string());
    return {};
}

void use_scheduler(Variant& variant, const std::string& command, const std::string& ready_text) {
    variant.scheduler = command;
    if (!command.empty()) variant.ready_text = ready_text;
}

std::string complete(const Words& words, Arguments& arguments) {
    Plan& plan = arguments.plan;
    arguments.json = words.json;
    plan.rounds = words.rounds > 0 ? words.rounds : words.compare ? kRoundsOfAComparison : 1;
    Variant a;
    a.programs = words.programs;
    use_scheduler(a, words.scheduler, words.ready_text);
    std::map<std::string, std::string> own_of_b;
    for (std::string mistake :
         {read_rate(words.rate, plan.rate), read_service_time(words.service_time, plan.service_time),
          read_environment("--env", words.environment, a.environment),
          read_environment("--b-env", words.b_environment, own_of_b), missing_program("--programs", a),
          mistake_in_comparison(words, plan), mistake_in_ready_texts(words), mistake_in_json_file(words.json)})
        if (!mistake.empty()) return mistake;

    Variant b = a;
    b.name = "B";
    if (!words.b_programs.empty()) {
        b.programs = words.b_programs;
        if (std::string mistake = missing_program("--b-programs", b); !mistake.empty()) return mistake;
    }
    if (!words.b_scheduler.empty())
        use_scheduler(b, words.b_scheduler, words.b_ready_text.empty() ? words.ready_text : words.b_ready_text);
    if (plan.redis_replicas > 0) {
        const bool nothing_else = own_of_b.empty() && words.b_programs.empty() && words.b_scheduler.empty();
        const std::string all = std::to_string(plan.redis_replicas);
        a.environment.emplace(kReplicasVariable, words.compare && nothing_else ? "0" : all);
        b.environment.emplace(kReplicasVariable, all);
    }
    for (const auto& [name, value] : own_of_b) b.environment[name] = value;
    plan.variants = {std::move(a)};
    if (words.compare) plan.variants.push_back(std::move(b));
    return {};
}

void declare(const usage::Command& app, Plan& plan, Words& words) {
    app.option("JOBS", &plan.jobs, "how many jobs each measurement takes").range(1, 1'000'000).show_default();
    app.option("--replicas", &plan.replicas, "of the scheduler").range(1, 9).show_default();
    app.option("--rate", &words.rate,
               "open loop: so many jobs a second, submitted by plan; \"half\": half of what the closed loop has just "
               "come to");
    app.option("--slots", &plan.slots, "jobs that the two workers take at once, in all")
        .range(2, 200'000)
        .show_default();
    app.option(
           "--service-time", &words.service_time,
           "time that each job takes its worker, such as 1s; the closed loop then says how many times as long as with "
           "busy workers all took")
        .show_default();
    app.option("--rounds", &words.rounds, "repetitions of each measurement (default 1, with --compare 3)").range(1, 99);
    app.option("--redis-replicas", &plan.redis_replicas,
               "replicas of Redis that must have a write before it counts; with --compare and no other difference, "
               "in B only")
        .range(0, 5)
        .show_default();
    app.option("--env", &words.environment, "NAME=VALUE for the schedulers (repeatable)");
    app.option("--programs", &words.programs, "folder of lockstepd and the others").bytes().show_default();
    app.option("--scheduler", &words.scheduler,
               "a command for /bin/sh in lockstepd's place; it finds REDIS_URL, NATS_URL, SAFETY_KERNEL_ADDR, "
               "POOL_CONFIG_PATH, TIMEOUT_CONFIG_PATH and SCHEDULER_METRICS_ADDR")
        .bytes();
    app.option("--ready-text", &words.ready_text,
               "what that command prints once it takes jobs; without it it is ready when a first job has ended");
    app.flag("--compare", &words.compare, "measure two variants in turn, A B A B ..., and say how they relate");
    app.option("--b-env", &words.b_environment, "NAME=VALUE for the schedulers of B (repeatable)");
    app.option("--b-programs", &words.b_programs, "folder of the programs of B: another build").bytes();
    app.option("--b-scheduler", &words.b_scheduler, "as --scheduler, for B").bytes();
    app.option("--b-ready-text", &words.b_ready_text, "as --ready-text, for B (default: the same)");
    app.option("--json", &words.json, "write all figures to this file as well").bytes();
    app.footer(
        "Examples:\n"
        "  lockstep-load 5000                                     what this machine does at most, and what a job "
        "costs\n"
        "  lockstep-load 5000 --rate half                         and how long jobs wait at half of that\n"
        "  lockstep-load 400 --slots 8 --service-time 1s          how well a burst uses few workers\n"
        "  lockstep-load 2000 --compare --b-programs ../old/bin   two builds\n"
        "  lockstep-load 2000 --compare --redis-replicas 1        what it costs to wait for a replica of Redis\n"
        "Exit codes: 0 measured, 1 not every job succeeded or a scheduler did not run, 2 wrong use, 3 a server or the "
        "bench\nitself failed, 4 redis-server or nats-server is not installed, 130 interrupted.");
}

}  // namespace

Parsed parse(int argc, const char* const* argv) {
    Arguments arguments;
    Words words;
    const usage::Program app(
        "Starts redis-server, nats-server, a kernel, workers and schedulers on loopback ports of its own, and measures "
        "how many\njobs a second they do, what a job costs each of them, and with --rate how long a job waits for its "
        "dispatch.",
        "lockstep-load");
    prod::add_version_flag(app);
    declare(app, arguments.plan, words);
    if (const auto ended = app.parse(argc, argv)) return {std::nullopt, *ended == 0 ? 0 : kExitWrongUse};
    if (const std::string mistake = complete(words, arguments); !mistake.empty()) {
        fmt::print(stderr, "lockstep-load: {}\n", mistake);
        return {std::nullopt, kExitWrongUse};
    }
    return {std::move(arguments), 0};
}

}  // namespace lockstep::bench
