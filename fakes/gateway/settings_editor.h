// Changes the settings in the configuration service as its clients do: WATCH and GET, then MULTI, SET with the next
// revision, EXEC; and when that went through, an announcement on `sys.config.changed` (settings.md 4; wire.md 2.1).
//
// REQUIRES: a Redis connection of its own. What somebody else watches on it would be forgotten with its EXEC.
#pragma once

#include <chrono>
#include <string>

#include "engine/ports/bus.h"
#include "engine/ports/redis.h"
#include "engine/runtime/task.h"
#include "fakes/world.h"

namespace lockstep::fakes {

/// JSON texts; an empty one leaves its part of the settings alone.
struct SettingsChange {
    std::string pools;
    std::string timeouts;
    std::string scheduler;  // its members replace those of the same name
    std::string raw;        // replaces the whole document as it is, whatever it is: somebody at a Redis console
    std::string layers;     // by `scope:id` (org:acme, team:ops): the settings of that document, or a text in its place
};

class SettingsEditor {
public:
    /// Everything must outlive this object and its tasks; the executor, Redis and bus are the node's.
    SettingsEditor(World& world, NodeId node, engine::Executor& executor, engine::Redis& redis, engine::Bus& bus)
        : world_(world), node_(node), executor_(executor), redis_(redis), bus_(bus) {}

    /// Tries until it is written; losing to another writer and a store that is away are reasons to try again. Then
    /// announces it, once: who misses that has to find out for himself.
    [[nodiscard]] engine::Task<void> change(SettingsChange change);

private:
    /// One attempt.
    [[nodiscard]] engine::Task<bool> write(SettingsChange change);
    [[nodiscard]] engine::Task<bool> write_layers(std::string layers);
    [[nodiscard]] engine::Task<void> announce();
    [[nodiscard]] std::string changed(const std::string& document, const SettingsChange& change) const;
    [[nodiscard]] engine::MonoTime deadline() const { return executor_.monotonic() + std::chrono::seconds{2}; }

    World& world_;
    NodeId node_;
    engine::Executor& executor_;
    engine::Redis& redis_;
    engine::Bus& bus_;
};

}  // namespace lockstep::fakes
