#include "sim/cli/options/options.h"

namespace lockstep::sim::cli {

namespace {

constexpr const char* kShrinkFooter =
    "Examples:\n"
    "  lockstep shrink failures/no_lost_job-draw17.json\n"
    "  lockstep shrink my.json --seed 9 --without job_lock --out small.json\n"
    "  lockstep shrink failures/no_lost_job-draw17.json --json | jq .scenario\n"
    "What is left violates the same invariant in the same way; without the mechanisms that `without` names it fails, "
    "and with\n"
    "them it holds. The original is kept. Ctrl-C leaves the smallest found so far.\n"
    "Exit codes: 0 shrunk, 1 --max-runs were used up before the smallest was reached, 2 it does not fail, 130 "
    "interrupted.\n";

}  // namespace

usage::Command add_shrink(const usage::Command& app, ShrinkArgs& args) {
    const usage::Command sub =
        app.subcommand("shrink", "reduce a failure to the smallest scenario that still fails like it");
    sub.footer(kShrinkFooter);
    sub.option("FILE", &args.file, "a failure file, or a scenario that fails").bytes().required();
    sub.option("--out", &args.out, "where to write it; default: beside the original, as .shrunk.json").type("FILE");
    add_seed(sub, args.seed);
    add_set(sub, args.overrides);
    add_without(sub, args.without);
    sub.option("--max-runs", &args.max_runs, "give up after so many runs; default 10000")
        .type("N")
        .range(1, 1'000'000'000);
    add_json(sub, args.json);
    return sub;
}

}  // namespace lockstep::sim::cli
