// The manual page of a program, made from its parser: what `--help` says of each command, on one page for man(1).
#pragma once

#include <string>
#include <string_view>

#include "reports/usage/command.h"

namespace lockstep::usage {

/// Section 1, in the macros of man(7). The same parser gives the same bytes: no date.
[[nodiscard]] std::string manual_page(const Command& command_line, std::string_view version);

}  // namespace lockstep::usage
