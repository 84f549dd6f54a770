#include "reports/usage/version_flag.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/wire/json_text.h"

namespace lockstep::usage {

namespace {

std::string version_document(const std::string& program, const Build& build) {
    return engine::wire::json_text(nlohmann::json{{"name", program},
                                                  {"version", build.version},
                                                  {"commit", build.commit},
                                                  {"dirty", build.dirty},
                                                  {"build", build.name()},
                                                  {"compiler", __VERSION__}});
}

}  // namespace

std::string Build::name() const {
    return commit.empty() ? version : fmt::format("{}+{}{}", version, commit, dirty ? ".dirty" : "");
}

void add_version_flag(const Command& program, Build build) {
    program.version_flag(
        [program, build = std::move(build)](bool as_json) {
            return as_json ? version_document(program.name(), build)
                           : fmt::format("{} {}", program.name(), build.name());
        },
        "print the version and the commit, with --json as one object, and end");
}

}  // namespace lockstep::usage
