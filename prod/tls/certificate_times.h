// When certificates in PEM files expire.
#pragma once

#include <chrono>
#include <string>
#include <tl/expected.hpp>

namespace lockstep::prod {

/// Which of several certificates in a file counts. A chain is refused once one of its certificates has expired; of authorities, which a
/// renewal adds to, the last one holds on.
enum class Expiry : std::uint8_t { first, last };

/// When the file's certificates expire, by the clock of the world. The error names the file and says why that cannot be told.
[[nodiscard]] tl::expected<std::chrono::sys_seconds, std::string> certificate_expiry(const std::string& file,
                                                                                     Expiry which);

}  // namespace lockstep::prod
