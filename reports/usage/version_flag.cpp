#include "reports/usage/version_flag.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace lockstep::usage {

namespace {

/// Asked for where the program has no such option of its own, too.
bool asks_for_json(const CLI::App& app) {
    if (const CLI::Option* own = app.get_option_no_throw("--json"); own != nullptr && own->count() > 0) return true;
    return std::ranges::count(app.remaining(), "--json") > 0;
}

std::string version_document(const std::string& program, const Build& build) {
    return nlohmann::json{{"name", program},      {"version", build.version}, {"commit", build.commit},
                          {"dirty", build.dirty}, {"build", build.name()},    {"compiler", __VERSION__}}
        .dump();
}

}  // namespace

std::string Build::name() const {
    return commit.empty() ? version : fmt::format("{}+{}{}", version, commit, dirty ? ".dirty" : "");
}

void add_version_flag(CLI::App& app, Build build) {
    app.set_version_flag(
        "--version",
        [&app, build = std::move(build)] {
            return asks_for_json(app) ? version_document(app.get_name(), build)
                                      : fmt::format("{} {}", app.get_name(), build.name());
        },
        "print the version and the commit, with --json as one object, and end");
}

}  // namespace lockstep::usage
