// Text that comes from a run, in a table of comma-separated values (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace lockstep::reports {

/// One field: in quotes where it needs them, printable (text.h).
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace lockstep::reports
