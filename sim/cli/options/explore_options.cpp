#include "sim/cli/options/options.h"

#include <fmt/format.h>

namespace lockstep::sim::cli {

namespace {

constexpr const char* kExploreFooter =
    "Each draw is a scenario of its own: cluster, load, settings and faults come from its number. What fails is "
    "written to\n"
    "the output folder as a file for replay and shrink; of failures that look alike, the shortest.\n"
    "Examples:\n"
    "  lockstep explore --for 10m\n"
    "  lockstep explore --seeds 1000 --without lock_fencing --shrink\n"
    "  lockstep explore --for 8h --keep-going --resume    goes on where the last one ended\n"
    "  lockstep explore --seeds 100 --json | jq .failures\n"
    "Exit codes: 0 nothing found, 1 a failure found, 2 wrong input, 3 the harness failed, 4 nothing was run.\n";

}  // namespace

usage::Command add_explore(const usage::Command& app, ExploreArgs& args) {
    const usage::Command sub = app.subcommand("explore", "look for failures in scenarios that nobody wrote");
    sub.footer(kExploreFooter);
    sub.option("PATH", &args.paths, "scenarios whose cluster and load are used (default: those are drawn, too)")
        .bytes();
    sub.option("--seeds", &args.seeds, "draws to make (default: no limit)").type("N").range(1, 1'000'000'000);
    add_number(
        sub, "--first", [&args](std::uint64_t number) { args.first = number; }, "number of the first draw; default 1")
        .type("N");
    sub.option("--for", &args.wall, "begin no draw after this long, such as 10m").type("DURATION");
    add_set(sub, args.overrides);
    add_without(sub, args.without);
    sub.option("--out", &args.out, "folder of the failure files; default failures").type("DIR");
    sub.flag("--keep-going", &args.keep_going, "do not end at the first failure");
    sub.flag("--resume", &args.resume, "go on where the exploration in the output folder ended");
    sub.flag("--shrink", &args.shrink, "shrink what was found");
    sub.option(
           "--data-loss",
           [&args](const std::string& word) {
               const auto loss = data_loss_named(word);
               if (!loss) usage::refuse(fmt::format("--data-loss: expected nats, redis or both, got \"{}\"", word));
               args.data_loss = *loss;
           },
           "also draw faults that destroy data acknowledged by nats, redis or both; both without a value")
        .type("[SERVER]");
    sub.option("--markdown", &args.markdown, "write what was found as Markdown").type("FILE");
    sub.option("--csv", &args.csv, "write a row for each kind of failure as comma-separated values").type("FILE");
    add_threads(sub, args.threads);
    add_json(sub, args.json);
    add_recorded_by(sub, args.recorded_by);
    return sub;
}

}  // namespace lockstep::sim::cli
