#include "sim/cli/options/options.h"

#include <CLI/CLI.hpp>

namespace lockstep::sim::cli {

namespace {

constexpr const char* kEnumerateFooter =
    "From a fault-free run of each scenario: every kind of call that a scheduler makes, with every end that it can "
    "come to:\n"
    "not applied, applied with the answer lost, a crash before or after, an answer later than a lock lives.\n"
    "Examples:\n"
    "  lockstep enumerate scenarios/happy-path.json\n"
    "  lockstep enumerate scenarios/happy-path.json --occurrences 50 --pairs 2000\n"
    "  lockstep enumerate scenarios/happy-path.json --json | jq .failed\n"
    "Exit codes: 0 everything held, 1 a failure found, 2 wrong input, 3 the harness failed, 4 nothing was run.\n";

}  // namespace

CLI::App* add_enumerate(CLI::App& app, EnumerateArgs& args) {
    CLI::App* sub = app.add_subcommand("enumerate", "put every fault on every call that a scenario's schedulers make");
    sub->footer(kEnumerateFooter);
    sub->add_option("PATH", args.paths, "scenario files, or folders of them (default: scenarios/)");
    sub->add_option("--occurrences", args.occurrences, "of each kind of call; default 5")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000));
    sub->add_option("--pairs", args.pairs, "runs with two faults, drawn; default 0")
        ->type_name("N")
        ->check(CLI::Range(0, 1'000'000'000));
    sub->add_option("--out", args.out, "folder of the failure files; default failures")->type_name("DIR");
    add_threads(*sub, args.threads);
    add_json(*sub, args.json);
    return sub;
}

}  // namespace lockstep::sim::cli
