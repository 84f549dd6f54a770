#include "sim/cli/surroundings.h"

#include <cstdlib>
#include <string_view>

namespace lockstep::sim::cli {

namespace {

std::string_view value_of(const Variable& variable, const char* name) {
    const char* value = variable(name);
    return value == nullptr ? std::string_view{} : std::string_view(value);
}

/// Set, and not to what says that it is not meant.
bool said(const Variable& variable, const char* name) {
    const auto value = value_of(variable, name);
    return !value.empty() && value != "0" && value != "false";
}

/// Of a terminal that does more than to print what it is sent.
bool knows_escapes(const Variable& variable) {
    const auto kind = value_of(variable, "TERM");
    return !kind.empty() && kind != "dumb";
}

bool colour_wanted(const Variable& variable, bool terminal) {
    if (!value_of(variable, "NO_COLOR").empty()) return false;
    if (said(variable, "CLICOLOR_FORCE")) return true;
    return terminal && knows_escapes(variable);
}

}  // namespace

Surroundings surroundings(const Variable& variable, Terminals terminals) {
    Surroundings out;
    out.colour = colour_wanted(variable, terminals.out);
    if (terminals.err && knows_escapes(variable)) out.watcher = Watcher::Kind::terminal;
    if (said(variable, "CI")) out.watcher = Watcher::Kind::nobody;
    if (value_of(variable, "GITHUB_ACTIONS") == "true") out.step_summary = value_of(variable, "GITHUB_STEP_SUMMARY");
    return out;
}

const char* process_variable(const char* name) { return std::getenv(name); }

}  // namespace lockstep::sim::cli
