#include "sim/cli/options/options.h"

namespace lockstep::sim::cli {

usage::Command add_validate(const usage::Command& app, ValidateArgs& args) {
    const usage::Command sub = app.subcommand("validate", "check scenario files, run nothing");
    sub.footer("Example:\n  lockstep validate scenarios/ my-scenario.json\n");
    sub.option("PATH", &args.paths, "scenario files, or folders of them (default: scenarios/)").bytes();
    sub.flag("--json", &args.json, "print the errors as one JSON document");
    return sub;
}

}  // namespace lockstep::sim::cli
