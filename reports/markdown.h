// Text that comes from a run, in Markdown.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::reports {

/// Text that Markdown and HTML leave alone, on one line: it cannot break out of a table's cell.
[[nodiscard]] std::string plain_markdown(std::string_view text);

/// A block of code, indented so that no text can end it.
[[nodiscard]] std::string code_block(std::string_view text);

}  // namespace lockstep::reports
