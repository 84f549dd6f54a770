#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <ostream>

#include "reports/atomic_file.h"
#include "reports/run_report.h"
#include "sim/cli/commands.h"
#include "sim/cli/digests.h"
#include "sim/cli/progress.h"
#include "sim/cli/selection.h"

namespace lockstep::sim::cli {

namespace {

/// Each run twice, one right after the other in the plan.
std::vector<PlannedRun> doubled(const std::vector<PlannedRun>& plan) {
    std::vector<PlannedRun> twice;
    for (const PlannedRun& run : plan) twice.insert(twice.end(), {run, run});
    return twice;
}

bool same(const RunResult& a, const RunResult& b) { return a.digest == b.digest && a.events == b.events; }

/// Where two runs part, as near as their checkpoints tell. Runs both once more to have some.
std::string first_difference(const Scenario& scenario, std::uint64_t seed, const Environment& environment) {
    RunOptions options;
    options.checkpoints = true;
    options.stop = environment.stop;
    const RunResult a = environment.runner(scenario, seed, options);
    const RunResult b = environment.runner(scenario, seed, options);
    if (same(a, b)) return "the same again in two further runs: the difference is rare";
    std::uint64_t agreed = 0;
    for (std::size_t i = 0; i < std::min(a.checkpoints.size(), b.checkpoints.size()); ++i) {
        if (a.checkpoints[i] != b.checkpoints[i])
            return fmt::format("the first difference is after event {} and not after event {}", agreed,
                               a.checkpoints[i].first);
        agreed = a.checkpoints[i].first;
    }
    return fmt::format("the first difference is after event {}", agreed);
}

class Verifier {
public:
    Verifier(const Selection& selection, const VerifyArgs& args, const Environment& environment)
        : selection_(selection), args_(args), environment_(environment) {}

    /// Compares the two runs of each pair.
    void compare_pairs(const SweepOutcome& outcome) {
        for (std::size_t i = 0; i + 1 < outcome.results.size(); i += 2) {
            const RunResult& first = outcome.results[i];
            const RunResult& second = outcome.results[i + 1];
            const Scenario& scenario = selection_.scenarios[outcome.runs[i].scenario];
            for (const RunResult* result : {&first, &second}) {
                if (result->error.empty()) continue;
                environment_.err << fmt::format("{} seed {}: the harness itself failed: {}\n", result->name,
                                                result->seed, result->error);
                broken_ = true;
            }
            if (broken_ && (!first.error.empty() || !second.error.empty())) continue;
            entries_.push_back({first.file, first.name, first.seed, first.digest, first.events});
            if (same(first, second)) continue;
            ++differences_;
            environment_.out << fmt::format(
                "DIFFERENT {} seed {}: {} after {} events, then {} after {} events\n  {}\n  replay: {}\n", first.name,
                first.seed, reports::digest_text(first.digest), first.events, reports::digest_text(second.digest),
                second.events, first_difference(scenario, first.seed, environment_),
                replay_command(scenario, first.seed, args_.selection));
        }
    }

    /// Compares with what another build wrote. By name and seed: the other may have run in another folder.
    void compare_with(const std::vector<DigestEntry>& reference) {
        std::map<std::pair<std::string, std::uint64_t>, const DigestEntry*> by_run;
        for (const DigestEntry& entry : reference) by_run[{entry.name, entry.seed}] = &entry;
        for (const DigestEntry& entry : entries_) {
            const auto found = by_run.find({entry.name, entry.seed});
            if (found == by_run.end()) {
                environment_.out << fmt::format("not in {}: {} seed {}\n", args_.against, entry.name, entry.seed);
                ++unmatched_;
                continue;
            }
            const DigestEntry& other = *found->second;
            if (other.digest == entry.digest && other.events == entry.events) continue;
            ++differences_;
            environment_.out << fmt::format("DIFFERENT {} seed {}: {} after {} events here, {} after {} events in {}\n",
                                            entry.name, entry.seed, reports::digest_text(entry.digest), entry.events,
                                            reports::digest_text(other.digest), other.events, args_.against);
        }
    }

    Exit conclude() const {
        if (differences_ > 0)
            environment_.out << fmt::format("{} of {} runs differ\n", differences_, entries_.size());
        else
            environment_.out << fmt::format("{} run{} the same digest every time\n", entries_.size(),
                                            entries_.size() == 1 ? " gives" : "s give");
        if (broken_) return Exit::harness;
        if (differences_ > 0) return Exit::not_deterministic;
        // A comparison with less than everything would be believed for more than it is.
        return unmatched_ > 0 ? Exit::usage : Exit::passed;
    }

    [[nodiscard]] const std::vector<DigestEntry>& entries() const { return entries_; }

private:
    const Selection& selection_;
    const VerifyArgs& args_;
    const Environment& environment_;
    std::vector<DigestEntry> entries_;
    std::size_t differences_ = 0;
    std::size_t unmatched_ = 0;
    bool broken_ = false;
};

/// What `--against` names; an empty list without it, nothing when it cannot be read.
std::optional<std::vector<DigestEntry>> reference_of(const VerifyArgs& args, const Environment& environment) {
    if (args.against.empty()) return std::vector<DigestEntry>{};
    std::ifstream in(args.against, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    if (!in.is_open()) {
        environment.err << fmt::format("lockstep: cannot read {}\n", args.against);
        return {};
    }
    auto parsed = parse_digests(text);
    if (parsed) return *parsed;
    environment.err << fmt::format("lockstep: {}: {}\n", args.against, parsed.error());
    return {};
}

}  // namespace

Exit verify_command(const VerifyArgs& args, const Environment& environment) {
    const auto reference = reference_of(args, environment);
    if (!reference) return Exit::usage;
    const auto selection = select(args.selection, environment);
    if (!selection) return Exit::usage;
    if (selection->plan.empty()) {
        environment.err << "lockstep: nothing was selected\n";
        return Exit::nothing_proved;
    }

    const auto plan = doubled(selection->plan);
    Progress progress(environment.err, environment.progress, plan.size());
    SweepOptions options;
    options.threads = threads_of(args.selection, environment);
    options.run.stop = environment.stop;
    options.on_start = [&](const PlannedRun& run) {
        if (environment.note_run)
            environment.note_run(replay_command(selection->scenarios[run.scenario], run.seed, args.selection));
    };
    options.on_result = [&](const PlannedRun&, const RunResult&) { progress.advance(false); };
    const SweepOutcome outcome = sweep(selection->scenarios, plan, environment.runner, options);
    progress.clear();
    if (outcome.interrupted) {
        environment.err << fmt::format("Interrupted after {} of {} runs.\n", outcome.results.size(), plan.size());
        return Exit::interrupted;
    }

    Verifier verifier(*selection, args, environment);
    verifier.compare_pairs(outcome);
    if (!args.against.empty()) verifier.compare_with(*reference);
    const Exit exit = verifier.conclude();
    if (args.write.empty()) return exit;
    const auto written = reports::write_atomically(args.write, digests_json(verifier.entries()));
    if (!written) environment.err << "lockstep: " << written.error() << '\n';
    return exit == Exit::passed && !written ? Exit::usage : exit;
}

}  // namespace lockstep::sim::cli
