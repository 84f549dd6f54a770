#include "sim/cli/options/options.h"

#include <fmt/format.h>

namespace lockstep::sim::cli {

const std::vector<std::string>& list_topics() {
    static const std::vector<std::string> kTopics{"invariants", "mechanisms", "faults",   "events", "tunables",
                                                  "metrics",    "measures",   "branches", "outputs", "chaos"};
    return kTopics;
}

usage::Command add_list(const usage::Command& app, ListArgs& args) {
    const usage::Command sub = app.subcommand("list", "names that scenario files may use, with one line each");
    sub.footer("Examples:\n  lockstep list faults\n  lockstep list --schema > scenario.schema.json\n");
    sub.option("TOPIC", &args.topic, fmt::format("one of {} (default: all)", fmt::join(list_topics(), ", ")))
        .one_of(list_topics());
    sub.flag("--json", &args.json, "print one JSON document");
    sub.flag("--schema", &args.schema, "print the JSON Schema of scenario files; with measures, of comparisons");
    return sub;
}

}  // namespace lockstep::sim::cli
