#include "sim/cli/surroundings.h"

#include <cstdlib>
#include <string_view>

namespace lockstep::sim::cli {

namespace {

std::string_view value_of(const Variable& variable, const char* name) {
    const char* value = variable(name);
    return value == nullptr ? std::string_view{} : std::string_view(value);
}

}  // namespace

Surroundings surroundings(const Variable& variable, bool terminal) {
    Surroundings out;
    const char* kind = variable("TERM");
    out.colour =
        terminal && value_of(variable, "NO_COLOR").empty() && kind != nullptr && std::string_view(kind) != "dumb";
    if (value_of(variable, "GITHUB_ACTIONS") == "true") out.step_summary = value_of(variable, "GITHUB_STEP_SUMMARY");
    return out;
}

const char* process_variable(const char* name) { return std::getenv(name); }

}  // namespace lockstep::sim::cli
