#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "reports/atomic_file.h"
#include "reports/run_report.h"
#include "sim/cli/build_name.h"
#include "sim/cli/commands.h"
#include "sim/cli/json_output.h"
#include "sim/cli/replay_suite.h"
#include "sim/cli/selection.h"
#include "sim/cli/verdict.h"
#include "sim/cli/violation_text.h"
#include "sim/search/failure.h"

namespace lockstep::sim::cli {

namespace {

void tell_story(const RunResult& result, std::ostream& out) {
    if (result.violations.empty()) return;
    const Violation& violation = result.violations.front();
    for (const std::string& line : violation_lines(violation)) out << line << '\n';
    for (const std::string& line : violation.story) out << "  " << line << '\n';
}

Exit cut_short(const ReplayArgs& args, const Environment& environment) {
    if (args.json) print_document(document_head("replay", Exit::interrupted, environment), environment);
    return conclude(
        {.command = "replay", .exit = Exit::interrupted, .sentence = "the run was not made to its end", .again = {}},
        talk_of(args.json, environment), environment);
}

/// What a replay came to, held against what was recorded.
Verdict verdict_of(const Failure& recorded, const RunResult& result, const std::string& signature) {
    Verdict verdict{.command = "replay", .exit = Exit::passed, .sentence = "it does not fail any more", .again = {}};
    if (signature.empty()) return verdict;
    verdict.exit = result.error.empty() ? Exit::violated : Exit::harness;
    verdict.sentence = "it fails exactly as recorded";
    if (signature != recorded.signature) {
        verdict.exit = Exit::violated;
        verdict.sentence = "it fails in another way than was recorded";
    } else if (result.digest != recorded.digest) {
        verdict.exit = Exit::not_deterministic;
        verdict.sentence = "it fails as recorded, with another history";
    }
    return verdict;
}

nlohmann::json replay_document(const std::string& file, const Failure& recorded, const RunResult& result,
                               const std::string& signature, Exit exit, const Environment& environment) {
    nlohmann::json document = document_head("replay", exit, environment);
    document.update({{"file", file},
                     {"seed", recorded.seed},
                     {"digest", reports::digest_text(result.digest)},
                     {"events", result.events},
                     {"signature", signature},
                     {"same_failure", signature == recorded.signature},
                     {"same_digest", result.digest == recorded.digest},
                     {"violations", violations_json(result)},
                     {"expectations", expectations_json(result)},
                     {"recorded", failure_json(recorded, file, "lockstep replay " + shell_quoted(file))}});
    document["recorded"]["build"] = recorded.build;
    return document;
}

/// Looks at the world at one event or two.
Exit look(const ReplayArgs& args, const Environment& environment) {
    const std::string& file = args.paths.front();
    std::vector<std::uint64_t> events = args.diff.empty() ? args.until : args.diff;
    std::ranges::sort(events);
    if (events.size() > 2 || !args.trace.empty()) {
        environment.err << "lockstep: --until is given once or twice, and without --trace\n";
        return Exit::usage;
    }
    if (args.json && args.dump == "-") {
        environment.err
            << "lockstep: --json and --dump without a file both want standard output; name a file for --dump\n";
        return Exit::usage;
    }
    events.erase(std::ranges::unique(events).begin(), events.end());
    if (!mechanisms_known(args.without, environment)) return Exit::usage;
    const auto loaded = load_replayable(file, {.overrides = args.overrides, .without = args.without});
    if (!loaded) {
        environment.err << fmt::format("lockstep: {}\n", loaded.error());
        return Exit::usage;
    }
    note_other_build(file, loaded->failure.build, environment);
    const std::uint64_t seed = args.seed.value_or(loaded->failure.seed);
    CrashGuard crash("replay", spoken_reports(args.json, environment), environment);
    if (!crash.begin()) return Exit::usage;
    crash.started(loaded->scenario.name, seed, "lockstep replay " + shell_quoted(file));
    RunOptions options;
    options.stop = environment.stop;
    options.dump_at = events;
    const RunResult result = environment.runner(loaded->scenario, seed, options);
    if (result.interrupted) return cut_short(args, environment);
    if (!result.error.empty()) {
        environment.err << fmt::format("lockstep: the harness itself failed: {}\n", result.error);
        return Exit::harness;
    }
    if (result.dumps.size() < events.size()) {
        environment.err << fmt::format("lockstep: there is no event {}: this run ends with event {}\n",
                                       events[result.dumps.size()], result.events);
        return Exit::usage;
    }
    const std::string text = result.dumps.size() == 1 ? to_text(result.dumps.front())
                                                      : difference_text(result.dumps.front(), result.dumps.back());
    if (args.json) {
        nlohmann::json document = document_head("replay", Exit::passed, environment);
        document.update({{"file", file}, {"seed", seed}, {"dump", {{"events", events}, {"text", text}}}});
        print_document(document, environment);
    }
    if (args.dump.empty() || args.dump == "-") {
        if (!args.json) environment.out << text;
        return Exit::passed;
    }
    if (const auto written = reports::write_atomically(args.dump, text); !written) {
        environment.err << "lockstep: " << written.error() << '\n';
        return Exit::usage;
    }
    return Exit::passed;
}

}  // namespace

Exit replay_failure_command(const ReplayArgs& args, const Environment& environment) {
    const std::string& file = args.paths.front();
    std::error_code error;
    if (args.paths.size() > 1 || !args.junit.empty() || std::filesystem::is_directory(file, error)) {
        if (!args.looks() && args.trace.empty()) return replay_suite(args, environment);
        environment.err << "lockstep: --until, --diff and --trace look at the run of one file, without --junit\n";
        return Exit::usage;
    }
    if (args.looks()) return look(args, environment);
    if (args.seed || !args.overrides.empty() || !args.without.empty() || !args.dump.empty()) {
        environment.err << "lockstep: --seed, --set, --without and --dump need --until or --diff: a replay as such "
                           "confirms what was recorded\n";
        return Exit::usage;
    }
    const auto loaded = load_replayable(file);
    if (!loaded || loaded->is_scenario_file) {
        environment.err << (loaded
                                ? fmt::format("lockstep: {} is a scenario, not a failure file: use lockstep run {}, or "
                                              "--until EVENT to look at the servers\n",
                                              file, file)
                                : fmt::format("lockstep: {}\n", loaded.error()));
        return Exit::usage;
    }
    const Failure& recorded = loaded->failure;
    note_other_build(file, recorded.build, environment);
    const std::string again = "lockstep replay " + shell_quoted(file);
    CrashGuard crash("replay", spoken_reports(args.json, environment), environment);
    if (!crash.begin()) return Exit::usage;
    crash.started(loaded->scenario.name, recorded.seed, again);
    RunOptions options;
    options.stop = environment.stop;
    std::optional<reports::AtomicFile> trace;
    if (!args.trace.empty()) {
        options.trace = &trace.emplace(args.trace);
        options.trace_heading = heading_of_trace(loaded->scenario.name, recorded.seed, build_name(environment), again);
    }
    const RunResult result = environment.runner(loaded->scenario, recorded.seed, options);
    if (result.interrupted) return cut_short(args, environment);
    // A harness that failed leaves no trace: it would look like a whole one.
    const auto traced = trace && result.error.empty() ? trace->finish() : tl::expected<void, std::string>{};
    if (!traced) environment.err << "lockstep: " << traced.error() << '\n';

    std::ostream& out = talk_of(args.json, environment);
    tell_story(result, out);
    const std::string signature = signature_of(result);
    out << fmt::format("seed {}, {} events, digest {}\n", result.seed, result.events,
                       reports::digest_text(result.digest));
    Verdict verdict = verdict_of(recorded, result, signature);
    if (!traced && verdict.exit == Exit::passed) {
        verdict.exit = Exit::usage;
        verdict.sentence += ", and not every file could be written";
    }
    if (!signature.empty() && signature != recorded.signature)
        out << fmt::format("It fails in another way.\n  recorded: {}\n  now:      {}\n", recorded.signature, signature);
    if (verdict.exit == Exit::not_deterministic)
        out << fmt::format(
            "The same failure, but another history: the digest was {} after {} events when it was recorded.\n"
            "Another version of lockstep wrote the file, or determinism is broken (lockstep verify-determinism).\n",
            reports::digest_text(recorded.digest), recorded.events);
    if (args.json)
        print_document(replay_document(file, recorded, result, signature, verdict.exit, environment), environment);
    if (verdict.exit != Exit::passed) {
        verdict.problems.push_back({.file = file,
                                    .title = signature.substr(0, signature.find(':')),
                                    .detail = fmt::format("{}: {}\nreplay: {}", verdict.sentence, signature, again)});
        verdict.again = again;
    }
    return conclude(verdict, out, environment);
}

}  // namespace lockstep::sim::cli
