#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <utility>

#include "engine/config/nearest.h"
#include "reports/atomic_file.h"
#include "reports/compare/builds.h"
#include "reports/compare/comparison_csv.h"
#include "reports/compare/comparison_html.h"
#include "reports/compare/comparison_json.h"
#include "reports/compare/comparison_junit.h"
#include "reports/compare/comparison_markdown.h"
#include "reports/compare/gate.h"
#include "reports/compare/merge.h"
#include "reports/compare/trend.h"
#include "reports/compare/words.h"
#include "sim/cli/build_name.h"
#include "sim/cli/commands.h"
#include "sim/cli/progress.h"
#include "sim/cli/selection.h"
#include "sim/cli/verdict.h"
#include "sim/cli/version.h"
#include "sim/compare/compare.h"
#include "sim/measure/catalogue.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/text_file.h"

namespace lockstep::sim::cli {

namespace {

namespace fs = std::filesystem;
using reports::Analysis;
using reports::Comparison;

/// As many as tell commits apart.
constexpr std::size_t kCommitDigits = 12;

/// What was asked for cannot be done; `why` has been said.
using Refused = Exit;

class Comparing {
public:
    Comparing(const CompareArgs& args, const Environment& environment) : args_(args), environment_(environment) {}

    Exit run() {
        const auto kept = history();
        if (!kept) return kept.error();
        if (!args_.baseline.empty()) {
            if (auto baseline = earlier(args_.baseline); !baseline)
                return refuse(baseline.error()).value();
            else
                baseline_ = std::move(*baseline);
        }
        auto made = args_.merge.empty() ? measured() : merged();
        if (!made) return made.error();
        made->version = kVersion;
        made->commit = environment_.commit;
        made->dirty = environment_.dirty;
        if (!args_.against.empty()) {
            made = with_other_build(*made);
            if (!made) return made.error();
        }
        // A folder may be shared by several comparisons.
        for (const auto& [label, earlier] : *kept)
            if (earlier.title == made->title) made->history.push_back(earlier_result(earlier, *made, label));
        const Analysis analysis = reports::analyse(*made);
        if (args_.json != "-") tell(*made, analysis);
        const bool written = write(*made, analysis) && keep(*made, analysis);
        Verdict verdict{.command = "compare", .exit = exit_of(*made), .sentence = {}, .again = {}, .problems = {}};
        reports::GateResult held;
        if (verdict.exit == Exit::passed && !args_.baseline.empty()) {
            verdict.exit = held_against_baseline(*made, held);
        } else if (verdict.exit == Exit::passed && !written) {
            verdict.exit = Exit::usage;
        }
        if (!args_.baseline.empty() && held.lines.empty() && held.problem.empty()) (void)write_junit(*made, analysis);
        return concluded(std::move(verdict), *made, analysis, held);
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
        if (args_.vary.empty() && is_comparison_file(args_.file)) {
            auto loaded = load_comparison(args_.file);
            if (!loaded) return refuse(loaded.error());
            plan = std::move(*loaded);
        } else {
            auto quick = quick_comparison(args_.file, args_.vary);
            if (!quick) return refuse(quick.error());
            plan = std::move(*quick);
        }
        // Without any settings it measures; one alone is held against another build, or against what was kept.
        const bool has_other = !args_.against.empty() || !args_.baseline.empty() || !args_.history.empty();
        if (plan.variants.size() == 1 && !plan.variants[0].settings.empty() && !has_other)
            return refuse(fmt::format("{}: expected at least two variants to hold against each other, got \"{}\"",
                                      args_.vary.empty() ? args_.file : "--vary", plan.variants[0].name));
        for (std::size_t i = 1; i < plan.variants.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (plan.variants[i].settings == plan.variants[j].settings)
                    return refuse(fmt::format("{}: expected variants that differ, got \"{}\" twice",
                                              args_.vary.empty() ? args_.file : "--vary", plan.variants[i].name));
        if (args_.seeds > 0) plan.seeds = args_.seeds;
        if (args_.seed) plan.first_seed = *args_.seed;
        if (!args_.objectives.empty()) plan.criteria.objectives = args_.objectives;
        for (const std::string& objective : args_.objectives)
            if (const std::string why = complaint_about_measure(objective); !why.empty())
                return refuse("--objective: " + why);
        for (const std::string& assignment : args_.overrides) {
            const std::size_t equals = assignment.find('=');
            if (equals == std::string::npos || equals == 0)
                return refuse(fmt::format("--set: expected PATH=VALUE, got \"{}\"", assignment));
            // Before what a variant sets itself, which counts more.
            for (VariantPlan& variant : plan.variants)
                variant.settings.insert(variant.settings.begin(),
                                        {assignment.substr(0, equals), assignment.substr(equals + 1)});
        }
        return plan;
    }

    [[nodiscard]] tl::expected<Comparison, std::string> earlier(const std::string& file) const {
        const auto text = text_of_file(file);
        if (!text) return tl::make_unexpected(fmt::format("{}: expected a file that can be read", file));
        return reports::read_comparison(*text, file);
    }

    using Kept = std::vector<std::pair<std::string, Comparison>>;

    /// What --history holds, in the order of the names of the files, each with what to call it.
    [[nodiscard]] tl::expected<Kept, Refused> history() const {
        Kept kept;
        if (args_.history.empty()) return kept;
        if (!args_.shard.is_whole() || !args_.against.empty())
            return refuse(
                "compare: --history keeps whole comparisons of one build: give it to the --merge of shards, and not "
                "with --against");
        for (const fs::path& file : files_of_history()) {
            auto read = earlier(file.string());
            if (!read) return refuse(read.error());
            std::string label = file.stem().string();
            kept.emplace_back(std::move(label), std::move(*read));
        }
        return kept;
    }

    [[nodiscard]] std::vector<fs::path> files_of_history() const {
        std::vector<fs::path> files;
        std::error_code error;  // a folder that is not there yet holds nothing
        for (fs::directory_iterator at(args_.history, error), end; !error && at != end; at.increment(error))
            if (at->path().extension() == ".json") files.push_back(at->path());
        std::ranges::sort(files);
        return files;
    }

    /// Adds this comparison to --history, unless it was interrupted or is kept already.
    [[nodiscard]] bool keep(const Comparison& made, const Analysis& analysis) const {
        if (args_.history.empty() || !made.complete || made.runs.empty()) return true;
        const std::string document = reports::comparison_json(made, analysis);
        const std::vector<fs::path> files = files_of_history();
        const auto is_it = [&](const fs::path& file) { return text_of_file(file.string()) == document; };
        if (std::ranges::any_of(files, is_it)) return true;
        std::size_t number = 0;
        for (const fs::path& file : files)
            number = std::max<std::size_t>(number, std::strtoul(file.filename().c_str(), nullptr, 10));
        std::error_code error;
        fs::create_directories(args_.history, error);
        const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
        const fs::path file = fs::path(args_.history) / fmt::format("{:06}-{:%Y-%m-%d}-{}.json", number + 1, today,
                                                                    made.commit.substr(0, kCommitDigits));
        const auto done = reports::write_atomically(file.string(), document);
        if (!done) environment_.err << "lockstep: --history: " << done.error() << '\n';
        return done.has_value();
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
        CrashGuard crash("compare", crash_targets(), environment_);
        if (!crash.begin()) return tl::make_unexpected(Exit::usage);
        Progress progress(environment_.err, environment_.watcher, count_runs(*plan, *worlds, options));
        options.on_result = [&](const PlannedRun&, const RunResult& result) {
            progress.advance(!result.passed && !result.interrupted);
        };
        options.on_start = [&](const PlannedRun& run) {
            crash.started(planned(*worlds, run, replay_of(*plan, *worlds, run)));
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
        for (const std::string& objective : args_.objectives) args.insert(args.end(), {"--objective", objective});
        for (const std::string& assignment : args_.overrides) args.insert(args.end(), {"--set", assignment});
        if (args_.seeds > 0) args.insert(args.end(), {"--seeds", std::to_string(args_.seeds)});
        if (args_.seed) args.insert(args.end(), {"--seed", std::to_string(*args_.seed)});
        if (!args_.shard.is_whole())
            args.insert(args.end(), {"--shard", fmt::format("{}/{}", args_.shard.index + 1, args_.shard.of)});
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
        options.stop = environment_.stop;
        if (before)
            for (const reports::ComparedRun& run : before->runs) options.done.insert({run.scenario, run.seed});
        return options;
    }

    /// The file of --json is left as it is: `--resume` goes on from it.
    [[nodiscard]] ReportTargets crash_targets() const {
        ReportTargets targets = spoken_reports(args_.json == "-", environment_);
        targets.junit = args_.junit;
        return targets;
    }

    [[nodiscard]] static reports::RunRecord planned(const ComparedWorlds& worlds, const PlannedRun& run,
                                                    const std::string& replay) {
        reports::RunRecord record;
        record.file = worlds.worlds[run.scenario].file;
        record.name = worlds.worlds[run.scenario].name;
        record.seed = run.seed;
        record.replay = replay;
        return record;
    }

    [[nodiscard]] std::string replay_of(const ComparisonPlan& plan, const ComparedWorlds& worlds,
                                        const PlannedRun& run) const {
        SelectionArgs args;
        args.overrides = plan.variants[run.scenario % plan.variants.size()].overrides();
        return replay_command(worlds.worlds[run.scenario], run.seed, args, build_name(environment_));
    }

    /// What makes exactly this comparison again. What a report is held against is no part of it.
    [[nodiscard]] std::string command() const {
        std::string line = "lockstep compare " + shell_quoted(args_.file);
        for (const std::string& assignment : args_.vary) line += " --vary " + shell_quoted(assignment);
        for (const std::string& objective : args_.objectives) line += " --objective " + shell_quoted(objective);
        for (const std::string& assignment : args_.overrides) line += " --set " + shell_quoted(assignment);
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
                out << fmt::format(
                    "  {:{}} {:>12}", made.variants[v].name, width,
                    reports::quantity_text(analysis.means[v][m], measure.unit, largest_mean(analysis, m)));
                if (v > 0) out << "   " << reports::effect_words(analysis.effects[v][m], made.criteria.threshold);
                out << '\n';
            }
        }
        for (const reports::Picture& trend : trend_pictures(made, analysis))
            out << trend_text(trend, analysis.verdict.take.value_or(0));
        for (const std::string& sentence : made.not_shared) out << "Not shared: " << sentence << ".\n";
        if (!made.complete) out << "Interrupted: the figures are of the seeds that were run in every variant.\n";
        out << '\n';
        for (const std::string& sentence : analysis.verdict.sentences) out << sentence << '\n';
        if (!analysis.verdict.rule.empty()) out << analysis.verdict.rule << '\n';
        for (const std::string& line : analysis.verdict.apply) out << "Apply: " << line << '\n';
        if (!made.command.empty()) out << "Again: " << made.command << '\n';
    }

