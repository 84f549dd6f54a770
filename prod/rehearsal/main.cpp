// lockstep-rehearsal: the hand of `lockstep run --real`. The same command line, with real servers in place of simulated
// ones.
#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <string>
#include <vector>

#include "prod/rehearsal/feasible.h"
#include "prod/rehearsal/real_cluster.h"
#include "prod/rehearsal/rehearse.h"
#include "reports/usage/standard_streams.h"
#include "sim/cli/build.h"
#include "sim/cli/cli.h"
#include "sim/cli/commands.h"
#include "sim/cli/crash_note.h"
#include "sim/cli/surroundings.h"

namespace {

namespace cli = lockstep::sim::cli;
namespace rehearsal = lockstep::prod::rehearsal;
using lockstep::prod::rehearsal::Feasibility;

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

/// The first Ctrl-C asks for a clean end; the second, should that take too long, is the system's own.
extern "C" void on_interrupt(int signal) {
    stop_requested.store(true);
    ::signal(signal, SIG_DFL);
}

std::filesystem::path own_folder() { return std::filesystem::read_symlink("/proc/self/exe").parent_path(); }

/// What was and was not done of each scenario, to be said at the end.
class Account {
public:
    tl::expected<void, std::string> take(lockstep::sim::Scenario& scenario, const cli::RunArgs& args) {
        if (const auto missing = rehearsal::RealCluster::missing_servers(); !missing.empty())
            return tl::make_unexpected(
                fmt::format("--real needs {}, which this machine does not have", fmt::join(missing, " and ")));
        if (!args.html.empty() || !args.failures.empty())
            return tl::make_unexpected("--html and --failures are of simulated runs: no seed makes a real one again");
        const auto limit = lockstep::engine::parse_duration(args.real_limit);
        if (!limit) return tl::make_unexpected("--real-limit: " + limit.error());
        auto done = rehearsal::feasible(scenario, *limit);
        if (!done) return tl::make_unexpected(fmt::format("{}: {}", scenario.file, done.error()));
        scenario = done->scenario;
        taken_.push_back(std::move(*done));
        return {};
    }

    void say(std::ostream& out) const {
        out << "\nOn real servers\n";
        for (const Feasibility& one : taken_) {
            out << "  " << one.scenario.name << '\n';
            list(out, "applied", one.applied);
            list(out, "not applied", one.not_applied);
            list(out, "not judged", one.not_judged);
        }
    }

private:
    static void list(std::ostream& out, const char* title, const std::vector<std::string>& lines) {
        for (const std::string& line : lines) out << fmt::format("    {:<12} {}\n", title, line);
    }
    std::vector<Feasibility> taken_;
};

}  // namespace

int main(int argc, char** argv) {
    lockstep::usage::open_standard_streams();
    google::protobuf::SetLogHandler(nullptr);
    ::signal(SIGINT, on_interrupt);
    ::signal(SIGTERM, on_interrupt);
    ::signal(SIGPIPE, SIG_IGN);  // a server that is killed closes its connections
    cli::install_crash_handlers();
    const cli::Surroundings around =
        cli::surroundings(cli::process_variable, {::isatty(STDOUT_FILENO) != 0, ::isatty(STDERR_FILENO) != 0});
    Account account;
    std::mutex one_at_a_time;
    const auto runner = [&](const lockstep::sim::Scenario& scenario, std::uint64_t seed,
                            const lockstep::sim::RunOptions& options) {
        const std::scoped_lock lock(one_at_a_time);
        return rehearsal::rehearse(scenario, seed, options, own_folder());
    };
    const cli::Environment environment{
        .out = std::cout,
        .err = std::cerr,
        .runner = runner,
        .colour = around.colour,
        .watcher = {.kind = around.watcher},
        .processors = 1,
        .stop = &stop_requested,
        .operate = {},
        .note_run = cli::note_run,
        .rehearse = {},
        .adapt = [&](lockstep::sim::Scenario& scenario,
                     const cli::RunArgs& args) { return account.take(scenario, args); },
        .afterword = [&](std::ostream& out) { account.say(out); },
        .ask_build = {},
        .commit = cli::kCommit,
        .dirty = cli::kDirty,
        .step_summary = around.step_summary,
        .keep_in_crash = cli::keep_in_crash,
    };
    try {
        return cli::cli_main({argv + 1, argv + argc}, environment);
    } catch (const std::exception& error) {
        std::cerr << "lockstep: " << error.what() << '\n';
        return static_cast<int>(cli::Exit::harness);
    }
}
