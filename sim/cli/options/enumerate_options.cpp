#include "sim/cli/options/options.h"

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

usage::Command add_enumerate(const usage::Command& app, EnumerateArgs& args) {
    const usage::Command sub =
        app.subcommand("enumerate", "put every fault on every call that a scenario's schedulers make");
    sub.footer(kEnumerateFooter);
    sub.option("PATH", &args.paths, "scenario files, or folders of them (default: scenarios/)").bytes();
    sub.option("--occurrences", &args.occurrences, "of each kind of call; default 5").type("N").range(1, 1'000'000);
    sub.option("--pairs", &args.pairs, "runs with two faults, drawn; default 0").type("N").range(0, 1'000'000'000);
    sub.option("--out", &args.out, "folder of the failure files; default failures").type("DIR");
    add_threads(sub, args.threads);
    add_json(sub, args.json);
    return sub;
}

}  // namespace lockstep::sim::cli
