#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ostream>

#include "reports/atomic_file.h"
#include "reports/compare/builds.h"
#include "reports/compare/comparison_csv.h"
#include "reports/compare/comparison_html.h"
#include "reports/compare/comparison_json.h"
#include "reports/compare/comparison_junit.h"
#include "reports/compare/comparison_markdown.h"
#include "reports/compare/gate.h"
#include "reports/compare/merge.h"
#include "reports/compare/words.h"
#include "sim/cli/commands.h"
#include "sim/cli/progress.h"
#include "sim/cli/selection.h"
#include "sim/cli/version.h"
#include "sim/compare/compare.h"
#include "sim/scenario/text_file.h"

namespace lockstep::sim::cli {

namespace {

using reports::Analysis;
using reports::Comparison;

/// What was asked for cannot be done; `why` has been said.
using Refused = Exit;

class Comparing {
public:
    Comparing(const CompareArgs& args, const Environment& environment) : args_(args), environment_(environment) {}

    Exit run() {
        auto made = args_.merge.empty() ? measured() : merged();
        if (!made) return made.error();
        made->version = kVersion;
        made->commit = environment_.commit;
        made->dirty = environment_.dirty;
        if (!args_.against.empty()) {
            made = with_other_build(*made);
            if (!made) return made.error();
        }
        const Analysis analysis = reports::analyse(*made);
        if (args_.json != "-") tell(*made, analysis);
        const bool written = write(*made, analysis);
        const Exit exit = exit_of(*made);
        if (exit != Exit::passed) return exit;
        if (!args_.baseline.empty()) return held_against_baseline(*made);
        return written ? Exit::passed : Exit::usage;
    }

private:
    tl::unexpected<Refused> refuse(const std::string& why) const {
        environment_.err << "lockstep: " << why << '\n';
        return tl::make_unexpected(Exit::usage);
    }
    tl::unexpected<Refused> refuse(const std::vector<LoadError>& errors) const {
        for (const LoadError& error : errors) environment_.err << to_string(error) << '\n';
        return tl::make_unexpected(Exit::usage);
    }

    tl::expected<ComparisonPlan, Refused> plan() const {
        if (args_.file.empty()) return refuse("compare: name a comparison file, or a scenario with --vary");
        ComparisonPlan plan;
        if (is_comparison_file(args_.file) && args_.vary.empty()) {
            auto loaded = load_comparison(args_.file);
            if (!loaded) return refuse(loaded.error());
            plan = std::move(*loaded);
        } else {
            auto quick = quick_comparison(args_.file, args_.vary);
            if (!quick) return refuse(quick.error());
            plan = std::move(*quick);
        }
        if (args_.seeds > 0) plan.seeds = args_.seeds;
        if (args_.seed) plan.first_seed = *args_.seed;
        return plan;
    }

    [[nodiscard]] tl::expected<Comparison, std::string> earlier(const std::string& file) const {
        const auto text = text_of_file(file);
        if (!text) return tl::make_unexpected(fmt::format("{}: expected a file that can be read", file));
        return reports::read_comparison(*text, file);
    }

    tl::expected<Comparison, Refused> merged() const {
        if (!args_.file.empty()) return refuse("compare: --merge takes the place of FILE");
        if (!args_.against.empty()) return refuse("compare: --merge runs nothing; give --against to each of the parts");
        std::vector<Comparison> parts;
        for (const std::string& file : args_.merge) {
            auto part = earlier(file);
            if (!part) return refuse(part.error());
            parts.push_back(std::move(*part));
        }
        auto whole = reports::merge(std::move(parts));
        if (!whole) return refuse(whole.error());
        return std::move(*whole);
    }

