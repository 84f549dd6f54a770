// Which events of a run stand on its page, when all of them would make it too large.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/explain/causality.h"
#include "sim/run/result.h"

namespace lockstep::sim {

/// Kept are, in this order: crashes, pauses and faults; what led to the violation, and its job; what came last before it, or
/// else at the end; then whole jobs, evenly chosen. `notes` says so where something is left out.
class Thinning {
public:
    /// `violation`: null for none. `most`: so many events are kept.
    Thinning(const History& history, const Causality& causality, const Violation* violation, std::size_t most);

    [[nodiscard]] const std::vector<bool>& kept() const { return kept_; }
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

private:
    void keep(EventIndex event);
    void keep_lives();
    void keep_violation(const Violation& violation);
    void keep_before(std::size_t end, std::size_t count);
    void keep_jobs();
    void say();

    const History& history_;
    const Causality& causality_;
    std::vector<bool> kept_;
    std::size_t left_;
    std::size_t before_ = 0;
    std::size_t every_ = 1;
    std::string job_;
    std::vector<std::string> notes_;
};

}  // namespace lockstep::sim
