#include "sim/cli/options/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "reports/usage/refusal.h"

namespace lockstep::sim::cli {

const std::vector<std::string>& list_topics() {
    static const std::vector<std::string> kTopics{"invariants", "mechanisms", "faults",   "events", "tunables",
                                                  "metrics",    "measures",   "branches", "chaos"};
    return kTopics;
}

CLI::App* add_list(CLI::App& app, ListArgs& args) {
    CLI::App* sub = app.add_subcommand("list", "names that scenario files may use, with one line each");
    sub->footer("Examples:\n  lockstep list faults\n  lockstep list --schema > scenario.schema.json\n");
    sub->add_option("TOPIC", args.topic, fmt::format("one of {} (default: all)", fmt::join(list_topics(), ", ")))
        ->check(usage::one_of(list_topics()));
    sub->add_flag("--json", args.json, "print one JSON document");
    sub->add_flag("--schema", args.schema, "print the JSON Schema of scenario files; with measures, of comparisons");
    return sub;
}

}  // namespace lockstep::sim::cli
