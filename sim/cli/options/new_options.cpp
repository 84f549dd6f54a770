#include "sim/cli/options/options.h"

namespace lockstep::sim::cli {

namespace {

constexpr const char* kNewFooter =
    "Examples:\n"
    "  lockstep new a-worker-dies-in-mid-job\n"
    "  lockstep new a-worker-dies-in-mid-job --out tests/worker.json\n"
    "The file holds as it stands; its comments say what to change. A file that is there is not overwritten. Beside it "
    "stands\n"
    "scenario.schema.json, by which editors complete and check it.\n";

}  // namespace

usage::Command add_new(const usage::Command& app, NewArgs& args) {
    const usage::Command sub = app.subcommand("new", "write a scenario file with comments, to begin with");
    sub.footer(kNewFooter);
    sub.option("NAME", &args.name, "of the scenario").required();
    sub.option("--out", &args.out, "where it goes; default: NAME.json, in scenarios/ where there is such a folder")
        .type("FILE");
    return sub;
}

}  // namespace lockstep::sim::cli
