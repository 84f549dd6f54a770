#include "sim/cli/replay_suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "reports/atomic_file.h"
#include "reports/junit.h"
#include "sim/cli/build_name.h"
#include "sim/cli/commands.h"
#include "sim/cli/json_output.h"
#include "sim/cli/progress.h"
#include "sim/cli/selection.h"
#include "sim/cli/verdict.h"
#include "sim/run/sweep.h"
#include "sim/search/failure.h"

namespace lockstep::sim::cli {

namespace {

struct Suite {
    std::vector<std::string> files;
    std::vector<Failure> recorded;
    std::vector<Scenario> scenarios;
    std::vector<PlannedRun> plan;
};

/// Files as they are named, and those of folders.
std::vector<std::string> files_of(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) return {path};
    std::vector<std::string> files;
    const auto skipping = std::filesystem::directory_options::skip_permission_denied;
    for (std::filesystem::recursive_directory_iterator at(path, skipping, error), end; at != end && !error;
         at.increment(error))
        if (at->path().extension() == ".json") files.push_back(at->path().string());
    std::ranges::sort(files);
    return files;
}

/// Nothing: a file was wrong, which has been said.
std::optional<Suite> suite_of(const ReplayArgs& args, const Environment& environment) {
    Suite suite;
    bool sound = true;
    for (const std::string& path : args.paths) {
        const bool is_named = files_of(path) == std::vector{path};
        for (const std::string& file : files_of(path)) {
            auto loaded = load_replayable(file);
            const bool is_one = loaded && !loaded->is_scenario_file;
            // Scenarios that were shrunk, or the state of an exploration, stand in such folders, too.
            if (loaded && !is_one && !is_named) continue;
            if (!is_one) {
                environment.err << fmt::format("lockstep: {}\n",
                                               loaded ? file + " is no failure file" : loaded.error());
                sound = false;
                continue;
            }
            suite.plan.push_back({suite.scenarios.size(), loaded->failure.seed});
            suite.files.push_back(file);
            suite.scenarios.push_back(std::move(loaded->scenario));
            suite.recorded.push_back(std::move(loaded->failure));
        }
    }
    if (!sound) return {};
    return suite;
}

std::string_view told_of(const Failure& recorded, const RunResult& result) {
    const std::string signature = signature_of(result);
    if (signature.empty()) return "it does not fail any more";
    if (signature != recorded.signature) return "it fails in another way than was recorded";
    return result.digest == recorded.digest ? "it fails exactly as recorded"
                                            : "it fails as recorded, with another history";
}

nlohmann::json document_of(const Suite& suite, const SweepOutcome& outcome, Exit exit, const Environment& environment) {
    nlohmann::json document = document_head("replay", exit, environment);
    document["results"] = nlohmann::json::array();
    for (std::size_t i = 0; i < outcome.results.size(); ++i) {
        const std::size_t which = outcome.runs[i].scenario;
        const RunResult& result = outcome.results[i];
        const Failure& recorded = suite.recorded[which];
        const std::string signature = signature_of(result);
        document["results"].push_back({{"file", suite.files[which]},
                                       {"seed", recorded.seed},
                                       {"digest", reports::digest_text(result.digest)},
                                       {"events", result.events},
                                       {"signature", signature},
                                       {"same_failure", !signature.empty() && signature == recorded.signature},
                                       {"same_digest", result.digest == recorded.digest}});
    }
    return document;
}

/// What the suite came to.
struct Account {
    Verdict verdict;
    reports::RunReport report;
};

std::string again_of(const Suite& suite, std::size_t which) {
    return "lockstep replay " + shell_quoted(suite.files[which]);
}

/// A line for each failure that is still there.
Account tell(const Suite& suite, const SweepOutcome& outcome, std::ostream& out, const Environment& environment) {
    Account account{.verdict = {.command = "replay", .exit = Exit::passed, .sentence = {}, .again = {}}, .report = {}};
    account.report.build = build_name(environment);
    for (std::size_t i = 0; i < outcome.results.size(); ++i) {
        const RunResult& result = outcome.results[i];
        if (result.interrupted) continue;
        const std::size_t which = outcome.runs[i].scenario;
        const std::string signature = signature_of(result);
        const std::string_view told = told_of(suite.recorded[which], result);
        const std::string again = again_of(suite, which);
        account.report.results.push_back(record_of(suite.scenarios[which], result, again));
        if (signature.empty()) {
            if (environment.verbose) out << fmt::format("ok      {}: {}\n", suite.files[which], told);
            continue;
        }
        out << fmt::format("FAILED  {}: {}\n  {}\n  lockstep explain {}\n", suite.files[which], told, signature,
                           shell_quoted(suite.files[which]));
        if (account.verdict.again.empty()) account.verdict.again = again;
        account.verdict.problems.push_back({.file = suite.files[which],
                                            .title = signature.substr(0, signature.find(':')),
                                            .detail = fmt::format("{}: {}\nreplay: {}", told, signature, again)});
        if (account.verdict.exit != Exit::harness)
            account.verdict.exit = result.error.empty() ? Exit::violated : Exit::harness;
    }
    return account;
}

/// Where not all of the suite was run, or nothing of it fails.
void conclude_on(const Suite& suite, const ReplayArgs& args, bool interrupted, Account& account) {
    const std::size_t failing = account.verdict.problems.size();
    std::string& sentence = account.verdict.sentence;
    sentence = failing == 0 ? fmt::format("none of {} failures is there any more", suite.plan.size())
                            : fmt::format("{} of {} failures {} still there", failing, suite.plan.size(),
                                          failing == 1 ? "is" : "are");
    if (suite.plan.empty()) {
        account.verdict.exit = Exit::nothing_proved;
        sentence = fmt::format("there is no failure file in {}", fmt::join(args.paths, " or "));
    }
    if (!interrupted) return;
    account.verdict.exit = Exit::interrupted;
    sentence = fmt::format("{} of {} runs were made to their end", account.report.results.size(), suite.plan.size());
    account.report.incomplete = "interrupted: " + sentence;
}

void write_junit(const ReplayArgs& args, Account& account, const Environment& environment) {
    if (args.junit.empty()) return;
    const auto written = reports::write_atomically(args.junit, reports::junit_xml(account.report, false));
    if (written) return;
    environment.err << "lockstep: " << written.error() << '\n';
    if (account.verdict.exit != Exit::passed) return;
    account.verdict.exit = Exit::usage;
    account.verdict.sentence += ", and not every file could be written";
}

}  // namespace

