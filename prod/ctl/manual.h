// The manual page of a program, made from its parser: what `--help` says of each command, on one page for man(1).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace lockstep::prod {

/// Section 1, in the macros of man(7). The same parser gives the same bytes: no date.
[[nodiscard]] std::string manual_page(const CLI::App& app, std::string_view version);

}  // namespace lockstep::prod
