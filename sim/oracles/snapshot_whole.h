// snapshot_whole: the worker snapshot in Redis always parses, and is never older than 20 s plus one operation while a living
// replica reaches Redis.
//
// 1. A replica that has started (one that waits for NATS is not there yet) reaches Redis from its first call that is answered
//    until a call of it fails, a connection of it breaks, it is paused or dies. It owes a fresh snapshot once it has reached Redis for as long as a snapshot may be old.
// 2. The age counts from `captured_at`, read against the clock of Redis at the moment of the write. What Redis loses, or
//    a fault spoils, is owed anew from then on.
// 3. 20 s have room for one writer that dies with the lock. Each further lock that ran out since the last write is forgiven for as
//    long as it kept the others from writing.
// 4. None gives way to one that was captured earlier, as long as no clock goes back: a writer that was held up has lost its lock.
//    Nor is one written by anybody while somebody else holds the lock of the writer.
// 5. It is put to the test where replicas get in each other's way: one writes after another has, or a lock was lost.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class SnapshotWhole final : public Oracle {
public:
    /// Also how late it is, from each event.
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds::all();
    SnapshotWhole(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "snapshot_whole"; }

    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Replica {
        bool known = false;  // as a scheduler that has started, by a lock that nobody else takes
        bool paused = false;
        std::optional<Time> reaches_since;
    };
    /// A change of the keyspace, which does not say when it happens; the event that follows it does.
    struct Change {
        fakes::NodeId writer;
        engine::Duration age{};
    };

    void follow(const fakes::Event& event, Time now);
    void settle(const Change& change, Time now);
    void judge_age(Time now);
    [[nodiscard]] engine::Duration limit(Time now) const;

    const engine::Tunables& tunables_;
    std::map<fakes::NodeId, Replica> replicas_;
    std::optional<Change> change_;
    Time captured_{};
    std::chrono::seconds said_{};  // when the last one was captured, as it says
    bool clocks_jumped_ = false;
    EventNumber written_ = 0;
    fakes::NodeId last_writer_;
    int lost_locks_ = 0;  // since the last write
    std::optional<Time> locked_since_;
    fakes::NodeId holder_;  // of the writer's lock; not valid: nobody, or nobody knows
    EventNumber locked_ = 0;
    bool told_ = false;
};

}  // namespace lockstep::sim
