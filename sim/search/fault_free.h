// Fault-free stretches of a draw, with load in them: what is promised where nothing is disturbed is judged there, and not only once all
// is healed and done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/scenario/document.h"
#include "sim/scenario/scenario.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

class FaultFree {
public:
    /// One or two stretches, together about a third of the time until all is healed; none where that time is short.
    FaultFree(Dice& dice, Duration heal_at);

    /// As `chaos` has them.
    [[nodiscard]] Document document() const;
    /// The fault ends before a stretch begins, or begins after it; one that waits for an event waits only between two of them.
    void keep_out(Dice& dice, Document& fault) const;
    /// Some of the load comes again, in small, in each stretch and after the healing.
    void repeat_load(Dice& dice, Document& load) const;

private:
    std::vector<Stretch> stretches_;  // by begin
    Duration heal_at_;
};

/// The same of a draw that is complete but for its chaos, which is not drawn yet. The first faults, which are its themes', keep their times.
void leave_fault_free(std::uint64_t number, std::size_t of_themes, Document& scenario);

}  // namespace lockstep::sim
