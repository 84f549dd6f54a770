#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "reports/atomic_file.h"
#include "reports/run_report.h"
#include "sim/cli/build_name.h"
#include "sim/cli/commands.h"
#include "sim/cli/digests.h"
#include "sim/cli/disturbance.h"
#include "sim/cli/first_difference.h"
#include "sim/cli/json_output.h"
#include "sim/cli/progress.h"
#include "sim/cli/selection.h"
#include "sim/cli/verdict.h"

namespace lockstep::sim::cli {

namespace {

/// What two runs of one seed tell differently; empty when they are the same. A part of the verdict can differ although the
/// trace does not: it is not all taken from the trace.
std::string difference(const RunResult& a, const RunResult& b) {
    if (a.digest != b.digest || a.events != b.events) return "digest";
    if (a.virtual_ms != b.virtual_ms) return "end of the run";
    if (a.states != b.states) return "states of the jobs";
    if (a.metrics != b.metrics) return "metrics";
    if (a.exercised != b.exercised) return "counts of the invariants";
    if (a.reached != b.reached) return "marks that were reached";
    if (a.passed != b.passed || a.violations.size() != b.violations.size()) return "verdict";
    return {};
}

/// All runs of the plan, once.
class Rounds {
public:
    Rounds(const Selection& selection, const VerifyArgs& args, const Environment& environment, const CrashGuard& crash)
        : selection_(selection), environment_(environment) {
        options_.threads = threads_of(args.selection, environment);
        options_.run.stop = environment.stop;
        note_ = [&selection, &args, &environment, &crash](const PlannedRun& planned) {
            const Scenario& scenario = selection.scenarios[planned.scenario];
            crash.started(
                scenario.name, planned.seed,
                replay_command(scenario, planned.seed, args.selection, build_name(environment), "verify-determinism"));
        };
    }

    SweepOutcome first(Progress& progress) { return round(selection_.plan, nullptr, progress); }
    /// In another order and with other memory; the results in the order of the first round.
    SweepOutcome second(Progress& progress) {
        Disturbance disturbance;
        std::vector<PlannedRun> backwards(selection_.plan.rbegin(), selection_.plan.rend());
        SweepOutcome outcome = round(backwards, &disturbance, progress);
        std::ranges::reverse(outcome.results);
        std::ranges::reverse(outcome.runs);
        return outcome;
    }

private:
    SweepOutcome round(const std::vector<PlannedRun>& plan, Disturbance* disturbance, Progress& progress) {
        options_.on_start = [&, disturbance](const PlannedRun& run) {
            note_(run);
            if (disturbance != nullptr) disturbance->before_run(run.seed);
        };
        options_.on_result = [&progress](const PlannedRun&, const RunResult&) { progress.advance(false); };
        return sweep(selection_.scenarios, plan, environment_.runner, options_);
    }

    const Selection& selection_;
    const Environment& environment_;
    SweepOptions options_;
    std::function<void(const PlannedRun&)> note_;
};

class Verifier {
public:
    Verifier(const Selection& selection, const VerifyArgs& args, const Environment& environment)
        : selection_(selection), args_(args), environment_(environment), out_(talk_of(args.json, environment)) {}

    /// Compares the two runs of each pair; `second` is null where only another build has made second ones.
    void compare_rounds(const SweepOutcome& first, const SweepOutcome* second) {
        for (std::size_t i = 0; i < first.results.size(); ++i) {
            const RunResult& a = first.results[i];
            const RunResult& b = second == nullptr ? a : second->results[i];
            if (failed_itself(a) || (second != nullptr && failed_itself(b))) continue;
            scenarios_.push_back(&selection_.scenarios[first.runs[i].scenario]);
            const std::string different = difference(a, b);
            if (!different.empty()) report(a, b, different, *scenarios_.back());
            entries_.push_back({a.file, a.name, a.seed, a.digest, a.events});
        }
    }

    /// Compares with what another build wrote. By name and seed: the other may have run in another folder.
    void compare_with(const std::vector<DigestEntry>& reference) {
        std::map<std::pair<std::string, std::uint64_t>, const DigestEntry*> by_run;
        for (const DigestEntry& entry : reference) by_run[{entry.name, entry.seed}] = &entry;
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            const DigestEntry& entry = entries_[i];
            const auto found = by_run.find({entry.name, entry.seed});
            if (found == by_run.end()) {
                out_ << fmt::format("not in {}: {} seed {}\n", args_.against, entry.name, entry.seed);
                unmatched_.push_back({{"name", entry.name}, {"seed", entry.seed}});
                continue;
            }
            const DigestEntry& other = *found->second;
            if (other.digest == entry.digest && other.events == entry.events) continue;
            const std::string detail = how_to_look(*scenarios_[i], entry.seed);
            out_ << fmt::format("DIFFERENT {} seed {}: {} after {} events here, {} after {} events in {}\n", entry.name,
                                entry.seed, reports::digest_text(entry.digest), entry.events,
                                reports::digest_text(other.digest), other.events, args_.against)
                 << detail;
            differs(*scenarios_[i], entry.seed,
                    {{"what", "digest"},
                     {"against", args_.against},
                     {"first", digest_json(entry.digest, entry.events)},
                     {"second", digest_json(other.digest, other.events)},
                     {"detail", detail}});
        }
    }

