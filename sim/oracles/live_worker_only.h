// live_worker_only: a job is sent to a worker only by a replica that takes it for alive: when it last looked, a sound heartbeat or a
// handshake of that worker had reached it no longer than `worker_ttl` ago, or the snapshot that it read at its start named it
// (STALE-01, STALE-03).
//
// 1. The last look is the answer to the commit that makes the job DISPATCHED. What the replica sleeps through between that
//    answer and the publish it cannot know.
// 2. Each commit stands for one publish: what is sent again of the same dispatch is another rule's business.
// 3. Time is true time, the replica measures with a clock of its own: an eighth is forgiven.
// 4. It is put to the test where a choice could fall on a dead worker: one that this replica has heard of is silent for too
//    long when a job is sent, or the very one that was chosen has fallen silent when the dispatch is committed; or a heartbeat
//    arrives that is outside sense (engine/wire/heartbeat_bounds.h), and is no sign of life.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class LiveWorkerOnly final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::core_deliver, fakes::EventKind::redis, fakes::EventKind::publish,
                          fakes::EventKind::node_down};
    LiveWorkerOnly(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "live_worker_only"; }
    void on_event(const fakes::Event& event, Time now) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;

private:
    /// Until when a replica may take a worker for alive, and what lets it.
    struct Sign {
        Time alive_until{};
        EventNumber event = 0;
    };
    using Signs = std::map<std::string, Sign, std::less<>>;  // by worker
    using Place = std::pair<fakes::NodeId, std::string>;     // replica and job

    void on_message(const fakes::Event& event, Time now);
    void on_answer(const fakes::Event& event, Time now);
    void on_snapshot(const fakes::Event& event, Time now);
    void on_publish(const fakes::Event& event);
    void note(fakes::NodeId replica, std::string_view worker, Time alive_until);
    [[nodiscard]] const Sign* sign_of(fakes::NodeId replica, std::string_view worker) const;
    [[nodiscard]] bool knows_a_dead_one(fakes::NodeId replica, Time now) const;

    const engine::Tunables& tunables_;
    std::map<fakes::NodeId, Signs> signs_;
    std::map<std::string, std::string, std::less<>> chosen_;  // job -> the worker that was last written to it
    std::set<Place> committed_;                               // by whom, and the answer is still to come
    std::map<Place, Time> looked_;                            // dispatches committed and not yet sent
};

}  // namespace lockstep::sim
