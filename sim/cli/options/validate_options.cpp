#include "sim/cli/options/options.h"

#include <CLI/CLI.hpp>

namespace lockstep::sim::cli {

CLI::App* add_validate(CLI::App& app, ValidateArgs& args) {
    CLI::App* sub = app.add_subcommand("validate", "check scenario files, run nothing");
    sub->footer("Example:\n  lockstep validate scenarios/ my-scenario.json\n");
    sub->add_option("PATH", args.paths, "scenario files, or folders of them (default: scenarios/)");
    sub->add_flag("--json", args.json, "print the errors as one JSON document");
    return sub;
}

}  // namespace lockstep::sim::cli
