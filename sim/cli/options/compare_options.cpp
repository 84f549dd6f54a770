#include "sim/cli/options/options.h"

#include <fmt/format.h>

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
    "  lockstep compare FILE --history kept --html report.html       how has it gone over the last builds?\n"
    "  lockstep compare FILE --against ../before/lockstep            what a change of the code comes to\n"
    "Exit codes: 0 done, or no worse than the baseline; 1 an invariant or expectation did not hold, or something is "
    "worse; 2\n"
    "wrong input, a baseline of something else, or another build that cannot compare; 3 the harness failed; 4 nothing "
    "was compared, or the baseline's "
    "intervals\n"
    "hold the threshold; 130 interrupted.\n";

}  // namespace

usage::Command add_compare(const usage::Command& app, CompareArgs& args) {
    const usage::Command sub = app.subcommand("compare", "hold tunings against each other and say which serves best");
    sub.footer(kCompareFooter);
    sub.option("FILE", &args.file, "a comparison file, or a scenario to compare with --vary").bytes();
    sub.option("--vary", &args.vary, "a setting and its values (repeatable: every combination)")
        .type("NAME=V,V")
        .repeatable();
    sub.option("--objective", &args.objectives,
               "a measure to improve, the most important one first (repeatable); default: as the file says")
        .type("MEASURE")
        .repeatable();
    add_set(sub, args.overrides);
    sub.option("--seeds", &args.seeds, "run N consecutive seeds; default: as the file says, or 20")
        .type("N")
        .range(1, 1'000'000);
    add_seed(sub, args.seed, "the first seed; default: as the file says, or 1");
    add_threads(sub, args.threads);
    sub.option("--html", &args.html, "write the report as one page").type("FILE");
    sub.option("--markdown", &args.markdown, "write it as Markdown").type("FILE");
    sub.option("--csv", &args.csv, "write a row for each run and measure").type("FILE");
    sub.option("--json", &args.json, "write one JSON document, to FILE or instead of all else to standard output")
        .type("[FILE]");
    sub.option("--junit", &args.junit, "write a JUnit report").type("FILE");
    add_shard(sub, args.shard, "run only part I of N of the seeds and scenarios");
    sub.option("--merge", &args.merge, "in place of FILE: join what --json has written (repeatable)")
        .type("FILE")
        .repeatable();
    sub.flag("--resume", &args.resume, "go on from what an interrupted comparison has written to the file of --json");
    sub.option("--baseline", &args.baseline, "hold it against an earlier result of --json").type("FILE");
    sub.option("--history", &args.history,
               "a folder of results that were kept before: the reports show the trend, and this one is added")
        .type("DIR");
    sub.option("--against", &args.against, "run the same with another build of lockstep and hold this one against it")
        .type("PATH");
    return sub;
}

}  // namespace lockstep::sim::cli