    /// Of the first variant and of the one to take: for more a terminal has no room.
    static std::string trend_text(const reports::Picture& trend, std::size_t take) {
        std::string out = trend.title + '\n';
        for (const auto& row : trend.table.rows) {
            out += fmt::format("  {:{}} {}: {}", row.front(), kCommitDigits + 12, trend.table.head[1], row[1]);
            if (take > 0) out += fmt::format("   {}: {}", trend.table.head[take + 1], row[take + 1]);
            out += '\n';
        }
        if (const std::size_t legend = trend.caption.find('*'); legend != std::string::npos)
            out += fmt::format("  {}\n", trend.caption.substr(legend));
        return out;
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
        // Of a gate the report is written once the gate has judged.
        if (args_.baseline.empty()) written = write_junit(made, analysis) && written;
        return written;
    }

    bool write_junit(const Comparison& made, const Analysis& analysis) const {
        if (args_.junit.empty()) return true;
        const auto done = reports::write_atomically(args_.junit, reports::comparison_junit(made, analysis));
        if (!done) environment_.err << "lockstep: " << done.error() << '\n';
        return done.has_value();
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

    /// What has been said already, as the verdict of the comparison or of the gate, is not said again.
    Exit concluded(Verdict verdict, const Comparison& made, const Analysis& analysis,
                   const reports::GateResult& held) const {
        verdict.problems = problems_of(made);
        for (const reports::GateLine& line : held.lines) {
            if (line.outcome == reports::GateOutcome::held) continue;
            verdict.problems.push_back(
                {.file = args_.file, .title = line.variant + ": " + line.measure, .detail = line.text});
        }
        for (const std::string& sentence : analysis.verdict.sentences)
            verdict.sentence += (verdict.sentence.empty() ? "" : " ") + sentence;
        verdict.sentence = sentence_of(verdict, made, held);
        verdict.again = made.command;
        std::ostream& say = talk_of(args_.json == "-", environment_);
        if (verdict.exit == Exit::passed) {
            tell_ci(verdict, say, environment_);
            return verdict.exit;
        }
        return conclude(verdict, say, environment_);
    }

    static std::string sentence_of(const Verdict& verdict, const Comparison& made, const reports::GateResult& held) {
        if (verdict.exit == Exit::passed) return verdict.sentence;
        if (verdict.exit == Exit::interrupted) return "some runs are missing";
        if (made.runs.empty()) return "nothing was compared";
        if (!held.problem.empty()) return held.problem;
        if (!held.lines.empty())
            return fmt::format("{} of {} are not as good as the baseline", verdict.problems.size(), held.lines.size());
        const auto failures = std::ranges::count(made.runs, false, &reports::ComparedRun::passed);
        if (failures > 0) return fmt::format("{} of {} runs failed", failures, made.runs.size());
        return "not every file could be written or read";
    }

    static std::vector<reports::Annotation> problems_of(const Comparison& made) {
        std::vector<reports::Annotation> problems;
        for (const reports::ComparedRun& run : made.runs) {
            if (run.passed) continue;
            problems.push_back({.file = made.scenarios[run.scenario].file,
                                .title = fmt::format("{} seed {}", made.variants[run.variant].name, run.seed),
                                .detail = run.problem});
        }
        return problems;
    }

    [[nodiscard]] Exit held_against_baseline(const Comparison& made, reports::GateResult& result) const {
        result = reports::gate(baseline_, made, reports::thresholds_of(made.criteria));
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
    Comparison baseline_;
};

}  // namespace

Exit compare_command(const CompareArgs& args, const Environment& environment) {
    return Comparing(args, environment).run();
}

}  // namespace lockstep::sim::cli
