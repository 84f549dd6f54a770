#include "sim/cli/options/options.h"

namespace lockstep::sim::cli {

namespace {

constexpr const char* kPowerFooter =
    "Each mechanism is switched off in turn, and draws that know nothing of it are made until one fails; the failure "
    "is shrunk.\n"
    "Draws until then are the same on every machine, seconds are not.\n"
    "Examples:\n"
    "  lockstep power --mechanism lock_fencing\n"
    "  lockstep power --repeats 5 --markdown power.md --json power.json\n"
    "  lockstep power --seeds 100 --no-shrink --json | jq .mechanisms[].median_draws\n"
    "Exit codes: 0 every search found a failure, 1 one did not, 2 wrong input, 3 the harness failed.\n";

}  // namespace

usage::Command add_power(const usage::Command& app, PowerArgs& args) {
    const usage::Command sub =
        app.subcommand("power", "measure how soon exploration finds each mechanism that is switched off");
    sub.footer(kPowerFooter);
    sub.option("PATH", &args.paths, "where the files that prove mechanisms are (default: scenarios/)").bytes();
    sub.option("--mechanism", &args.mechanisms, "only this one (repeatable; default: all that there are)")
        .type("MECHANISM")
        .repeatable();
    sub.option("--repeats", &args.repeats, "searches for each, in ranges of draws of their own; default 3")
        .type("N")
        .range(1, 1000);
    sub.option("--seeds", &args.seeds, "draws at most in one search; default 1000").type("N").range(1, 1'000'000);
    add_number(
        sub, "--first", [&args](std::uint64_t number) { args.first = number; }, "number of the first draw; default 1")
        .type("N");
    sub.option("--breadth", &args.breadth,
               "also make so many draws past the first failure, to see what else notices; default 0")
        .type("N")
        .range(0, 1'000'000);
    sub.flag("--no-shrink", &args.no_shrink, "do not shrink what was found");
    sub.option("--markdown", &args.markdown, "write the tables as a page").type("FILE");
    sub.option("--json", &args.json, "write one JSON document, to FILE or instead of all else to standard output")
        .type("[FILE]");
    add_threads(sub, args.threads);
    return sub;
}

}  // namespace lockstep::sim::cli
