#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>

#include "reports/atomic_file.h"
#include "sim/cli/build_name.h"
#include "sim/cli/commands.h"
#include "sim/cli/explore_tables.h"
#include "sim/cli/json_output.h"
#include "sim/cli/presenter.h"
#include "sim/cli/selection.h"
#include "sim/cli/shrink_progress.h"
#include "sim/cli/terminal_line.h"
#include "sim/cli/verdict.h"
#include "sim/search/exploration_state.h"
#include "sim/search/explore.h"
#include "sim/search/shrink.h"

namespace lockstep::sim::cli {

namespace {

using Wall = std::chrono::steady_clock;
constexpr std::chrono::seconds kKeepEvery{5};

/// The documents of every scenario below the paths; nothing when one cannot be loaded.
std::optional<std::vector<Document>> load_bases(const ExploreArgs& args, const Environment& environment) {
    std::vector<Document> bases;
    if (args.paths.empty() && !args.overrides.empty()) {
        environment.err << "lockstep: --set: name the scenarios that it changes\n";
        return {};
    }
    if (args.paths.empty()) return bases;
    const auto files = find_scenarios(args.paths);
    if (!files) {
        for (const LoadError& error : files.error()) environment.err << to_string(error) << '\n';
        return {};
    }
    for (const auto& file : *files) {
        auto loaded = load_replayable(file, {.overrides = args.overrides, .without = {}});
        if (!loaded) {
            environment.err << loaded.error() << '\n';
            return {};
        }
        bases.push_back(std::move(loaded->failure.scenario));
    }
    if (!bases.empty()) return bases;
    environment.err << "lockstep: there is no scenario file below these paths\n";
    return {};
}

/// `<invariant>-draw<number>.json`
std::string file_name(const Failure& failure) {
    const std::string kind = failure.signature.substr(0, failure.signature.find(':'));
    return fmt::format("{}-draw{}.json", kind, failure.seed);
}

/// One exploration at the command line: its options, its files, what it says.
class Explorer {
public:
    Explorer(const ExploreArgs& args, const Environment& environment)
        : args_(args),
          environment_(environment),
          state_file_((std::filesystem::path(args.out) / "explore.json").string()),
          out_(talk_of(args.json, environment)),
          crash_("explore", spoken_reports(args.json, environment), environment),
          line_(environment.err, environment.watcher) {}

    Exit run() {
        if (!prepare() || !crash_.begin()) return Exit::usage;
        began_ = Wall::now();
        const ExploreOutcome outcome = explore(environment_.runner, options_);
        line_.clear();
        remember(outcome);
        tell(outcome);
        if (args_.shrink && !outcome.interrupted) shrink_all(outcome);
        Exit exit = exit_of(outcome);
        write_tables(outcome, exit);
        const bool found = exit == Exit::violated || exit == Exit::harness;
        if (broken_output_ && !found && exit != Exit::interrupted) exit = Exit::usage;
        if (args_.json) print_document(document(outcome, exit), environment_);
        return conclude(verdict(outcome, exit), out_, environment_);
    }

private:
    bool prepare() {
        if (!mechanisms_known(args_.without, environment_)) return false;
        auto bases = load_bases(args_, environment_);
        if (!bases) return false;
        options_.draw = {args_.without, args_.data_loss, std::move(*bases)};
        options_.first = args_.first;
        options_.seeds = args_.seeds;
        options_.keep_going = args_.keep_going;
        options_.stop = environment_.stop;
        options_.threads = args_.threads == 0 ? environment_.processors : args_.threads;
        if (!args_.wall.empty()) {
            const auto wall = engine::parse_duration(args_.wall);
            if (!wall) {
                environment_.err << fmt::format("lockstep: --for: {}\n", wall.error());
                return false;
            }
            if (*wall <= engine::Duration{}) {
                environment_.err << fmt::format("lockstep: --for: expected a duration of more than 0, got \"{}\"\n",
                                                args_.wall);
                return false;
            }
            options_.wall = std::chrono::ceil<std::chrono::milliseconds>(*wall);
        }
        options_.on_run = [this](const ExploreProgress& progress, const Failure* found) { on_run(progress, found); };
        options_.on_start = [this](std::uint64_t draw) {
            crash_.started(fmt::format("draw {}", draw), draw, draw_again(draw));
        };
        if (!take_up_state()) return false;
        // Before the first draw: a folder that cannot be written to is better known now than when there is something to keep.
        state_.next = options_.first;
        return write(state_file_, exploration_state_text(state_));
    }

    /// What made the draws: another choice draws other scenarios under the same numbers.
    [[nodiscard]] std::string arguments() const {
        std::string out;
        for (const std::string& path : args_.paths) out += " " + shell_quoted(path);
        for (const std::string& assignment : args_.overrides) out += " --set " + shell_quoted(assignment);
        for (const std::string& mechanism : args_.without) out += " --without " + mechanism;
        if (args_.data_loss.any()) out += fmt::format(" --data-loss {}", name_of(args_.data_loss));
        return out;
    }

