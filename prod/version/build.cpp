#include "prod/version/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lockstep::prod {

namespace {

/// Asked for where the program has no such option of its own, too.
bool asks_for_json(const CLI::App& app) {
    if (const CLI::Option* own = app.get_option_no_throw("--json"); own != nullptr && own->count() > 0) return true;
    return std::ranges::count(app.remaining(), "--json") > 0;
}

std::string version_document(const std::string& program) {
    return nlohmann::json{{"name", program}, {"version", LOCKSTEP_VERSION}, {"commit", kCommit},
                          {"dirty", kDirty}, {"build", build_name()},       {"compiler", __VERSION__}}
        .dump();
}

}  // namespace

std::string build_name() {
    const std::string commit = kCommit;
    return commit.empty() ? LOCKSTEP_VERSION : fmt::format("{}+{}{}", LOCKSTEP_VERSION, commit, kDirty ? ".dirty" : "");
}

void add_version_flag(CLI::App& app) {
    app.set_version_flag(
        "--version",
        [&app] {
            return asks_for_json(app) ? version_document(app.get_name())
                                      : fmt::format("{} {}", app.get_name(), build_name());
        },
        "print the version and the commit, with --json as one object, and end");
}

}  // namespace lockstep::prod
