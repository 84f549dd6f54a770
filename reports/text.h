// Foreign text (details of violations, stories, names of files) made fit for the formats that reports are written in.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::reports {

/// Valid UTF-8 without the control characters that XML 1.0 cannot carry even escaped: a broken byte becomes U+FFFD, a
/// forbidden character is left out. Tab, line feed and carriage return stay.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace lockstep::reports
