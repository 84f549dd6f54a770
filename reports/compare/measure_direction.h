// Which way a measure gets better, as documents spell it.
#pragma once

#include <optional>
#include <string_view>

#include "reports/compare/comparison.h"

namespace lockstep::reports {

[[nodiscard]] constexpr std::string_view direction_name(Measure::Better better) {
    switch (better) {
        case Measure::Better::lower: return "lower";
        case Measure::Better::higher: return "higher";
        case Measure::Better::neither: break;
    }
    return "neither";
}

/// None for a name that is no direction.
[[nodiscard]] constexpr std::optional<Measure::Better> direction_named(std::string_view name) {
    for (const auto better : {Measure::Better::lower, Measure::Better::higher, Measure::Better::neither})
        if (direction_name(better) == name) return better;
    return std::nullopt;
}

}  // namespace lockstep::reports
