// Joins the shards of a comparison that was spread over machines.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "reports/compare/comparison.h"

namespace lockstep::reports {

/// One comparison out of its shards, in whatever order they come. Refused, with what differs and in which shard (counted from 1):
/// another question, file, criteria, variant, measure, scenario, version or commit, or two outcomes of one and the same run.
/// Complete only if every shard is and every variant has a run of every scenario under every seed. Of the courses the first
/// shard's that has them are kept.
[[nodiscard]] tl::expected<Comparison, std::string> merge(std::vector<Comparison> shards);

}  // namespace lockstep::reports
