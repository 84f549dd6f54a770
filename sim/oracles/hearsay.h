// hearsay: what a snapshot says of a worker goes back to that worker's own last sign of life, and nobody refreshes what it only
// heard (redis-schema.md 6; H-52).
//
// 1. Who writes a snapshot names a worker only when it has heard a heartbeat of it itself, and had a sign of life of it no longer
//    than `worker_ttl` before it took the writer's lock. What it says is what that worker said last, then or since.
// 2. A snapshot is not dated ahead of the clock of Redis at the moment of the write.
// 3. Who knows a worker from a snapshot alone sends it no job once the snapshot is older than `worker_ttl`, or was read longer ago
//    than `hydrated_worker_ttl`.
// 4. What a replica wrote may take effect after its crash: it is held to what that replica knew.
// 5. It is put to the test where a writer knows of a worker by hearsay, or of one that has fallen silent, and where a job goes to
//    a worker that is known by hearsay.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "engine/config/tunables.h"
#include "sim/oracles/heard_workers.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class Hearsay final : public Oracle {
public:
    /// Also how late it is, from each event.
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds::all();
    Hearsay(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables), heard_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "hearsay"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Instant {
        EventNumber event = 0;
        Time at{};
    };

    /// What a replica knew when it went down.
    struct Past {
        HeardWorkers::Workers known;
        Instant taken;
    };

    /// The life of the writer that a write is of: one that has not taken the lock since it came up has not written since.
    [[nodiscard]] const HeardWorkers::Workers& known_to(fakes::NodeId writer) const;
    void judge_snapshot(fakes::NodeId writer, std::string_view text, std::int64_t expires_at);
    /// What is wrong with what is said of it; empty: nothing.
    [[nodiscard]] std::string wrong(fakes::NodeId writer, const std::string& worker, const NamedWorker& said) const;
    [[nodiscard]] bool knows_more_than_it_may_say(fakes::NodeId writer) const;

    const engine::Tunables& tunables_;
    HeardWorkers heard_;
    std::map<fakes::NodeId, Instant> taken_;                          // when each took the writer's lock last
    std::map<fakes::NodeId, Past> past_;                              // of those that had taken it when they went down
    std::map<std::pair<fakes::NodeId, std::string>, Instant> since_;  // replica and job: before it chose a worker
    Time now_{};
    bool clocks_jumped_ = false;
};

}  // namespace lockstep::sim
