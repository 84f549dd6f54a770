// routing_rules: a job goes to the least loaded worker, by what the replica had heard, of those that its rules allow
// (settings.md 1 and 2; C-04, C-05, C-22, C-23, C-34, H-25).
//
// 1. Allowed are workers of the pools that serve the job's topic, as far as `preferred_pool` and `requires` leave them and their
//    status is active; that carry every label that constrains placement, and are not overloaded. `preferred_worker_id` goes
//    first among them, then the lowest score, then the smallest id.
// 2. A replica counts what it has sent since a worker's last word, up from the choice, and what has ended since by results that
//    it recorded, up from the answer to that (`routing_inflight_correction`).
// 3. When exactly the replica chose nobody outside knows: after the last answer of policy, or after it took the job's lock or its
//    last choice back, and before the call that committed the choice. A choice is wrong when it is so at every instant of that
//    time: of what may be counted the chosen worker is given the least, and every other one the most. Whoever loses a lock
//    that was evicted or ran out early does not know it, and may choose for as long as the lock would have lasted.
// 4. One try has at most `max_dispatch_retries` choices and counts once. None of them is a worker again that this try has taken
//    the job back from, unless that was heard in between.
// 5. A job for which there is nobody (`ls_last_cause`) has nobody either by these rules. One that goes out on its topic
//    (`topic_fallback`) has nobody either who is only busy. It may also be that others wait for capacity before it.
// 6. The store counts the jobs that each worker has in flight. A worker that it has refused a replica is full there until its next
//    heartbeat; and a try that it has refused a worker may leave the choice to it: the job waits, and the store hands it a free slot. One that it keeps a slot free at for a job (`ls_handed`), now or when a replica took the job up, may have that job whatever the replica knows of its load.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/tunables.h"
#include "engine/wire/fwd.h"
#include "sim/oracles/oracle.h"
#include "sim/oracles/replica_traffic.h"
#include "sim/oracles/documented_settings.h"

namespace lockstep::sim {

class RoutingRules final : public Oracle {
public:
    /// Also how late it is, from each event.
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds::all();
    RoutingRules(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "routing_rules"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void hash_removed(fakes::NodeId client, std::string_view key, std::string_view field,
                      std::string_view before) override;
    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    void list_inserted(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) override;
    void list_removed(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void zset_removed(fakes::NodeId client, std::string_view key, std::string_view member, double before) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    using Place = std::pair<fakes::NodeId, std::string>;  // replica and job
    using Window = ReplicaTraffic::Window;
    /// What a stored request says of where it may go.
    struct Wanted {
        std::string topic;
        std::string pool, worker;  // the preferred ones; empty: none
        std::map<std::string, std::string> placement;
        std::vector<std::string> requires_;
    };
    /// From taking a job's lock to giving it back.
    struct Handling {
        EventNumber begun = 0;
        EventNumber since = 0;  // the earliest instant at which the next choice can be made
        Time since_at{};
        EventNumber called = 0;  // the last call about the job: a choice that takes effect was made before it
        bool undecided = false;  // it may choose, and has not
        int choices = 0;
        std::map<std::string, EventNumber, std::less<>> taken_back;  // workers, and since when
        std::string handed;  // the worker that kept a slot free for it when it was taken up
    };
    using Call = std::pair<Place, std::string>;  // by whom, about which job, and the command

    struct Load {
        std::int64_t least = 0;
        std::int64_t most = 0;
    };
    /// One choice, as it is judged.
    struct Choice {
        fakes::NodeId replica;
        std::string job;
        const Wanted& wanted;
        Window window;
        Time from{};
        std::vector<EventNumber> undecided;  // since when other jobs have been, whose choices may count already
    };

    void note_request(std::string_view job, std::string_view json);
    void on_lock(const fakes::Event& event, Time now);
    void on_publish(const fakes::Event& event);
    void on_fallback(const fakes::Event& event);
    void on_answer(const fakes::Event& event, Time now);
    /// A call about a job, from before it leaves to its answer: what an end that it records waits for.
    void on_call(const fakes::Event& event, Time now);
    void on_choice(fakes::NodeId replica, std::string_view job, std::string_view worker);
    void on_refusal_heard(const fakes::Event& event);
    void on_nobody(fakes::NodeId replica, std::string_view job, std::string_view cause);
    void judge_repetition(fakes::NodeId replica, const std::string& job, const Handling& handling,
                          std::string_view worker);
    [[nodiscard]] std::optional<Choice> choice_of(fakes::NodeId replica, std::string_view job) const;
    /// What is wrong with it, by one table of pools; empty: nothing.
    [[nodiscard]] std::string wrong(const Choice& choice, const engine::RoutingTable& table, const std::string& worker,
                                    bool handed) const;
    /// A worker that the job can go to for sure; none: empty.
    [[nodiscard]] std::string somebody_for(const Choice& choice, const engine::RoutingTable& table) const;
    /// Whether the job may go to the worker for sure, whatever it said last in the window; `score`: at most.
    [[nodiscard]] bool surely_free(const Choice& choice, const std::vector<std::string>& pools,
                                   const std::string& worker, WorkerReports::Reports reports, float& score) const;
    [[nodiscard]] std::vector<engine::RoutingTable> tables_of(const Choice& choice) const;
    [[nodiscard]] bool others_waited(const Choice& choice) const;
    [[nodiscard]] Load load_of(const Choice& choice, const std::string& worker, const WorkerReport& report) const;
    void forget_old(ReplicaTraffic& traffic) const;

    const engine::Tunables& tunables_;
    SettingsInForce settings_;
    std::map<std::string, Wanted, std::less<>> wanted_;  // by job, those whose request is stored
    std::map<Place, Handling> handlings_;                // those that go on
    std::map<fakes::NodeId, ReplicaTraffic> traffic_;
    std::map<Call, int> awaited_;                             // calls that have not been answered yet
    std::map<std::string, std::string, std::less<>> handed_;  // by job: the worker that keeps a slot free for it
    std::string unhanded_;                                    // the job that the present command takes out of it
    std::pair<std::string, std::string> pushed_;  // the list, and the job that the present command has put there
    std::map<Place, Time> full_;                  // replica and worker: when the store last refused it
    std::map<Place, std::string> refused_;        // which worker the store has refused a job since its lock was taken
    std::map<std::pair<std::string, std::string>, EventNumber> waiting_;  // key and member, until when it held it
    static constexpr std::size_t kWaitingKept = 64;
    std::size_t waiting_kept_ = kWaitingKept;  // after it was pruned last
    std::optional<Place> chosen_again_;        // the job whose choice the present command repeats
    Time now_{};
};

}  // namespace lockstep::sim
