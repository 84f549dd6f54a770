// The scheduler: one replica of it. The simulator and the daemon build this same object and give it their ports.
//
//   Scheduler scheduler(ports, config);
//   co_await scheduler.start();   // subscribes; from here on messages are handled in the background
//   co_await scheduler.drain();   // stops taking messages, finishes or hands back what is in flight
//
// Destroying it without a drain is what a crash is: whatever was going on stops where it stands.
// A newcomer's path: request_handler.cpp `under_lock`, then dispatch.cpp `dispatch`, then store/scripts/commit.lua.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "engine/config/mechanisms.h"
#include "engine/config/pools.h"
#include "engine/config/timeouts.h"
#include "engine/config/tunables.h"
#include "engine/runtime/task.h"
#include "engine/scheduler/config_watcher.h"
#include "engine/scheduler/replica.h"

namespace lockstep::engine {

struct SchedulerConfig {
    Tunables tunables;  // with what the timeouts file says of the reconciler
    RoutingTable pools;
    /// The pools file as JSON, for the configuration service to be told of; empty: it is not told.
    std::string pools_document;
    std::optional<Timeouts> timeouts;  // of the file; nothing: there is none
    PinnedSettings pinned;
    /// Told of every table of pools that is put in force, the file's first, with the pools that drain.
    PoolsListener on_pools;
    Mechanisms mechanisms;
    /// Shared with what else of this process handles jobs or runs; null: nothing does.
    std::shared_ptr<Room> room;
    std::string instance_id = "scheduler";
    std::string version = "0.1.0";  // told in the handshake
};

class Scheduler {
public:
    /// The ports outlive the scheduler.
    Scheduler(const Ports& ports, SchedulerConfig config);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    /// Puts the settings of the configuration service in force, subscribes and starts the background loops. Needs Redis and
    /// waits some seconds for it. The error says what could not be set up; starting again is allowed.
    [[nodiscard]] Task<tl::expected<void, std::string>> start();
    /// The files have been read again (see ConfigWatcher::adopt). REQUIRES: started.
    [[nodiscard]] Task<tl::expected<void, std::string>> adopt(FileSettings files);
    /// Takes no further message, hands back what waits, and gives handlers `shutdown_grace` to finish; those that do not are
    /// stopped where they stand, and their locks released.
    [[nodiscard]] Task<void> drain();

    /// Handlers that are at work now.
    [[nodiscard]] std::size_t in_flight() const;
    [[nodiscard]] const Registry& workers() const;

private:
    class Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::engine
