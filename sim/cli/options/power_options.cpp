#include "sim/cli/options/options.h"

#include <CLI/CLI.hpp>

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

CLI::App* add_power(CLI::App& app, PowerArgs& args) {
    CLI::App* sub =
        app.add_subcommand("power", "measure how soon exploration finds each mechanism that is switched off");
    sub->footer(kPowerFooter);
    sub->add_option("PATH", args.paths, "where the files that prove mechanisms are (default: scenarios/)");
    sub->add_option("--mechanism", args.mechanisms, "only this one (repeatable; default: all that there are)")
        ->type_name("MECHANISM")
        ->expected(1)
        ->take_all();
    sub->add_option("--repeats", args.repeats, "searches for each, in ranges of draws of their own; default 3")
        ->type_name("N")
        ->check(CLI::Range(1, 1000));
    sub->add_option("--seeds", args.seeds, "draws at most in one search; default 1000")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000));
    add_number(
        *sub, "--first", [&args](std::uint64_t number) { args.first = number; }, "number of the first draw; default 1")
        ->type_name("N");
    sub->add_option("--breadth", args.breadth,
                    "also make so many draws past the first failure, to see what else notices; default 0")
        ->type_name("N")
        ->check(CLI::Range(0, 1'000'000));
    sub->add_flag("--no-shrink", args.no_shrink, "do not shrink what was found");
    sub->add_option("--markdown", args.markdown, "write the tables as a page")->type_name("FILE");
    sub->add_option("--json", args.json, "write one JSON document, to FILE or instead of all else to standard output")
        ->type_name("[FILE]");
    add_threads(*sub, args.threads);
    return sub;
}

}  // namespace lockstep::sim::cli