    [[nodiscard]] Exit exit() const {
        if (!broken_.empty()) return Exit::harness;
        if (!differences_.empty()) return Exit::not_deterministic;
        // A comparison with less than everything would be believed for more than it is.
        return unmatched_.empty() ? Exit::passed : Exit::usage;
    }

    [[nodiscard]] Verdict verdict(Exit exit) const {
        Verdict verdict{.command = "verify-determinism", .exit = exit, .sentence = {}, .again = again_};
        verdict.problems = broken_;
        verdict.problems.insert(verdict.problems.end(), different_.begin(), different_.end());
        if (!differences_.empty())
            verdict.sentence = fmt::format("{} of {} runs differ", differences_.size(), entries_.size());
        else
            verdict.sentence = fmt::format("{} run{} the same digest every time", entries_.size(),
                                           entries_.size() == 1 ? " gives" : "s give");
        if (!broken_.empty()) verdict.sentence += fmt::format(", in {} the harness itself failed", broken_.size());
        if (!unmatched_.empty())
            verdict.sentence += fmt::format(", {} are not in {}", unmatched_.size(), args_.against);
        return verdict;
    }

    [[nodiscard]] nlohmann::json document(Exit exit) const {
        using nlohmann::json;
        json out = document_head("verify-determinism", exit, environment_);
        json digests = json::array();
        for (const DigestEntry& entry : entries_) {
            json one = digest_json(entry.digest, entry.events);
            one.update({{"file", entry.file}, {"name", entry.name}, {"seed", entry.seed}});
            digests.push_back(std::move(one));
        }
        out.update({{"runs", entries_.size()},
                    {"digests", std::move(digests)},
                    {"differences", differences_},
                    {"against", args_.against},
                    {"unmatched", unmatched_}});
        return out;
    }

    [[nodiscard]] const std::vector<DigestEntry>& entries() const { return entries_; }

private:
    bool failed_itself(const RunResult& result) {
        if (result.error.empty()) return false;
        environment_.err << fmt::format("{} seed {}: the harness itself failed: {}\n", result.name, result.seed,
                                        result.error);
        broken_.push_back({.file = result.file,
                           .title = fmt::format("{} seed {}: the harness itself failed", result.name, result.seed),
                           .detail = result.error});
        return true;
    }

    static nlohmann::json digest_json(std::uint64_t digest, std::uint64_t events) {
        return {{"digest", reports::digest_text(digest)}, {"events", events}};
    }

    void differs(const Scenario& scenario, std::uint64_t seed, nlohmann::json what) {
        const std::string replay = line_of(scenario, seed);
        if (again_.empty()) again_ = replay;
        different_.push_back({.file = scenario.file,
                              .title = fmt::format("{} seed {}: not deterministic", scenario.name, seed),
                              .detail = fmt::format("another {}\n{}replay: {}", what["what"].get<std::string>(),
                                                    what["detail"].get<std::string>(), replay)});
        what.update({{"file", scenario.file}, {"name", scenario.name}, {"seed", seed}, {"replay", replay}});
        differences_.push_back(std::move(what));
    }

    [[nodiscard]] std::string line_of(const Scenario& scenario, std::uint64_t seed) const {
        return replay_command(scenario, seed, args_.selection, build_name(environment_), "verify-determinism");
    }

    void report(const RunResult& a, const RunResult& b, const std::string& different, const Scenario& scenario) {
        std::string detail;
        if (different != "digest") {
            out_ << fmt::format("DIFFERENT {} seed {}: the same {} events, but another result: {}\n", a.name, a.seed,
                                a.events, different);
        } else {
            detail = first_difference(again(scenario, a.seed));
            out_ << fmt::format("DIFFERENT {} seed {}: {} after {} events, then {} after {} events\n", a.name, a.seed,
                                reports::digest_text(a.digest), a.events, reports::digest_text(b.digest), b.events)
                 << detail;
        }
        out_ << fmt::format("  replay: {}\n", line_of(scenario, a.seed));
        differs(scenario, a.seed,
                {{"what", different},
                 {"against", ""},
                 {"first", digest_json(a.digest, a.events)},
                 {"second", digest_json(b.digest, b.events)},
                 {"detail", detail}});
    }