    [[nodiscard]] std::string draw_again(std::uint64_t draw) const {
        return fmt::format("lockstep explore --first {} --seeds 1{} --recorded-by {}", draw, arguments(), build_);
    }

    bool take_up_state() {
        state_.arguments = arguments();
        state_.build = build_;
        const auto stored = load_exploration_state(state_file_);
        if (!stored) {
            environment_.err << fmt::format("lockstep: {}\n", stored.error());
            return false;
        }
        if (!*stored) return true;
        if (args_.resume || !(*stored)->regressions.empty())
            note_other_build("the exploration in " + args_.out, (*stored)->build, environment_);
        if ((*stored)->arguments == state_.arguments) {
            state_.regressions = (*stored)->regressions;
            options_.regressions = state_.regressions;
            if (args_.resume) options_.first = (*stored)->next;
        } else if (args_.resume) {
            environment_.err << fmt::format(
                "lockstep: --resume: the exploration in {} was made with \"lockstep explore{}\"; use another --out\n",
                args_.out, (*stored)->arguments);
            return false;
        }
        return true;
    }

    void on_run(const ExploreProgress& progress, const Failure* found) {
        if (found != nullptr) {
            line_.clear();
            const std::string path = (std::filesystem::path(args_.out) / file_name(*found)).string();
            Failure file = *found;
            file.build = build_;
            const bool kept = write(path, failure_text(file));
            if (!kept) unkept_.insert(found->seed);
            out_ << fmt::format("FOUND {}\n  draw {}, {} events: {}\n", found->signature, found->seed, found->events,
                                kept ? path : "its file could not be kept")
                 << std::flush;
            add_regression(found->seed);
        }
        keep_place(progress, found != nullptr);
        if (line_.due()) line_.draw(summary(progress));
    }

    void add_regression(std::uint64_t draw) {
        if (std::ranges::find(state_.regressions, draw) == state_.regressions.end()) state_.regressions.push_back(draw);
    }

    /// Now and then, so that an end without warning loses neither the place nor what was found.
    void keep_place(const ExploreProgress& progress, bool at_once) {
        const auto now = Wall::now();
        if (!at_once && now - kept_ < kKeepEvery) return;
        kept_ = now;
        state_.next = progress.next;
        write(state_file_, exploration_state_text(state_));
    }

    /// How to see a failure again.
    [[nodiscard]] std::string replay_line(const Failure& failure) const {
        if (unkept_.contains(failure.seed)) return draw_again(failure.seed);
        return "lockstep replay " + shell_quoted(file_of(failure));
    }

    [[nodiscard]] std::string file_of(const Failure& failure) const {
        return (std::filesystem::path(args_.out) / file_name(failure)).string();
    }

    [[nodiscard]] std::string summary(const ExploreProgress& progress) const {
        const double seconds = std::chrono::duration<double>(Wall::now() - began_).count();
        return fmt::format("{} seeds, {:.0f} per second, {:.0f} virtual hours, {} histories, {} failures of {} kinds",
                           progress.runs, static_cast<double>(progress.runs) / std::max(seconds, 0.001),
                           static_cast<double>(progress.virtual_ms) / 3.6e6, progress.histories, progress.failures,
                           progress.signatures);
    }

    void tell(const ExploreOutcome& outcome) const {
        if (!environment_.quiet) account(outcome);
        for (const auto& [signature, failure] : outcome.failures)
            out_ << fmt::format("FAILED {} times: {}\n  {}\n", outcome.counts.at(signature), signature,
                                replay_line(failure));
    }

    void account(const ExploreOutcome& outcome) const {
        std::ostream& out = out_;
        out << summary(outcome.total) << '\n';
        out << "faults that took effect:";
        for (const auto& [kind, count] : outcome.faults) {
            if (count.effective > 0) out << fmt::format(" {} {}", kind, count.effective);
        }
        out << "\ninvariants put to the test:";
        for (const auto& [name, count] : outcome.exercised) out << fmt::format(" {} {}", name, count);
        out << '\n';
    }

    /// The failure that is told of first: the one with the lowest number, of its kind.
    [[nodiscard]] Verdict verdict(const ExploreOutcome& outcome, Exit exit) const {
        Verdict verdict{.command = "explore", .exit = exit, .sentence = {}, .again = {}};
        for (const auto& [signature, failure] : outcome.failures) {
            if (verdict.again.empty()) verdict.again = replay_line(failure);
            verdict.problems.push_back({.file = unkept_.contains(failure.seed) ? "" : file_of(failure),
                                        .title = fmt::format("draw {}: {}", failure.seed, invariant_of(signature)),
                                        .detail = signature + "\nreplay: " + replay_line(failure)});
        }
        verdict.sentence = outcome.failures.empty()
                               ? fmt::format("nothing was violated in {} draws", outcome.total.runs)
                               : fmt::format("{} of {} draws failed, in {} ways", outcome.total.failures,
                                             outcome.total.runs, outcome.failures.size());
        if (exit == Exit::nothing_proved) verdict.sentence = "no draw was made";
        if (exit == Exit::usage) verdict.sentence += ", and not every file could be written";
        return verdict;
    }

