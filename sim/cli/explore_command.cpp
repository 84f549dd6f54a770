#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>

#include "reports/atomic_file.h"
#include "sim/cli/commands.h"
#include "sim/cli/presenter.h"
#include "sim/cli/selection.h"
#include "sim/cli/shrink_progress.h"
#include "sim/cli/terminal_line.h"
#include "sim/search/exploration_state.h"
#include "sim/search/explore.h"
#include "sim/search/shrink.h"

namespace lockstep::sim::cli {

namespace {

using Wall = std::chrono::steady_clock;
constexpr std::chrono::seconds kKeepEvery{5};

/// The documents of every scenario below the paths; nothing when one cannot be loaded.
std::optional<std::vector<Document>> load_bases(const std::vector<std::string>& paths, const Environment& environment) {
    std::vector<Document> bases;
    if (paths.empty()) return bases;
    const auto files = find_scenarios(paths);
    if (!files) {
        for (const LoadError& error : files.error()) environment.err << to_string(error) << '\n';
        return {};
    }
    for (const auto& file : *files) {
        auto loaded = load_replayable(file);
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
          line_(environment.err, environment.progress) {}

    Exit run() {
        if (!prepare()) return Exit::usage;
        began_ = Wall::now();
        const ExploreOutcome outcome = explore(environment_.runner, options_);
        line_.clear();
        remember(outcome);
        tell(outcome);
        if (args_.shrink && !outcome.interrupted) shrink_all(outcome);
        const Exit exit = exit_of(outcome);
        const bool found = exit == Exit::violated || exit == Exit::harness;
        return broken_output_ && !found ? Exit::usage : exit;
    }

private:
    bool prepare() {
        if (!mechanisms_known(args_.without, environment_)) return false;
        auto bases = load_bases(args_.paths, environment_);
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
            if (environment_.note_run)
                environment_.note_run(fmt::format("lockstep explore --first {} --seeds 1", draw) + arguments());
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
        for (const std::string& mechanism : args_.without) out += " --without " + mechanism;
        if (args_.data_loss.any()) out += fmt::format(" --data-loss {}", name_of(args_.data_loss));
        return out;
    }

    bool take_up_state() {
        state_.arguments = arguments();
        const auto stored = load_exploration_state(state_file_);
        if (!stored) {
            environment_.err << fmt::format("lockstep: {}\n", stored.error());
            return false;
        }
        if (!*stored) return true;
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
            const bool kept = write(path, failure_text(*found));
            if (!kept) unkept_.insert(found->seed);
            environment_.out << fmt::format("FOUND {}\n  draw {}, {} events: {}\n", found->signature, found->seed,
                                            found->events, kept ? path : "its file could not be kept")
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
        if (unkept_.contains(failure.seed))
            return fmt::format("lockstep explore --first {} --seeds 1{}", failure.seed, arguments());
        return "lockstep replay " + shell_quoted((std::filesystem::path(args_.out) / file_name(failure)).string());
    }

    [[nodiscard]] std::string summary(const ExploreProgress& progress) const {
        const double seconds = std::chrono::duration<double>(Wall::now() - began_).count();
        return fmt::format("{} seeds, {:.0f} per second, {:.0f} virtual hours, {} histories, {} failures of {} kinds",
                           progress.runs, static_cast<double>(progress.runs) / std::max(seconds, 0.001),
                           static_cast<double>(progress.virtual_ms) / 3.6e6, progress.histories, progress.failures,
                           progress.signatures);
    }

    void tell(const ExploreOutcome& outcome) const {
        std::ostream& out = environment_.out;
        out << summary(outcome.total) << '\n';
        out << "faults that took effect:";
        for (const auto& [kind, count] : outcome.faults) {
            if (count.effective > 0) out << fmt::format(" {} {}", kind, count.effective);
        }
        out << "\ninvariants put to the test:";
        for (const auto& [name, count] : outcome.exercised) out << fmt::format(" {} {}", name, count);
        out << '\n';
        for (const auto& [signature, failure] : outcome.failures)
            out << fmt::format("FAILED {} times: {}\n  {}\n", outcome.counts.at(signature), signature,
                               replay_line(failure));
        if (outcome.failures.empty() && outcome.total.runs > 0) out << "Nothing was violated.\n";
    }

    /// For --resume, and so that the next exploration begins with what failed once.
    void remember(const ExploreOutcome& outcome) {
        state_.next = outcome.next;
        for (const auto& [signature, failure] : outcome.failures) add_regression(failure.seed);
        write(state_file_, exploration_state_text(state_));
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
                environment_.out << fmt::format("cannot be shrunk: {}: {}\n", signature, shrunk.error);
                continue;
            }
            const std::filesystem::path name(file_name(failure));
            const std::string path =
                (std::filesystem::path(args_.out) / (name.stem().string() + ".shrunk.json")).string();
            write(path, pretty(shrunk.scenario));
            environment_.out << fmt::format("SHRUNK {}\n  from {}\n  to   {} in {} runs{}: {}\n", signature,
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
    TerminalLine line_;
    Wall::time_point began_{};
    Wall::time_point kept_{};
    std::set<std::uint64_t> unkept_;  // draws that failed and whose file could not be written
    bool broken_output_ = false;
};

}  // namespace

Exit explore_command(const ExploreArgs& args, const Environment& environment) {
    return Explorer(args, environment).run();
}

}  // namespace lockstep::sim::cli
