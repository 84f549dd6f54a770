#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "reports/atomic_file.h"
#include "reports/run_report.h"
#include "sim/cli/commands.h"
#include "sim/cli/selection.h"
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

/// Looks at the world at one event or two.
Exit look(const ReplayArgs& args, const Environment& environment) {
    std::vector<std::uint64_t> events = args.diff.empty() ? args.until : args.diff;
    std::ranges::sort(events);
    if (events.size() > 2 || !args.trace.empty()) {
        environment.err << "lockstep: --until is given once or twice, and without --trace\n";
        return Exit::usage;
    }
    events.erase(std::ranges::unique(events).begin(), events.end());
    if (!mechanisms_known(args.without, environment)) return Exit::usage;
    const auto loaded = load_replayable(args.file, {.overrides = args.overrides, .without = args.without});
    if (!loaded) {
        environment.err << fmt::format("lockstep: {}\n", loaded.error());
        return Exit::usage;
    }
    RunOptions options;
    options.stop = environment.stop;
    options.dump_at = events;
    const RunResult result = environment.runner(loaded->scenario, args.seed.value_or(loaded->failure.seed), options);
    if (result.interrupted) return Exit::interrupted;
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
    if (args.dump.empty() || args.dump == "-") {
        environment.out << text;
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
    if (args.looks()) return look(args, environment);
    if (args.seed || !args.overrides.empty() || !args.without.empty() || !args.dump.empty()) {
        environment.err << "lockstep: --seed, --set, --without and --dump need --until or --diff: a replay as such "
                           "confirms what was recorded\n";
        return Exit::usage;
    }
    const auto loaded = load_replayable(args.file);
    if (!loaded || loaded->is_scenario_file) {
        environment.err << (loaded
                                ? fmt::format("lockstep: {} is a scenario, not a failure file: use lockstep run {}, or "
                                              "--until EVENT to look at the servers\n",
                                              args.file, args.file)
                                : fmt::format("lockstep: {}\n", loaded.error()));
        return Exit::usage;
    }
    const Failure& recorded = loaded->failure;
    RunOptions options;
    options.stop = environment.stop;
    options.trace_path = args.trace;
    if (environment.note_run) environment.note_run("lockstep replay " + args.file);
    const RunResult result = environment.runner(loaded->scenario, recorded.seed, options);
    if (result.interrupted) return Exit::interrupted;

    tell_story(result, environment.out);
    const std::string signature = signature_of(result);
    environment.out << fmt::format("seed {}, {} events, digest {}\n", result.seed, result.events,
                                   reports::digest_text(result.digest));
    if (signature != recorded.signature) {
        environment.out << (signature.empty()
                                ? "It does not fail any more.\n"
                                : fmt::format("It fails in another way.\n  recorded: {}\n  now:      {}\n",
                                              recorded.signature, signature));
        return signature.empty() ? Exit::passed : Exit::violated;
    }
    if (result.digest != recorded.digest) {
        environment.out << fmt::format(
            "The same failure, but another history: the digest was {} after {} events when it was recorded.\n"
            "Another version of lockstep wrote the file, or determinism is broken (lockstep verify-determinism).\n",
            reports::digest_text(recorded.digest), recorded.events);
        return Exit::not_deterministic;
    }
    environment.out << "It fails exactly as recorded.\n";
    return result.error.empty() ? Exit::violated : Exit::harness;
}

}  // namespace lockstep::sim::cli
