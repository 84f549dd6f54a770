// What is asked of workflows and their runs, when, and what of it is done. It stands for the people behind the gateway and the
// operator's desk, so it outlives their processes: the next one goes on with what the last one left unfinished.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace lockstep::sim {

class RunPlan {
public:
    struct Action {
        Duration at{};
        RunOrder order;  // a start's run has its id
    };
    explicit RunPlan(const std::vector<Load>& load);

    /// In the order of their times.
    [[nodiscard]] const std::vector<Action>& actions() const { return actions_; }
    [[nodiscard]] bool done(std::size_t index) const { return done_[index]; }
    /// `changed`: something came of it.
    void finish(std::size_t index, bool changed = true);
    [[nodiscard]] std::size_t open() const { return open_; }
    /// What of decisions and cancels has changed nothing: "the retry of run-0". Not where another one of the kind about the same has.
    [[nodiscard]] std::vector<std::string> in_vain() const;

private:
    std::vector<Action> actions_;
    std::vector<bool> done_;
    std::vector<bool> changed_;
    std::size_t open_ = 0;
};

}  // namespace lockstep::sim
