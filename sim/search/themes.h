// Themes of exploration: situations in which schedulers go wrong, each a change to a drawn scenario. A draw takes up none or
// up to three, so that what a theme needs comes together more often than chance alone would bring it about, and themes meet.
//
// A theme knows the system's documented features and nothing of what is switched off.
#pragma once

#include <span>

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

struct Theme {
    const char* name;  // becomes a tag of the draw
    /// Its settings bear no long outage, or its own faults are what it is about: it comes alone, without further faults.
    bool alone;
    void (*apply)(Dice& dice, Document& scenario);
};

/// Taken up in turns.
[[nodiscard]] std::span<const Theme> themes();
/// About workflow runs, which have more states than all else has together: one of them stands in for many a draw that would have no
/// theme.
[[nodiscard]] std::span<const Theme> run_themes();

}  // namespace lockstep::sim
