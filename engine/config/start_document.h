// What a scheduler writes to the configuration service when it starts: the document of the system, if there is none, and in
// it the pools and timeouts of its files (settings.md 4, the table of cases).
//
// An operator's values are never overwritten: of the pools only what is missing is added, and only when the file has
// changed since it was last seen. Timeouts belong to the file, whose changes replace them.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/runtime/time.h"

namespace lockstep::engine {

inline constexpr std::string_view kSystemDocument = "cfg:system:default";

/// The files as JSON, in the shape that the configuration service holds; empty: there is no such file.
struct FileDocuments {
    std::string pools;
    std::string timeouts;
};

/// A pools document in the shape that the reference stores (D-12): topics map to lists, pools to objects, and
/// what a pool leaves empty is left out. REQUIRES: `parse_pools` reads it.
[[nodiscard]] std::string stored_pools(std::string_view pools_json);

/// The document to write in place of `stored` (empty: there is none), with the next revision; empty when there is nothing to
/// write. The error says why the stored one must be left alone.
[[nodiscard]] tl::expected<std::string, std::string> start_document(std::string_view stored, const FileDocuments& files,
                                                                    WallTime now);

/// Topics and pools of the file whose stored entries say something else, as `topics/job.a`: those of the service are in force.
[[nodiscard]] std::vector<std::string> overruled(std::string_view stored, const FileDocuments& files);

}  // namespace lockstep::engine
