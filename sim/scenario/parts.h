// What a scenario file takes from other files, and the cells of its matrix: both are settled before anything else looks at the document.
//
// 1. "include": files beside it that it begins with, in their order, and then changes (JSON Merge Patch, RFC 7396): objects are merged,
//    lists and all else replaced, null takes a member away. They are parts, called *.part.json, and include nothing themselves.
// 2. "matrix": values by path, as --set takes them. The file stands for a scenario of each combination.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace lockstep::sim {

inline constexpr const char* kPartSuffix = ".part.json";

/// The files that it includes, in their order.
[[nodiscard]] std::vector<std::filesystem::path> parts_of(const nlohmann::json& document,
                                                          const std::filesystem::path& folder);

/// The document as its parts make it, without "include". `folder`: that of the file. The error is a sentence.
[[nodiscard]] tl::expected<nlohmann::json, std::string> with_parts(nlohmann::json document,
                                                                   const std::filesystem::path& folder);

/// So many scenarios a file stands for at most: a few more paths in a matrix would fill the memory.
inline constexpr std::size_t kCellsMax = 1'000;

/// PATH=VALUE of each combination of a matrix; one without any where there is no matrix. `overrides`: assignments from elsewhere; what they
/// set has no other value. Of more than kCellsMax it returns kCellsMax + 1, which are not to be run.
using Cell = std::vector<std::string>;
[[nodiscard]] std::vector<Cell> cells_of(const nlohmann::json& document, const std::vector<std::string>& overrides);

/// "schedulers=3, backoff_base=5s"; empty for none.
[[nodiscard]] std::string cell_text(const Cell& cell);

}  // namespace lockstep::sim
