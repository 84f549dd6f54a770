// `run --json`, `replay --dump` and `explore --data-loss` take a value or none, which the parser cannot tell from a path that
// follows.
#pragma once

#include <string>
#include <vector>

namespace lockstep::sim::cli {

/// The same arguments, with those options written as `--option=VALUE`; "-" is the value of one that has none, of a data loss
/// "both". A following word is taken for the value only if it is one of its words, or if writing there destroys nothing that is
/// not ours.
[[nodiscard]] std::vector<std::string> with_optional_values_settled(const std::vector<std::string>& args);

}  // namespace lockstep::sim::cli
