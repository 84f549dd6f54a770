// The workflow engine: one replica of it. The simulator and the daemon build this same object and give it their ports, beside a
// scheduler or alone.
//
//   WorkflowEngine engine(ports, config);
//   co_await engine.start();   // subscribes; from here on results, timers and wishes are handled in the background
//   co_await engine.drain();   // stops taking messages, finishes or hands back what is in flight
//
// Destroying it without a drain is what a crash is. A newcomer's path: run_visits.cpp `visit`, then runs/pass.cpp `advance`, then
// scripts/commit_run.lua.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "engine/config/mechanisms.h"
#include "engine/config/tunables.h"
#include "engine/ports/ports.h"
#include "engine/runtime/room.h"
#include "engine/runtime/task.h"

namespace lockstep::engine {

/// Where a replica is told, by core NATS, that there is something to be done about a run: the payload is its id. Nothing depends on
/// it but how soon: what is asked stands in Redis. Outside `sys.>`, so that no stream keeps it.
inline constexpr const char* kSubjectRunWake = "lockstep.workflow.wake";

struct WorkflowConfig {
    Tunables tunables;
    Mechanisms mechanisms;
    std::string version = "0.1.0";  // told in the handshake
    std::shared_ptr<Room> room{};   // shared with what else of this process handles jobs or runs; null: nothing does
};

class WorkflowEngine {
public:
    /// The ports outlive the engine.
    WorkflowEngine(const Ports& ports, WorkflowConfig config);
    ~WorkflowEngine();
    WorkflowEngine(const WorkflowEngine&) = delete;
    WorkflowEngine& operator=(const WorkflowEngine&) = delete;

    /// Recovers timers, subscribes and starts the background loops. The error says what could not be set up; starting again is
    /// allowed.
    [[nodiscard]] Task<tl::expected<void, std::string>> start();
    /// Takes no further message, hands back what waits, and gives handlers `shutdown_grace` to finish; those that do not are
    /// stopped where they stand, and their locks released.
    [[nodiscard]] Task<void> drain();

    /// Handlers and visits that are at work now.
    [[nodiscard]] std::size_t in_flight() const;

private:
    class Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::engine