Exit replay_suite(const ReplayArgs& args, const Environment& environment) {
    if (args.seed || !args.overrides.empty() || !args.without.empty()) {
        environment.err
            << "lockstep: --seed, --set and --without are for one file: failures are run as they were recorded\n";
        return Exit::usage;
    }
    const auto suite = suite_of(args, environment);
    if (!suite) return Exit::usage;
    std::ostream& out = talk_of(args.json, environment);
    CrashGuard crash("replay", {args.junit, args.json ? "-" : "", environment.step_summary}, environment);
    if (!crash.begin()) return Exit::usage;
    Progress progress(environment.err, environment.watcher, suite->plan.size());
    SweepOptions options;
    options.threads = threads_of({.threads = args.threads}, environment);
    options.run.stop = environment.stop;
    options.on_start = [&](const PlannedRun& run) {
        crash.started(suite->scenarios[run.scenario].name, run.seed, again_of(*suite, run.scenario));
    };
    options.on_result = [&](const PlannedRun& run, const RunResult& result) {
        progress.advance(!result.passed && !result.interrupted);
        if (!result.interrupted)
            crash.add(record_of(suite->scenarios[run.scenario], result, again_of(*suite, run.scenario)));
    };
    const SweepOutcome outcome = sweep(suite->scenarios, suite->plan, environment.runner, options);
    progress.clear();

    Account account = tell(*suite, outcome, out, environment);
    conclude_on(*suite, args, outcome.interrupted, account);
    write_junit(args, account, environment);
    if (args.json) print_document(document_of(*suite, outcome, account.verdict.exit, environment), environment);
    return conclude(account.verdict, out, environment);
}

}  // namespace lockstep::sim::cli
