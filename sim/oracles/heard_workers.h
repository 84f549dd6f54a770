// What each replica has heard of the workers: the sound heartbeats and the handshakes that reached it, and what stood in the
// snapshot that it read at its start (redis-schema.md 6; engine/delivery-semantics.md, "Heartbeats").
//
// 1. A replica measures a worker's time to live with a clock of its own, which may go a tenth too fast or too slow: hence a
//    time until which the worker is surely alive to it, and one until which it may be.
// 2. A snapshot dates from no later than it was written. It keeps a worker alive for `worker_ttl` from then on, and for
//    `hydrated_worker_ttl` from when it was read, whatever is over first.
// 3. What a worker said longer ago than twice its time to live is forgotten, but for the latest word.
//
// It belongs to an observer of the events and of the keyspace, which passes on what it hears.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/tunables.h"
#include "sim/model/snapshot_text.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class HeardWorkers {
public:
    /// A worker's word, and how long it holds.
    struct Report {
        EventNumber event = 0;
        Time at{};
        Time surely_alive_until{};
        Time perhaps_alive_until{};
        bool routable = true;  // false: a sign of life that says nothing of its load
        bool hearsay = false;  // from a snapshot
        NamedWorker facts;
    };
    using Reports = std::vector<Report>;                          // oldest first
    using Words = std::span<const Report>;                        // some of them
    using Workers = std::map<std::string, Reports, std::less<>>;  // by id
    /// From one event to another, both included.
    struct Window {
        EventNumber from = 0;
        EventNumber to = 0;
    };

    /// The tunables outlive it.
    explicit HeardWorkers(const engine::Tunables& tunables) : tunables_(tunables) {}

    void on_event(const fakes::Event& event, EventNumber present, Time now);
    void string_set(std::string_view key, std::string_view after);
    void key_removed(std::string_view key);
    void restored();

    /// Everybody of whom the replica has heard since it started.
    [[nodiscard]] const Workers& of(fakes::NodeId replica) const;
    /// Those words of a worker that were the latest at some time in the window. Valid until the next is heard.
    [[nodiscard]] static Words latest(const Reports& reports, Window window);
    /// Whether the replica has had a sign of life of the worker since that event.
    [[nodiscard]] bool heard_since(fakes::NodeId replica, std::string_view worker, EventNumber event) const;

private:
    void on_message(const fakes::Event& event, EventNumber present, Time now);
    void on_look(const fakes::Event& event, EventNumber present, Time now);
    void on_snapshot(const fakes::Event& event, EventNumber present, Time now);
    void note(Reports& reports, Report report, Time now) const;

    const engine::Tunables& tunables_;
    std::map<fakes::NodeId, Workers> heard_;
    std::map<std::pair<fakes::NodeId, std::string>, EventNumber> signs_;  // the latest of each worker
    /// A snapshot that stands in Redis.
    struct Stored {
        bool dated = false;  // when it was written is known
        Time at{};
    };
    Stored stored_;
    bool just_stored_ = false;               // the event that is told next says when
    std::map<fakes::NodeId, Stored> found_;  // by whoever has asked for it last
    bool clocks_jumped_ = false;             // the age of a snapshot may look like anything
};

}  // namespace lockstep::sim
