#include "sim/cli/options/options.h"

namespace lockstep::sim::cli {

namespace {

constexpr const char* kExplainFooter =
    "Says what was violated, which two facts contradict each other, who held the lock, and what led to it, node by "
    "node. Of\n"
    "a run that holds, the story of a job. Numbers with # are events; <- says where a message came from.\n"
    "Examples:\n"
    "  lockstep explain failures/no_lost_job-draw17.json\n"
    "  lockstep explain my.json --seed 9 --without job_lock --job j-3 --by-time\n"
    "  lockstep explain my.json --html run.html\n"
    "  lockstep explain my.json --job j-3 --svg j-3.svg\n"
    "  lockstep explain my.json --json | jq -r .story[]\n"
    "Exit codes: 0 it holds, 1 it is violated, 2 wrong input, 3 the harness failed.\n";

}  // namespace

usage::Command add_explain(const usage::Command& app, ExplainArgs& args) {
    const usage::Command sub = app.subcommand("explain", "tell the story of a run: why it fails, or how a job went");
    sub.footer(kExplainFooter);
    sub.option("FILE", &args.file, "a scenario, or a file that run, explore or shrink wrote").bytes().required();
    sub.option("--job", &args.job, "tell of this job (default: the one concerned, or the first)").type("ID");
    add_seed(sub, args.seed);
    add_set(sub, args.overrides);
    add_without(sub, args.without);
    sub.option("--html", &args.html, "write the run as one page to look at, with nothing else needed").type("FILE");
    sub.option("--svg", &args.svg, "draw the job that is told of, with locks, messages and faults").type("FILE");
    sub.flag("--by-time", &args.by_time, "one list in the order of time, not one per node");
    sub.flag("--other-jobs", &args.other_jobs, "also what led to it by way of other jobs");
    add_json(sub, args.json);
    add_recorded_by(sub, args.recorded_by);
    return sub;
}

}  // namespace lockstep::sim::cli