    /// As the two rounds make it, the second one with other memory.
    RunAgain again(const Scenario& scenario, std::uint64_t seed) const {
        return [this, &scenario, seed](bool first, const Recording& recording) {
            std::optional<Disturbance> disturbance;
            if (!first) disturbance.emplace().before_run(seed);
            return environment_.runner(scenario, seed, {.record = recording, .stop = environment_.stop});
        };
    }

    [[nodiscard]] std::string how_to_look(const Scenario& scenario, std::uint64_t seed) const {
        return fmt::format(
            "  to see where they part, make a trace in each build and compare the two\n    {} --trace trace.jsonl\n",
            replay_command(scenario, seed, args_.selection, build_name(environment_)));
    }

    const Selection& selection_;
    const VerifyArgs& args_;
    const Environment& environment_;
    std::vector<const Scenario*> scenarios_;  // of each entry
    std::vector<DigestEntry> entries_;
    std::ostream& out_;
    nlohmann::json differences_ = nlohmann::json::array();
    nlohmann::json unmatched_ = nlohmann::json::array();
    std::vector<reports::Annotation> different_;
    std::vector<reports::Annotation> broken_;  // runs in which the harness itself failed
    std::string again_;                        // what shows the first difference
};

/// What `--against` names; no entries without it, nothing when it cannot be read.
std::optional<std::vector<DigestEntry>> reference_of(const VerifyArgs& args, const Environment& environment) {
    if (args.against.empty()) return std::vector<DigestEntry>{};
    std::ifstream in(args.against, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    if (!in.is_open()) {
        environment.err << fmt::format("lockstep: cannot read {}\n", args.against);
        return {};
    }
    auto parsed = parse_digests(text);
    if (parsed) return std::move(*parsed);
    environment.err << fmt::format("lockstep: {}: {}\n", args.against, parsed.error());
    return {};
}

}  // namespace

Exit verify_command(const VerifyArgs& args, const Environment& environment) {
    if (args.once && args.write.empty() && args.against.empty()) {
        environment.err << "lockstep: --once: one run alone shows nothing; add --write or --against\n";
        return Exit::usage;
    }
    const auto reference = reference_of(args, environment);
    if (!reference) return Exit::usage;
    const auto selection = select(args.selection, "verify-determinism", environment);
    if (!selection) return Exit::usage;
    if (selection->plan.empty()) {
        if (args.json)
            print_document(document_head("verify-determinism", Exit::nothing_proved, environment), environment);
        return conclude({.command = "verify-determinism",
                         .exit = Exit::nothing_proved,
                         .sentence = "nothing was selected",
                         .again = {}},
                        environment.err, environment);
    }
    const std::size_t runs = (args.once ? 1 : 2) * selection->plan.size();
    Progress progress(environment.err, environment.watcher, runs);
    CrashGuard crash("verify-determinism", spoken_reports(args.json, environment), environment);
    if (!crash.begin()) return Exit::usage;
    Rounds rounds(*selection, args, environment, crash);
    // The other build's runs were made in the order and with the memory of the first ones.
    const bool is_second = args.once && !args.against.empty();
    const SweepOutcome first = is_second ? rounds.second(progress) : rounds.first(progress);
    SweepOutcome second;
    if (!first.interrupted && !args.once) second = rounds.second(progress);
    progress.clear();
    if (first.interrupted || second.interrupted) {
        if (args.json) print_document(document_head("verify-determinism", Exit::interrupted, environment), environment);
        const std::string made =
            fmt::format("{} of {} runs were made", first.results.size() + second.results.size(), runs);
        return conclude({.command = "verify-determinism", .exit = Exit::interrupted, .sentence = made, .again = {}},
                        talk_of(args.json, environment), environment);
    }

    Verifier verifier(*selection, args, environment);
    verifier.compare_rounds(first, args.once ? nullptr : &second);
    if (!args.against.empty()) verifier.compare_with(*reference);
    Exit exit = verifier.exit();
    const auto end = [&](Exit with) {
        if (args.json) print_document(verifier.document(with), environment);
        return conclude(verifier.verdict(with), talk_of(args.json, environment), environment);
    };
    if (args.write.empty()) return end(exit);
    const auto written =
        reports::write_atomically(args.write, digests_json(verifier.entries(), build_name(environment)));
    if (!written) environment.err << "lockstep: " << written.error() << '\n';
    if (exit == Exit::passed && !written) exit = Exit::usage;
    return end(exit);
}

}  // namespace lockstep::sim::cli
