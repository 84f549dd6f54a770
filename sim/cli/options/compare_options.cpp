#include "sim/cli/options/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace lockstep::sim::cli {

namespace {

constexpr const char* kCompareFooter =
    "All variants run under the same seeds in the same worlds: arrivals, faults, and how try n of a job goes are the "
    "same in\n"
    "all of them, so that what differs comes of the settings. FILE is a comparison (scenarios/compare/) or, with "
    "--vary, a\n"
    "scenario.\n"
    "Examples:\n"
    "  lockstep compare scenarios/compare/backoff.json --html report.html\n"
    "  lockstep compare scenarios/kernel-flaps.json --vary backoff_base=200ms,1s,5s --seeds 50\n"
    "  lockstep compare FILE --json part-1.json --shard 1/4          on one of four machines; then\n"
    "  lockstep compare --merge part-1.json --merge part-2.json --html report.html\n"
    "  lockstep compare FILE --json result.json --resume             goes on after Ctrl-C\n"
    "  lockstep compare FILE --baseline old.json                     has it become worse?\n"
    "  lockstep compare FILE --against ../before/lockstep            what a change of the code comes to\n"
    "Exit codes: 0 done, or no worse than the baseline; 1 an invariant or expectation did not hold, or something is "
    "worse; 2\n"
    "wrong input, a baseline of something else, or another build that cannot compare; 3 the harness failed; 4 nothing "
    "was compared, or the baseline's "
    "intervals\n"
    "hold the threshold; 130 interrupted.\n";

}  // namespace

CLI::App* add_compare(CLI::App& app, CompareArgs& args) {
    CLI::App* sub = app.add_subcommand("compare", "hold tunings against each other and say which serves best");
    sub->footer(kCompareFooter);
    sub->add_option("FILE", args.file, "a comparison file, or a scenario to compare with --vary");
    sub->add_option("--vary", args.vary, "a setting and its values (repeatable: every combination)")
        ->type_name("NAME=V,V")
        ->expected(1)
        ->take_all();
    sub->add_option("--seeds", args.seeds, "run N consecutive seeds; default: as the file says, or 20")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000));
    add_seed(*sub, args.seed, "the first seed; default: as the file says, or 1");
    add_threads(*sub, args.threads);
    sub->add_option("--html", args.html, "write the report as one page")->type_name("FILE");
    sub->add_option("--markdown", args.markdown, "write it as Markdown")->type_name("FILE");
    sub->add_option("--csv", args.csv, "write a row for each run and measure")->type_name("FILE");
    sub->add_option("--json", args.json, "write one JSON document, to FILE or instead of all else to standard output")
        ->type_name("[FILE]");
    sub->add_option("--junit", args.junit, "write a JUnit report")->type_name("FILE");
    add_shard(*sub, args.shard, "run only part I of N of the seeds and scenarios");
    sub->add_option("--merge", args.merge, "in place of FILE: join what --json has written (repeatable)")
        ->type_name("FILE")
        ->expected(1)
        ->take_all();
    sub->add_flag("--resume", args.resume,
                  "go on from what an interrupted comparison has written to the file of --json");
    sub->add_option("--baseline", args.baseline, "hold it against an earlier result of --json")->type_name("FILE");
    sub->add_option("--against", args.against,
                    "run the same with another build of lockstep and hold this one against it")
        ->type_name("PATH");
    return sub;
}

}  // namespace lockstep::sim::cli
