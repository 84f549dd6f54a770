// Which nodes are disturbed, and since when they are not: for promises that hold while nothing is wrong with the nodes concerned. It hears
// an event after all rules have: they find the weather as it was until then.
//
// 1. A replica is disturbed while it is down, frozen, stopping or with a clock that goes wrong, when a connection of its breaks,
//    and when one of its calls gets no answer in time: servers that are too slow for the settings disturb the caller.
//    What happens to another replica is no excuse for it.
// 2. Redis, NATS and the kernel are nodes like others, and disturbed by the faults that bear their names; bytes that are garbled
//    on the bus are NATS' trouble. A link that is cut, slow or lossy disturbs all: its ends are not told.
// 3. Faults without an end, and what a healing leaves broken, are taken to go on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fakes/event.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

/// Earlier than anything in a run, and far enough from the end of Time that spans can be taken from it and to it.
inline constexpr Time kBeforeAll{-std::chrono::hours{24 * 365 * 100}};

class Weather final : public EventObserver {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{fakes::EventKind::redis,
                                                                   fakes::EventKind::publish,
                                                                   fakes::EventKind::core_publish,
                                                                   fakes::EventKind::kernel_check,
                                                                   fakes::EventKind::fault,
                                                                   fakes::EventKind::node_down,
                                                                   fakes::EventKind::node_up,
                                                                   fakes::EventKind::paused,
                                                                   fakes::EventKind::resumed,
                                                                   fakes::EventKind::slow_consumer,
                                                                   fakes::EventKind::connection_broken,
                                                                   fakes::EventKind::lock_expired,
                                                                   fakes::EventKind::heartbeat};
    void on_event(const fakes::Event& event, Time now) override;

    /// Whether nothing has disturbed this node since then, that instant included, nor does now.
    [[nodiscard]] bool clear_at(fakes::NodeId node, Time since) const;
    /// The same of NATS and the links.
    [[nodiscard]] bool bus_clear_at(Time since) const;
    /// The same of a replica and of what it needs to move a job along: Redis, NATS and the links.
    [[nodiscard]] bool clear_for(fakes::NodeId replica, Time since) const;
    /// The same, but that links may be slow: calls that they carry are answered in time, or have disturbed the caller.
    [[nodiscard]] bool clear_but_slow_for(fakes::NodeId replica, Time since) const;
    /// The same of all servers and of every node that is no worker.
    [[nodiscard]] bool clear_everywhere(Time since) const;
    /// Whether the node has been asked to end, and has not started again.
    [[nodiscard]] bool stopping(fakes::NodeId node) const;
    /// Redis has refused a call of the node since then.
    [[nodiscard]] bool refused(fakes::NodeId node, Time since) const;
    /// A fault that goes on, other than of a node that is down or frozen, which counts until its end.
    [[nodiscard]] bool has_fault() const { return faults_ > 0; }
    /// Since when nothing has begun, ended, started or gone down.
    [[nodiscard]] Time settled_since() const { return settled_; }
    /// When a fault last began or ended, a node went down, or data was lost; nothing: never. Nodes that start are no trouble.
    [[nodiscard]] std::optional<Time> last_trouble() const { return last_trouble_; }
    /// How often something went wrong since then that may cost a try of a job that these have handled: with one of them, a server or
    /// the links. -NOSCRIPT is an answer: the script is sent, and nothing is tried anew.
    [[nodiscard]] std::int64_t mishaps(std::span<const fakes::NodeId> replicas, Time since) const;
    /// Redis has lost data, or another thing has gone wrong.
    void trouble(Time now) {
        settled_ = now;
        last_trouble_ = now;
    }
    /// For how long nothing has disturbed the cluster at all, workers included: what a promise about recovery counts from. Nothing
    /// while a fault goes on, Redis or NATS is down or frozen, or no replica that has ticked is up.
    [[nodiscard]] std::optional<engine::Duration> lasts_for(Time now) const;

private:
    struct Place {
        Time trouble = kBeforeAll;  // the last
        Time refused = kBeforeAll;  // a call, by Redis, last
        int lasting = 0;            // faults that have begun and not ended
        bool away = false;
        bool stopping = false;
        bool worker = false;
        bool ticks = false;  // it has asked for a tick lock
        std::vector<Time> mishaps;

        [[nodiscard]] std::int64_t mishaps_since(Time since) const;
        [[nodiscard]] bool clear(Time since) const { return lasting == 0 && !away && !stopping && trouble < since; }
    };

    void note_mishap(const fakes::Event& event, Time now);
    /// Whom a fault disturbs; null: none who moves a job to its worker.
    [[nodiscard]] Place* whose(const fakes::Event& fault);
    void on_fault(const fakes::Event& event, Time now);
    void on_answer(const fakes::Event& event, Time now);
    void on_broken_connection(const fakes::Event& event, Time now);
    [[nodiscard]] Place& at(fakes::NodeId node);

    std::vector<Place> nodes_;  // by number
    Place links_;
    Place slow_links_;
    Time settled_{};
    std::optional<Time> last_trouble_;
    int faults_ = 0;
    Time disturbed_{};  // anything, last
    int lasting_ = 0;   // faults of any kind that have begun and not ended
};

}  // namespace lockstep::sim
