// Output files that are either complete or not there: whoever watches for one never reads half of it, and a run that is
// interrupted leaves the previous one as it was.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace lockstep::reports {

/// Writes to a temporary file beside `path`, syncs it and renames it. Missing folders are made. A path that is no regular
/// file (/dev/stdout, a pipe) is written directly. The error names the path and the reason.
[[nodiscard]] tl::expected<void, std::string> write_atomically(const std::filesystem::path& path,
                                                               std::string_view content);

}  // namespace lockstep::reports
