// The one table of the environment variables that our programs read. Whoever checks a value, explains a variable or prints what is in
// force goes by it: settings.cpp, known_variables.cpp, effective_settings.cpp, the reference page and `lockstepd --help` (O1).
//
// Tunables that have no variable of their own are LOCKSTEP_<TUNABLE> and stand in the engine's table (engine/config/tunables.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "engine/runtime/time.h"

namespace lockstep::prod {

enum class VariableKind : std::uint8_t {
    text,
    address,   // of a server; may have a log-in in it, which is never shown
    secret,    // never shown
    path,      // of a file
    flag,      // true or false
    duration,  // as 30s, 10m, 168h
    count,     // a whole number
    word,      // one of `words`
};

struct Variable {
    std::string_view section;
    std::string_view name;
    VariableKind kind;
    std::string_view otherwise;  // the default, as it would be written; empty: none
    std::string_view help;
    /// The tunable that it sets; empty: none. What holds without it is that tunable's default.
    std::string_view tunable{};
    /// The variable that says the same in another unit, and wins.
    std::string_view instead_of{};
    std::span<const std::string_view> words{};
    std::int64_t least = 0, most = 0;  // of a count; most 0: that of its tunable
    engine::Duration shortest{};       // of a duration; the longest is ten years
};

/// By section, the most important first.
[[nodiscard]] std::span<const Variable> variable_table();
/// Null when there is none of that name.
[[nodiscard]] const Variable* find_variable(std::string_view name);
/// REQUIRES: there is one of that name.
[[nodiscard]] const Variable& variable(std::string_view name);

/// Whether it may be given by NAME_FILE or by a credential of its name (secrets.h).
[[nodiscard]] bool may_stand_in_file(const Variable& variable);

/// What an operator sets a tunable by: its documented variable, else LOCKSTEP_<TUNABLE>.
[[nodiscard]] std::string variable_of(std::string_view tunable);

/// The reference page, Markdown: a table for each section and one for the tunables.
[[nodiscard]] std::string reference_page();
/// For `--help`: the names by section, in lines of at most `width` characters.
[[nodiscard]] std::string variables_by_section(std::size_t width);

}  // namespace lockstep::prod
