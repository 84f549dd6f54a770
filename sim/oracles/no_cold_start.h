// no_cold_start: a replica that has just started turns no job away for want of a worker while the snapshot in Redis names one
// that is free (REG-06).
//
// 1. A job is put off when it is charged with a try and not dispatched (redis-schema.md 2, `attempts`).
// 2. It is judged only what the snapshot must have told: workers that every snapshot since the replica's start has named, each
//    time with room for everything that this replica has taken up, of the pool that serves the job's topic, and of which the
//    replica has heard nothing itself. Jobs that ask for more than their topic are not judged.
// 3. A replica one of whose calls to Redis has failed since it started may be cold. So may everybody once a clock was set or the
//    pools were changed.
// 4. Nobody relies on the snapshot for longer than `hydrated_worker_ttl`, nor on one older than `worker_ttl`; an eighth of both
//    is left out, for clocks that differ.
// 5. A replica whose look at the snapshot fails looks again, for `snapshot_read_timeout` in all, before it takes up jobs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/config/tunables.h"
#include "sim/model/snapshot_text.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class NoColdStart final : public Oracle {
public:
    /// Also how late it is, from each event.
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds::all();
    NoColdStart(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "no_cold_start"; }
    void on_event(const fakes::Event& event, Time now) override;

    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Stored {
        SnapshotText text;
        Duration age{};          // when it was written
        std::optional<Time> at;  // nothing until the next event tells
        EventNumber event = 0;
    };
    struct Named {
        std::string pool;
        std::int64_t room = 0;  // the least that a snapshot told
    };
    /// A replica that may still live on the snapshot.
    struct Starting {
        Time until{};
        EventNumber event = 0;
        std::map<std::string, Named, std::less<>> named;  // by every snapshot since, and not heard
        std::int64_t taken_up = 0;
        std::set<std::string, std::less<>> held;  // jobs whose lock it has had
    };
    struct TurnedAway {
        fakes::NodeId replica;
        std::string job;
    };

    /// Of a replica that has not read the snapshot yet.
    struct Looks {
        Time since{};            // its start
        EventNumber failed = 0;  // the latest look that failed; 0: none has
    };

    void on_look(const fakes::Event& event);
    void judge_looks(const fakes::Event& event, Time now);
    void on_start(fakes::NodeId node, Time now);
    void on_redis(const fakes::Event& event);
    void on_lock(const fakes::Event& event);
    void on_message(const fakes::Event& event);
    void on_state(const fakes::Event& event, Time now);
    void note_request(const fakes::Event& event);
    void judge(const TurnedAway& turned, Time now);
    void distrust();
    /// Keeps what the snapshot in Redis says as well.
    void narrow(std::map<std::string, Named, std::less<>>& named) const;
    [[nodiscard]] bool has_room(const Starting& replica, const std::string& topic) const;

    const engine::Tunables& tunables_;
    std::optional<Stored> stored_;
    std::map<fakes::NodeId, Starting> starting_;
    std::map<fakes::NodeId, Looks> looks_;
    /// The topic of each job that asks for nothing more; empty: it asks, or has been seen with another content.
    std::map<std::string, std::string, std::less<>> topics_;
    std::string moved_;  // the job whose state the present command has changed
    std::optional<TurnedAway> turned_;
    bool disturbed_ = false;
};

}  // namespace lockstep::sim
