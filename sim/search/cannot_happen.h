// What no draw can reach, reviewed: each entry says why. One that is reached after all is a failure of `lockstep coverage`, and
// so is anything else that is documented and that no draw reaches.
#pragma once

#include <span>
#include <string_view>

#include "sim/search/coverage.h"

namespace lockstep::sim {

struct CannotHappen {
    const char* group;
    std::string_view name;
    const char* why;
};

[[nodiscard]] std::span<const CannotHappen> cannot_happen();
/// Null for what is not on the list.
[[nodiscard]] const CannotHappen* find_cannot_happen(const CoverageItem& item);

}  // namespace lockstep::sim
