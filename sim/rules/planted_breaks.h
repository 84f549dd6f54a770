// For every rule a break that is planted before its eyes: a short story of what a broken scheduler would do, told twice, once as
// it should go and once with the break. A rule that says nothing to the second is decoration; one that objects to the first
// cries wolf.
//
// The mechanisms that can be switched off do not make all of these mistakes, so that exploration alone would not show that each
// rule is awake.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::sim {

class ForgedWorld;

struct PlantedBreak {
    std::string_view invariant;
    std::string_view what;  // the break, as a clause
    void (*tell)(ForgedWorld& world, bool broken);
};

/// One for each invariant of the catalogue that is available, in its order.
[[nodiscard]] std::span<const PlantedBreak> planted_breaks();
/// The invariants that are violated when it is told.
[[nodiscard]] std::set<std::string> noticed(const PlantedBreak& planted, bool broken);
/// What its rule notices of what was planted for it first: `what`, or nothing when it does not notice.
[[nodiscard]] std::string_view planted_and_noticed(std::string_view invariant);

}  // namespace lockstep::sim