    tl::expected<Comparison, Refused> measured() {
        const auto plan = this->plan();
        if (!plan) return tl::make_unexpected(plan.error());
        const auto worlds = load_worlds(*plan);
        if (!worlds) return refuse(worlds.error());
        if (args_.resume && (args_.json.empty() || args_.json == "-"))
            return refuse("compare: --resume goes on from the file of --json; name one");
        if (args_.resume && !args_.against.empty())
            return refuse("compare: --resume goes on with one build; leave --against away");

        std::optional<Comparison> before;
        if (args_.resume && text_of_file(args_.json)) {
            auto read = earlier(args_.json);
            if (!read) return refuse(read.error());
            before = std::move(*read);
        }
        CompareOptions options = this->options(before);
        Progress progress(environment_.err, environment_.progress, count_runs(*plan, *worlds, options));
        options.on_result = [&](const PlannedRun&, const RunResult& result) {
            progress.advance(!result.passed && !result.interrupted);
        };
        options.on_start = [&](const PlannedRun& run) {
            if (environment_.note_run) environment_.note_run(replay_of(*plan, *worlds, run));
        };
        Comparison made = compare(*plan, *worlds, environment_.runner, options);
        progress.clear();
        made.command = command();
        if (!before) return made;
        const bool complete = made.complete;
        made.complete = true;  // of what is missing, this one alone knows
        before->complete = true;
        std::vector<Comparison> parts;
        parts.push_back(std::move(*before));
        parts.push_back(std::move(made));
        auto whole = reports::merge(std::move(parts));
        if (!whole) return refuse(fmt::format("--resume: {}", whole.error()));
        whole->complete = complete;
        return std::move(*whole);
    }

    /// The same plan, run by another build.
    tl::expected<Comparison, Refused> with_other_build(const Comparison& ours) const {
        std::vector<std::string> args{"compare", args_.file};
        for (const std::string& assignment : args_.vary) args.insert(args.end(), {"--vary", assignment});
        if (args_.seeds > 0) args.insert(args.end(), {"--seeds", std::to_string(args_.seeds)});
        if (args_.seed) args.insert(args.end(), {"--seed", std::to_string(*args_.seed)});
        if (args_.of > 1) args.insert(args.end(), {"--shard", fmt::format("{}/{}", args_.shard + 1, args_.of)});
        if (args_.threads > 0) args.insert(args.end(), {"-j", std::to_string(args_.threads)});
        args.emplace_back("--json");  // to its standard output
        const auto answer = environment_.ask_build(args_.against, args);
        if (!answer) return refuse(fmt::format("--against: {}", answer.error()));
        const auto exit = static_cast<Exit>(answer->exit_code);
        if (exit == Exit::interrupted) return tl::make_unexpected(exit);
        if (exit != Exit::passed && exit != Exit::violated)
            return refuse(
                fmt::format("--against: {} cannot make this comparison (exit code {}); an older build may "
                            "not know it, or not the settings",
                            args_.against, answer->exit_code));
        const auto theirs = reports::read_comparison(answer->text, args_.against);
        if (!theirs) return refuse(fmt::format("--against: {}", theirs.error()));
        auto joined = reports::join_builds(*theirs, ours);
        if (!joined) return refuse(fmt::format("--against {}: {}", args_.against, joined.error()));
        return std::move(*joined);
    }

    [[nodiscard]] CompareOptions options(const std::optional<Comparison>& before) const {
        CompareOptions options;
        options.threads = args_.threads == 0 ? std::max(1U, environment_.processors) : args_.threads;
        options.shard = args_.shard;
        options.of = args_.of;
        options.stop = environment_.stop;
        if (before)
            for (const reports::ComparedRun& run : before->runs) options.done.insert({run.scenario, run.seed});
        return options;
    }

    [[nodiscard]] static std::string replay_of(const ComparisonPlan& plan, const ComparedWorlds& worlds,
                                               const PlannedRun& run) {
        SelectionArgs args;
        args.overrides = plan.variants[run.scenario % plan.variants.size()].overrides();
        return replay_command(worlds.worlds[run.scenario], run.seed, args);
    }

    /// What makes exactly this comparison again.
    [[nodiscard]] std::string command() const {
        std::string line = "lockstep compare " + shell_quoted(args_.file);
        for (const std::string& assignment : args_.vary) line += " --vary " + shell_quoted(assignment);
        if (args_.seeds > 0) line += fmt::format(" --seeds {}", args_.seeds);
        if (args_.seed) line += fmt::format(" --seed {}", *args_.seed);
        if (!args_.against.empty()) line += " --against " + shell_quoted(args_.against);
        return line;
    }

