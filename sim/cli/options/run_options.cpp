#include "sim/cli/options/options.h"

namespace lockstep::sim::cli {

namespace {

constexpr const char* kRunFooter =
    "Examples:\n"
    "  lockstep run scenarios/denied.json --seed 7\n"
    "  lockstep run --seeds 1000 -j 8 --fail-fast --junit out.xml\n"
    "  lockstep run --list --tag slow            what that would run\n"
    "  lockstep run my.json --set cluster.config.backoff_max=60s --without job_lock\n"
    "  lockstep run --tag mechanism --filter '*lock*'\n"
    "  lockstep run --json | jq .failed\n"
    "  lockstep run --seeds 1000 --failures failures/\n"
    "  lockstep run --seeds 1000 --shard 1/4     on one of four machines; the others take 2/4, 3/4 and 4/4\n"
    "  lockstep run --real my.json                the same file on real servers\n"
    "A file with a \"proves\" key is run twice: as it stands, and under its own seed without the mechanism that it "
    "names,\n"
    "when exactly the invariants that it names must break. --set, --without, --trace and --real leave the second run "
    "out.\n"
    "--real does what processes can be made to do (crash, stop, pause, restarts of Redis and NATS, submits, cancels,\n"
    "approvals) and judges what can be seen from outside; what it did not do or judge is listed at the end.\n";

}  // namespace

usage::Command add_run(const usage::Command& app, RunArgs& args) {
    const usage::Command sub = app.subcommand("run", "run scenario files and check what they promise");
    sub.footer(kRunFooter);
    add_selection(sub, args.selection, true);
    add_shard(sub, args.selection.shard, "make only part I of N of the runs, as one of N machines");
    sub.flag("--list", &args.list, "list what would be run, and run nothing");
    sub.flag("--fail-fast", &args.fail_fast, "start nothing more once a run has failed");
    sub.option("--run-timeout", &args.run_timeout,
               "end a run that takes longer than this of real time: it has no verdict then")
        .type("DURATION");
    sub.flag("--require-all-invariants", &args.all_invariants,
             "exit 4 unless every invariant was put to the test by some run");
    sub.flag("--allow-vacuous", &args.allow_vacuous, "exit 0 although something was left unproved");
    sub.option("--junit", &args.junit, "write a JUnit report").type("FILE");
    sub.option("--json", &args.json, "write one JSON document, to FILE or instead of all else to standard output")
        .type("[FILE]");
    sub.option(
           "--html", &args.html,
           "write a page to look at: of the first run that failed, or else of the first; into DIR/ one of each that "
           "failed")
        .type("FILE");
    sub.option("--markdown", &args.markdown, "write what failed, and a row for each scenario, as Markdown")
        .type("FILE");
    sub.option("--csv", &args.csv, "write a row for each run as comma-separated values").type("FILE");
    sub.option("--failures", &args.failures,
               "write failure files to this folder, one of each kind, for replay, explain and shrink")
        .type("DIR");
    sub.option("--trace", &args.trace, "write every event as a line of JSON (needs exactly one run)").type("FILE");
    sub.flag("--real", &args.selection.real,
             "on real servers: redis-server and nats-server, lockstepd, kernel and workers as processes, in "
             "real time");
    sub.option("--real-limit", &args.real_limit, "with --real: refuse longer load and faults than this; default 2m")
        .type("DURATION");
    return sub;
}

}  // namespace lockstep::sim::cli
