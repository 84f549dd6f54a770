// lock_exclusion: two holders never both commit under one lock: a job changes its state only by a command that names the token
// which its lock has at that instant. So two handlers of one replica are two holders. Two ends need no lock, a cancellation and
// a time-out, which compare with what they expect instead: a command that names no lock may bring them about, and one that names
// a lock that it has lost may not. What a gateway writes is not judged. And nobody gives back, or renews, a lock that another one holds.
//
// Nor does a replica publish a job whose lock was last granted to it longer ago than a lock lives: no fence stands before
// the bus, but every replica can tell the time. One whose lock was taken away earlier cannot know.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class LockExclusion final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{
        fakes::EventKind::publish,       fakes::EventKind::core_publish, fakes::EventKind::ack,
        fakes::EventKind::nak,           fakes::EventKind::term,         fakes::EventKind::in_progress,
        fakes::EventKind::redis,         fakes::EventKind::kernel_check, fakes::EventKind::output_check,
        fakes::EventKind::lock_acquired, fakes::EventKind::lock_renewed, fakes::EventKind::lock_released,
        fakes::EventKind::lock_expired,  fakes::EventKind::state,        fakes::EventKind::submit,
        fakes::EventKind::cancel,        fakes::EventKind::approve};
    LockExclusion(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "lock_exclusion"; }
    void on_event(const fakes::Event& event, Time now) override;
    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    /// Redis has lost data: who holds what is anybody's guess until a lock is taken again.
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Grant {
        Time at{};
        EventNumber event = 0;
    };
    struct Lock {
        fakes::NodeId holder;             // not valid = nobody
        std::string token;                // of the holder; empty = nobody
        std::vector<std::string> former;  // tokens that it had before, the latest last
        bool unknown = false;
        EventNumber changed = 0;                 // when the holder last became another, or nobody
        std::map<fakes::NodeId, Grant> granted;  // the last time, taking and renewing alike
        fakes::NodeId ran_out_under;             // who held it when it ran out, and has not been heard of since
    };
    void note_survivor(const fakes::Event& event);
    void on_acquired(const fakes::Event& event, Time now);
    void leave(const fakes::Event& event);
    [[nodiscard]] std::string fault_of(const fakes::Event& change, const Lock* lock) const;
    [[nodiscard]] bool names(std::string_view token) const;
    void on_state(const fakes::Event& event);
    void judge_owner(const fakes::Event& event, std::string_view what);
    void on_publish(const fakes::Event& event, Time now);

    const engine::Tunables& tunables_;
    std::map<std::string, Lock, std::less<>> locks_;  // by job
    std::span<const std::string_view> command_;       // that is being executed; empty = nobody knows which
};

}  // namespace lockstep::sim
