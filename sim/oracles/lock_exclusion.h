// lock_exclusion: two holders never both commit under one lock: a job changes its state only by the hand of the replica that
// holds its lock at that instant. Two ends need no lock, a cancellation and a time-out: their scripts compare instead, and are
// not judged here, nor is what a gateway writes. And nobody gives back a lock that another one holds.
//
// Nor does a replica publish a job whose lock was last granted to it longer ago than a lock lives: no fence stands before
// the bus, but every replica can tell the time. One whose lock was taken away earlier cannot know.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class LockExclusion final : public Oracle {
public:
    LockExclusion(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "lock_exclusion"; }
    void on_event(const fakes::Event& event, Time now) override;
    /// Redis has lost data: who holds what is anybody's guess until a lock is taken again.
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Grant {
        Time at{};
        EventNumber event = 0;
    };
    struct Lock {
        fakes::NodeId holder;  // not valid = nobody
        std::string first_token;
        bool contested = false;  // more than one holder has had it
        bool unknown = false;
        EventNumber changed = 0;                 // when the holder last became another, or nobody
        std::map<fakes::NodeId, Grant> granted;  // the last time, taking and renewing alike
        fakes::NodeId ran_out_under;             // who held it when it ran out, and has not been heard of since
    };
    void note_survivor(const fakes::Event& event);
    void on_state(const fakes::Event& event);
    void on_release(const fakes::Event& event);
    void on_publish(const fakes::Event& event, Time now);

    const engine::Tunables& tunables_;
    std::map<std::string, Lock, std::less<>> locks_;  // by job
    std::set<std::pair<fakes::NodeId, std::string>>
        ends_unlocked_;  // who has called a script that needs no lock, of what job
};

}  // namespace lockstep::sim
