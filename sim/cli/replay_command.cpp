#include <fmt/format.h>

#include <ostream>

#include "reports/run_report.h"
#include "sim/cli/commands.h"
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

}  // namespace

Exit replay_failure_command(const ReplayArgs& args, const Environment& environment) {
    const auto loaded = load_replayable(args.file);
    if (!loaded || loaded->is_scenario_file) {
        environment.err << (loaded
                                ? fmt::format("lockstep: {} is a scenario, not a failure file: use lockstep run {}\n",
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
