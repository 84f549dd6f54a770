// Completion scripts for shells, made from the parser of a program itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reports/usage/command.h"

namespace lockstep::usage {

enum class Shell : std::uint8_t { bash, zsh, fish };
[[nodiscard]] std::optional<Shell> shell_called(std::string_view name);

/// What is to be sourced. It completes commands, options (those of the program at every command), words that an option or
/// argument is limited to, and file names everywhere else. Needs nothing but the shell.
[[nodiscard]] std::string completion_script(const Command& program, Shell shell);

}  // namespace lockstep::usage
