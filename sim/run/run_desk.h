// Where people put workflows, start runs, decide about their steps and cancel them: the code behind `lockstep workflow`, and beside
// it the writing of a gateway of another kind. One on the gateway's node for what is put and started, one on the operator's for
// what people decide; destroyed where they stand when their nodes crash.
//
// 1. Everything is asked again until it is known to have been taken; that it may be taken twice is what the run's store bears.
// 2. A run is started once its workflow is there; a step is decided on once it waits, for as long as `patience`.
// 3. A gateway of another kind writes the documented keys (workflow.md 2) and tells nobody. It approves, cancels and rewrites a run by
//    reading its document and, a while later, writing all of it: without a lock, and over whatever was written in between.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/context.h"
#include "engine/runtime/scope.h"
#include "engine/workflow/run_store.h"
#include "sim/run/run_plan.h"

namespace lockstep::sim {

class RunDesk {
public:
    enum class Of : std::uint8_t { gateway, people };
    /// Starts at once. The plan and all ports outlive it; `begins`: when the load begins, by this node's monotonic clock.
    RunDesk(const engine::Ports& ports, RunPlan& plan, Of of, engine::MonoTime begins);

private:
    [[nodiscard]] engine::Task<void> drive(Of of);
    [[nodiscard]] engine::Task<void> act(std::size_t index);
    enum class Attempt : std::uint8_t {
        not_yet,  // worth another try
        done,
        in_vain,  // there is nothing to decide any more
    };
    [[nodiscard]] engine::Task<Attempt> try_once(RunOrder order);
    // False: not, or not yet.
    [[nodiscard]] engine::Task<bool> put(RunOrder order);
    [[nodiscard]] engine::Task<bool> start(RunOrder order);
    [[nodiscard]] engine::Task<bool> start_as_reference(RunOrder order, std::string document);
    [[nodiscard]] engine::Task<Attempt> decide(RunOrder order);
    [[nodiscard]] engine::Task<Attempt> overwrite(RunOrder order);
    [[nodiscard]] engine::Task<void> tell_cancelled(std::vector<std::string> of_jobs, std::string reason);
    [[nodiscard]] engine::Task<bool> all(std::vector<engine::RedisCommand> commands);
    [[nodiscard]] engine::Task<void> wake(std::string run);
    [[nodiscard]] engine::MonoTime deadline() const;
    [[nodiscard]] std::string seconds() const;

    engine::Context context_;
    engine::RunStore store_;
    RunPlan& plan_;
    const engine::MonoTime begins_;
    engine::Scope scope_;
};

}  // namespace lockstep::sim