    void tell(const Comparison& made, const Analysis& analysis) const {
        std::ostream& out = environment_.out;
        out << made.title << "\n" << made.question << "\n\n";
        out << fmt::format("{}, {} and {} of each: {}.\n\n", reports::counted(made.variants.size(), "variant"),
                           reports::counted(made.scenarios.size(), "scenario"),
                           reports::counted(made.seeds.size(), "seed"), reports::counted(made.runs.size(), "run"));
        std::size_t width = 0;
        for (const reports::ComparedVariant& variant : made.variants) width = std::max(width, variant.name.size());
        for (std::size_t m = 0; m < made.measures.size(); ++m) {
            const reports::Measure& measure = made.measures[m];
            if (!shown(made, measure.name)) continue;
            out << measure.name << "\n";
            for (std::size_t v = 0; v < made.variants.size(); ++v) {
                out << fmt::format("  {:{}} {:>12}", made.variants[v].name, width,
                                   reports::quantity_text(analysis.means[v][m], measure.unit));
                if (v > 0) out << "   " << reports::effect_words(analysis.effects[v][m], made.criteria.threshold);
                out << '\n';
            }
        }
        for (const std::string& sentence : made.not_shared) out << "Not shared: " << sentence << ".\n";
        if (!made.complete) out << "Interrupted: the figures are of the seeds that were run in every variant.\n";
        out << '\n';
        for (const std::string& sentence : analysis.verdict.sentences) out << sentence << '\n';
        if (!made.command.empty()) out << "Again: " << made.command << '\n';
    }

    /// On a terminal: what better means, or the first measures of the table where nobody has said.
    [[nodiscard]] static bool shown(const Comparison& made, const std::string& measure) {
        const reports::Criteria& criteria = made.criteria;
        return std::ranges::find(criteria.objectives, measure) != criteria.objectives.end() ||
               criteria.limits.contains(measure);
    }

    bool write(const Comparison& made, const Analysis& analysis) const {
        bool written = true;
        const auto write = [&](const std::string& path, auto render) {
            if (path.empty()) return;
            if (path == "-") {
                environment_.out << render();
                return;
            }
            if (const auto done = reports::write_atomically(path, render()); !done) {
                environment_.err << "lockstep: " << done.error() << '\n';
                written = false;
            }
        };
        write(args_.json, [&] { return reports::comparison_json(made, analysis); });
        write(args_.html, [&] { return reports::comparison_html(made, analysis); });
        write(args_.markdown, [&] { return reports::comparison_markdown(made, analysis); });
        write(args_.csv, [&] { return reports::comparison_csv(made); });
        if (args_.baseline.empty()) write(args_.junit, [&] { return reports::comparison_junit(made, analysis); });
        return written;
    }

    [[nodiscard]] Exit exit_of(const Comparison& made) const {
        if (!made.complete) return Exit::interrupted;
        if (made.runs.empty()) {
            environment_.err << "lockstep: nothing was compared\n";
            return Exit::nothing_proved;
        }
        for (const reports::ComparedRun& run : made.runs) {
            if (run.passed) continue;
            environment_.err << fmt::format("lockstep: {} under seed {} with {}: {}\n",
                                            made.scenarios[run.scenario].file, run.seed,
                                            made.variants[run.variant].name, run.problem);
            return Exit::violated;
        }
        return Exit::passed;
    }

    [[nodiscard]] Exit held_against_baseline(const Comparison& made) const {
        const auto baseline = earlier(args_.baseline);
        if (!baseline) {
            environment_.err << "lockstep: " << baseline.error() << '\n';
            return Exit::usage;
        }
        const auto result = reports::gate(*baseline, made, reports::thresholds_of(made.criteria));
        (args_.json == "-" ? environment_.err : environment_.out) << reports::gate_text(result);
        if (!args_.junit.empty()) {
            if (const auto done = reports::write_atomically(args_.junit, reports::gate_junit(result)); !done) {
                environment_.err << "lockstep: " << done.error() << '\n';
                return Exit::usage;
            }
        }
        return static_cast<Exit>(result.exit_code());
    }

    const CompareArgs& args_;
    const Environment& environment_;
};

}  // namespace

Exit compare_command(const CompareArgs& args, const Environment& environment) {
    return Comparing(args, environment).run();
}

}  // namespace lockstep::sim::cli