    [[nodiscard]] static std::string invariant_of(const std::string& signature) {
        return signature.substr(0, signature.find(':'));
    }

    [[nodiscard]] nlohmann::json document(const ExploreOutcome& outcome, Exit exit) const {
        using nlohmann::json;
        json out = document_head("explore", exit, environment_);
        out["runs"] = outcome.total.runs;
        out["failed"] = outcome.total.failures;
        out["refused"] = outcome.refused;
        out["virtual_ms"] = outcome.total.virtual_ms;
        out["wall_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(Wall::now() - began_).count();
        out["events"] = outcome.total.events;
        out["histories"] = outcome.total.histories;
        out["next"] = outcome.next;
        out["faults"] = json::object();
        for (const auto& [kind, count] : outcome.faults)
            out["faults"][kind] = {{"armed", count.armed}, {"fired", count.fired}, {"effective", count.effective}};
        out["exercised"] = outcome.exercised;
        out["reached"] = outcome.reached;
        out["failures"] = json::array();
        for (const auto& [signature, failure] : outcome.failures) {
            json one =
                failure_json(failure, unkept_.contains(failure.seed) ? "" : file_of(failure), replay_line(failure));
            one["count"] = outcome.counts.at(signature);
            const auto shrunk = shrunk_.find(signature);
            one["shrunk"] = shrunk == shrunk_.end() ? json(nullptr) : json(shrunk->second);
            out["failures"].push_back(std::move(one));
        }
        return out;
    }

    /// For --resume, and so that the next exploration begins with what failed once.
    void remember(const ExploreOutcome& outcome) {
        state_.next = outcome.next;
        for (const auto& [signature, failure] : outcome.failures) add_regression(failure.seed);
        write(state_file_, exploration_state_text(state_));
    }

    void write_tables(const ExploreOutcome& outcome, Exit exit) {
        if (args_.markdown.empty() && args_.csv.empty()) return;
        const nlohmann::json told = document(outcome, exit);
        if (!args_.markdown.empty()) write(args_.markdown, explore_markdown(told));
        if (!args_.csv.empty()) write(args_.csv, explore_csv(told));
    }

    void shrink_all(const ExploreOutcome& outcome) {
        for (const auto& [signature, failure] : outcome.failures) {
            if (environment_.stop != nullptr && environment_.stop->load()) return;
            ShrinkOptions options;
            options.stop = environment_.stop;
            ShrinkProgress progress(environment_);
            progress.watch(options);
            const Shrunk shrunk = shrink(failure.scenario, failure.seed, signature, environment_.runner, options);
            progress.clear();
            if (!shrunk.error.empty()) {
                out_ << fmt::format("cannot be shrunk: {}: {}\n", signature, shrunk.error);
                continue;
            }
            const std::filesystem::path name(file_name(failure));
            const std::string path =
                (std::filesystem::path(args_.out) / (name.stem().string() + ".shrunk.json")).string();
            if (write(path, pretty(shrunk.scenario))) shrunk_[signature] = path;
            out_ << fmt::format("SHRUNK {}\n  from {}\n  to   {} in {} runs{}: {}\n", signature,
                                to_string(shrunk.before), to_string(shrunk.after), shrunk.runs,
                                shrunk.complete ? "" : ", not finished", path);
        }
    }

    bool write(const std::string& path, const std::string& content) {
        if (const auto done = reports::write_atomically(path, content); !done) {
            environment_.err << "lockstep: " << done.error() << '\n';
            broken_output_ = true;
            return false;
        }
        return true;
    }

    static Exit exit_of(const ExploreOutcome& outcome) {
        if (outcome.interrupted) return Exit::interrupted;
        for (const auto& [signature, failure] : outcome.failures) {
            if (signature.starts_with("harness:")) return Exit::harness;
        }
        if (!outcome.failures.empty()) return Exit::violated;
        return outcome.total.runs == 0 ? Exit::nothing_proved : Exit::passed;
    }

    const ExploreArgs& args_;
    const Environment& environment_;
    const std::string state_file_;
    ExploreOptions options_;
    ExplorationState state_;
    std::ostream& out_;
    CrashGuard crash_;
    TerminalLine line_;
    Wall::time_point began_{};
    Wall::time_point kept_{};
    std::set<std::uint64_t> unkept_;             // draws that failed and whose file could not be written
    std::map<std::string, std::string> shrunk_;  // files, by signature
    const std::string build_ = build_name(environment_);
    bool broken_output_ = false;
};

}  // namespace

Exit explore_command(const ExploreArgs& args, const Environment& environment) {
    note_other_build("this command", args.recorded_by, environment);
    return Explorer(args, environment).run();
}

}  // namespace lockstep::sim::cli
