// `lockstep`: wires the command to the process it runs in (streams, terminal, signals, processors) and to the simulator.
#include <google/protobuf/stubs/logging.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "reports/usage/standard_streams.h"
#include "sim/cli/build.h"
#include "sim/cli/cli.h"
#include "sim/cli/crash_note.h"
#include "sim/cli/operate.h"
#include "sim/cli/surroundings.h"
#include "sim/run/run_scenario.h"

namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

/// The first Ctrl-C asks for a clean end; the second, should that take too long, is the system's own.
extern "C" void on_interrupt(int signal) {
    stop_requested.store(true);
    ::signal(signal, SIG_DFL);
}

}  // namespace

int main(int argc, char** argv) {
    lockstep::usage::open_standard_streams();
    // A corrupt packet is an event of ours to report; protobuf would print its own line about each.
    google::protobuf::SetLogHandler(nullptr);
    using namespace lockstep::sim;
    ::signal(SIGINT, on_interrupt);
    ::signal(SIGTERM, on_interrupt);
    ::signal(SIGPIPE, SIG_DFL);  // `lockstep list | head` ends quietly
    cli::install_crash_handlers();
    const cli::Surroundings around =
        cli::surroundings(cli::process_variable, {::isatty(STDOUT_FILENO) != 0, ::isatty(STDERR_FILENO) != 0});
    const cli::Environment environment{
        .out = std::cout,
        .err = std::cerr,
        .runner = run_scenario,
        .colour = around.colour,
        .watcher = {.kind = around.watcher},
        .processors = std::max(1U, std::thread::hardware_concurrency()),
        .stop = &stop_requested,
        .operate = cli::exec_lockstepctl,
        .develop = cli::exec_dev,
        .note_run = cli::note_run,
        .rehearse = cli::exec_rehearsal,
        .adapt = {},
        .afterword = {},
        .ask_build = cli::ask_program,
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
