#include "sim/cli/options/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

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

CLI::App* add_explore(CLI::App& app, ExploreArgs& args) {
    CLI::App* sub = app.add_subcommand("explore", "look for failures in scenarios that nobody wrote");
    sub->footer(kExploreFooter);
    sub->add_option("PATH", args.paths, "scenarios whose cluster and load are used (default: those are drawn, too)");
    sub->add_option("--seeds", args.seeds, "draws to make (default: no limit)")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000'000));
    add_number(
        *sub, "--first", [&args](std::uint64_t number) { args.first = number; }, "number of the first draw; default 1")
        ->type_name("N");
    sub->add_option("--for", args.wall, "begin no draw after this long, such as 10m")->type_name("DURATION");
    add_without(*sub, args.without);
    sub->add_option("--out", args.out, "folder of the failure files; default failures")->type_name("DIR");
    sub->add_flag("--keep-going", args.keep_going, "do not end at the first failure");
    sub->add_flag("--resume", args.resume, "go on where the exploration in the output folder ended");
    sub->add_flag("--shrink", args.shrink, "shrink what was found");
    sub->add_option_function<std::string>(
           "--data-loss",
           [&args](const std::string& word) {
               const auto loss = data_loss_named(word);
               if (!loss)
                   throw CLI::ValidationError("--data-loss",
                                              fmt::format("expected nats, redis or both, got \"{}\"", word));
               args.data_loss = *loss;
           },
           "also draw faults that destroy data acknowledged by nats, redis or both; both without a value")
        ->type_name("[SERVER]");
    sub->add_option("--markdown", args.markdown, "write what was found as Markdown")->type_name("FILE");
    sub->add_option("--csv", args.csv, "write a row for each kind of failure as comma-separated values")
        ->type_name("FILE");
    add_threads(*sub, args.threads);
    add_json(*sub, args.json);
    add_recorded_by(*sub, args.recorded_by);
    return sub;
}

}  // namespace lockstep::sim::cli
