// Reading a whole file that a user named.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace lockstep::sim {

/// As users name it.
inline constexpr const char* kStandardInput = "-";

/// Nothing when it cannot be read to its end: it is not there, a folder, or a device that refuses. Does not throw. What a pipe gave is
/// kept for the next call.
[[nodiscard]] std::optional<std::string> text_of_file(const std::filesystem::path& path);

}  // namespace lockstep::sim
