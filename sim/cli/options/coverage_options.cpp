#include "sim/cli/options/options.h"

namespace lockstep::sim::cli {

namespace {

constexpr const char* kCoverageFooter =
    "Counts the draws of `explore` that reach each documented setting, field of a request, outcome of a call, change "
    "of\n"
    "state and rare branch. Each has to be reached, or to be on the reviewed list of what cannot happen\n"
    "(sim/search/cannot_happen.cpp); what is on that list must not be reached. Against a table it is enough that what\n"
    "the table lets expect ten times is reached, and that the table has no row too few, too many or, if it is of a\n"
    "thousand draws, at zero without a reason.\n"
    "Examples:\n"
    "  lockstep coverage --seeds 1000 --data-loss --markdown sim/coverage.md\n"
    "  lockstep coverage --first 270 --seeds 60 --data-loss --against sim/coverage.md    as CI does\n"
    "  lockstep coverage --seeds 100 --json | jq '.items[] | select(.draws == 0)'\n"
    "Exit codes: 0 all as it should be, 1 something is not, 2 wrong input, 3 the harness failed.\n";

}  // namespace

usage::Command add_coverage(const usage::Command& app, CoverageArgs& args) {
    const usage::Command sub =
        app.subcommand("coverage", "count what the draws of explore reach, of all that is documented");
    sub.footer(kCoverageFooter);
    sub.option("--seeds", &args.seeds, "draws to make; default 1000").type("N").range(1, 1'000'000);
    add_number(
        sub, "--first", [&args](std::uint64_t number) { args.first = number; }, "number of the first draw; default 1")
        .type("N");
    sub.flag("--data-loss", &args.data_loss, "as many draws more that lose data, in a column of their own");
    sub.option("--markdown", &args.markdown, "write the table as a page").type("FILE");
    sub.option("--against", &args.against,
               "hold the draws against a table that was made with more: only what is frequent there must be reached")
        .type("FILE");
    add_threads(sub, args.threads);
    add_json(sub, args.json);
    return sub;
}

}  // namespace lockstep::sim::cli
