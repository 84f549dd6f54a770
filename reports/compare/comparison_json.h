// A comparison as a JSON document, for people's own tools, as a baseline and as a shard of a larger one. Its form is published
// in comparison.schema.json; members are only ever added within a format.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "reports/compare/comparison.h"
#include "reports/compare/verdict.h"

namespace lockstep::reports {

/// "format" of a document: the major version of comparison.schema.json. "schema_version" has the minor one, too: a member that is
/// added makes a new one, and documents of the versions before still fit (kept_documents/).
inline constexpr int kComparisonFormat = 1;
inline constexpr std::string_view kComparisonSchemaVersion = "1.1";

/// Ends in a newline; a run stands on one line. A value that a run does not have is null, broken UTF-8 is replaced: equal
/// comparisons give equal text.
[[nodiscard]] std::string comparison_json(const Comparison& comparison, const Analysis& analysis);

/// The comparison in such a document; what was computed from it (effects, verdict) is left aside. `name` is what errors call
/// the document. Indices and names are checked, so that what comes back can be analysed.
[[nodiscard]] tl::expected<Comparison, std::string> read_comparison(std::string_view text, std::string_view name);

}  // namespace lockstep::reports
