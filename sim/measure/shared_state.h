// What is read off the keys that all replicas share: how long the circuit of policy was open, how old the snapshot of the
// workers became, and the dead letters by their code (engine/store/redis-schema.md).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fakes/redis/observer.h"
#include "sim/measure/measured_run.h"
#include "sim/world/event_queue.h"

namespace lockstep::sim {

class SharedState final : public fakes::redis::KeyspaceObserver {
public:
    /// `queue` tells the time; it outlives this.
    explicit SharedState(const EventQueue& queue) : queue_(queue) {}

    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;

    void report(MeasuredRun& run, Time end) const;

private:
    void note_trip(std::string_view key);
    void note_dead_letter(std::string_view entry);

    const EventQueue& queue_;
    std::map<std::string, Time, std::less<>> open_since_;  // circuits that have tripped and not closed, by key
    Duration open_{};
    std::optional<Time> snapshot_written_;
    Duration oldest_snapshot_{};
    std::map<std::string, double> dead_letters_;  // by code
    std::uint64_t let_through_ = 0;
};

}  // namespace lockstep::sim
