// Where the programs of a deployment are.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <tl/expected.hpp>

namespace lockstep::prod {

/// By name, such as redis-server: the path of each program that a deployment consists of.
using Programs = std::map<std::string, std::filesystem::path>;

/// Servers are looked for on `path` (as the variable PATH) and in the folders of system programs, ours in the folder `beside` and then
/// on `path`. The error names all that are missing, each with what installs it.
[[nodiscard]] tl::expected<Programs, std::string> find_programs(const std::filesystem::path& beside,
                                                                const std::string& path);

}  // namespace lockstep::prod
