// Where two runs that should have been one part: the first event that differs, with what each run made of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/run/result.h"

namespace lockstep::sim::cli {

/// One of the two runs of a pair, made again. `first` is the one that nothing disturbs.
using RunAgain = std::function<RunResult(bool first, const Recording&)>;

/// Makes the pair again, recording every event, until it parts again, and tells where and how: several lines, indented by
/// two. Says so when the runs agree from now on, which is a difference all the same, only a rare one.
[[nodiscard]] std::string first_difference(const RunAgain& run);

/// The number of the first event in which two recordings differ, the end of the shorter one included; nothing when they are
/// equal.
[[nodiscard]] std::optional<std::uint64_t> parting(const std::vector<std::uint64_t>& a,
                                                   const std::vector<std::uint64_t>& b);

/// What each run made of the event, and in which fields that differs. An event that one of them does not have is null.
/// `a_is` and `b_is` name the runs.
[[nodiscard]] std::string describe_parting(const RecordedEvent* a, const RecordedEvent* b, std::string_view a_is,
                                           std::string_view b_is);

}  // namespace lockstep::sim::cli
