// single_ticker: never two replicas tick in one lock window. A tick is what reads a range of an index of jobs or runs, or of the
// timers of delays, by a command that names the tick lock. Its window lasts for two intervals from the moment at which the lock was last granted, however long the
// lock was asked for, and whether it is still held or not (redis-schema.md 5). Nor is a tick lock in anybody's way for longer
// than that.
//
// Who ticks extends the lock while it does: whatever the reconciler reads, it reads within a third of the lock's life, and what
// calls take, after the last grant; judged until anything is disturbed, and of locks that live for ten seconds. And who has asked
// for the lock and was not given it ends no job any more: a TIMEOUT that is
// written under no lock of its job is a tick's. What it counts the lock's life from is when it asked, not when the answer came:
// it begins no TIMEOUT later than a third of that life after it asked last, or than the answer.
//
// Who counts the window is Redis, by its own clock: one that jumped, or goes fast, may end it early.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class SingleTicker final : public Oracle {
public:
    /// Also how late it is, from each event.
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds::all();
    SingleTicker(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "single_ticker"; }
    void on_event(const fakes::Event& event, Time now) override;
    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    void zset_listed(fakes::NodeId client, std::string_view key) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Window {
        fakes::NodeId ticker;  // who ticked in it; not valid = nobody yet
        Time until{};
        EventNumber tick = 0;  // the last one of the ticker
        fakes::NodeId granted_to;
        Time granted_until{};
        EventNumber granted = 0;
        bool held = false;
        bool clock_is_off = false;  // that of Redis has been tampered with since the last grant
    };
    /// Of the reconciler's lock, as its ticker can tell.
    struct Hold {
        Time asked{};  // the latest call that names it
        Time granted_asked{};
        Time granted_answered{};
        EventNumber granted = 0;
        bool known = false;  // it has been granted, and the answer has come
        bool answer_is_due = false;
    };
    struct Page {
        fakes::NodeId reader;
        std::string_view lock;
    };
    void on_fault(const fakes::Event& event);
    void on_grant(const fakes::Event& event, Time now);
    void follow_calls(const fakes::Event& event, Time now);
    void on_end(const fakes::Event& event);
    void judge_begin(const fakes::Event& event);
    void judge_extension(const Page& page, const Window& window, Time now);
    void on_reach(const fakes::Event& event, Time now);
    void on_page(const Page& page, Time now);
    [[nodiscard]] Duration life_of(std::string_view lock) const;

    const engine::Tunables& tunables_;
    std::map<std::string_view, Window> windows_;  // by lock; the names are constants
    std::string_view command_lock_;               // which the command that is being executed names; empty = none
    std::optional<Page> page_;                    // read by it, and not looked at yet
    bool ever_disturbed_ = false;
    std::map<fakes::NodeId, EventNumber>
        refused_;  // who was not given the reconciler's lock when it last asked, and when
    std::map<fakes::NodeId, Hold> holds_;
    std::map<std::pair<fakes::NodeId, std::string>, Time> begun_;  // calls that name a job's hash and are not answered
    bool drifts_ = false;                                          // the clock of Redis goes at another speed
};

}  // namespace lockstep::sim
