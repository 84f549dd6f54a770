#include "sim/cli/options/options.h"

namespace lockstep::sim::cli {

namespace {

constexpr const char* kVerifyFooter =
    "Examples:\n"
    "  lockstep verify-determinism --seeds 5\n"
    "  lockstep verify-determinism --write digests.json          in one build\n"
    "  lockstep verify-determinism --against digests.json        in another; with --once in half the time\n"
    "  lockstep verify-determinism --json | jq .differences\n"
    "\n"
    "The second runs are made in another order and find other memory than the first: a run that depends on either is "
    "not\n"
    "deterministic. A difference is reported with the first event that differs, and what each run made of it. Between "
    "two\n"
    "builds compare traces: the command prints how to make them.\n";

}  // namespace

usage::Command add_verify(const usage::Command& app, VerifyArgs& args) {
    const usage::Command sub =
        app.subcommand("verify-determinism", "run each scenario twice per seed and compare the digests");
    sub.footer(kVerifyFooter);
    add_selection(sub, args.selection, true);
    sub.option("--write", &args.write, "write the digests, for another build to compare with").type("FILE");
    sub.option("--against", &args.against, "compare with the digests that another build wrote").type("FILE");
    sub.flag("--once", &args.once, "with --write or --against: one run each, the other build's are the second ones");
    add_json(sub, args.json);
    return sub;
}

}  // namespace lockstep::sim::cli
