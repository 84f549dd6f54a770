// timeout_explained: a job that a worker had, or could have had, while its replica was alive and its servers answered does not
// wait for its limit to end it. So a TIMEOUT always has a cause that can be named (engine/delivery-semantics.md, "To a submitter",
// 3, and "How a job can still run twice, or end unsent").
//
// 1. A job that is committed DISPATCHED becomes RUNNING, ends, or is taken back within the longest time that the calls on the way
//    may take: one publish, and the two calls of the store that record DISPATCHED and RUNNING. What excuses it: from when its
//    handler took its lock until then the replica, Redis, NATS or a link was disturbed, a call of the replica got no answer in
//    time, or the stream refused the message (each is a row of that table; for the lock of a frozen replica see wire.md 8.4).
// 2. By then the worker that its hash names has the message, whatever the job's state: it subscribes on core NATS, so nothing but
//    its own absence, NATS or the sender keeps it from it. What excuses it: besides the above, a worker that was down, frozen,
//    cut off, or has not announced itself since it came up or lost a connection. A job that goes out on its topic has no such
//    worker.
// 3. A job that times out while it is PENDING or SCHEDULED has been tried shortly before, as far as nothing was disturbed and
//    only a few jobs waited: it has not been forgotten between two tries. A line of its tenant is for slot_used.
// 4. Whatever happens: a replica that has the answer that a dispatch is in the stream keeps the job's message until the job is
//    RUNNING or has ended, and hands it back where that cannot be recorded. So it does not acknowledge the only message about a
//    job that it has itself sent and that is DISPATCHED. What excuses it: that the replica has died since, and with it the
//    answer, or NATS the stream's end.
//
// 5. Where NATS was away while a dispatch was being published, and the stream has it all the same, it is looked for: the job is
//    RUNNING or has ended once publish_resend_limit has passed, if NATS was back in time for that, and nothing has disturbed the
//    replica or Redis.
//
// Whether the limit had passed is for job_history, whether a result should have been waited for is for stored_result_wins. Not
// judged: a dispatch that was disturbed; whoever finds it afterwards may find it too late.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "sim/model/weather.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class TimeoutExplained final : public Oracle {
public:
    /// Also how late it is, from each event.
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds::all();
    /// The tunables outlive the oracle.
    TimeoutExplained(Judge& judge, const engine::Tunables& tunables);
    [[nodiscard]] std::string_view invariant() const override { return "timeout_explained"; }
    void on_event(const fakes::Event& event, Time now) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Job {
        std::string state;
        std::string worker;  // whom its hash names; empty: nobody
        bool stood_in_line = false;
        Time tried = kBeforeAll;  // when somebody last took its lock
        Time asked = kBeforeAll;  // when the stream last got a request for it
        fakes::NodeId tried_by;
        EventNumber tried_event = 0;
        Time arrived = kBeforeAll;   // at the worker that its hash named then
        std::uint64_t dispatch = 0;  // of this watch; 0 = it is not out, or has been judged
        fakes::NodeId stored_by;     // who knows that its dispatch is in the stream; not valid: nobody
        std::uint64_t in_turn = 0;   // its latest dispatch
        bool in_stream = false;      // which the stream has
        int messages = 0;            // submissions of it that were delivered and are not settled
    };
    /// A dispatch that is to be judged when the time is up.
    struct Watch {
        Time due{};
        std::string job;
        std::uint64_t dispatch = 0;
        fakes::NodeId by;
        Time begun{};  // when its handler took the lock
        EventNumber event = 0;
    };
    struct Announced {
        fakes::NodeId node;
        Time since{};
    };

    void on_state(const fakes::Event& event, Time now);
    void on_submission(const fakes::Event& event);
    void on_settled(const fakes::Event& event);
    void on_sent(const fakes::Event& event);
    void lose_worker(fakes::NodeId node);
    void lose_answers(fakes::NodeId replica);
    void on_heartbeat(const fakes::Event& event, Time now);
    void on_arrival(const fakes::Event& event, Time now);
    void judge_due(Time now);
    void note_trouble(const fakes::Event& event, Time now);
    void judge_found(const Watch& watch, const Job& job);
    void judge(const Watch& watch, Job& job);
    void judge_untried(const fakes::Event& event, const Job& job, Time now);
    void count_waiting(std::string_view before, std::string_view after);

    const engine::Duration on_the_way_;  // the longest time from DISPATCHED to RUNNING
    const engine::Duration between_tries_;
    const Weather& weather_ = model().weather();
    std::map<std::string, Job, std::less<>> jobs_;
    std::map<std::string, Announced, std::less<>> workers_;  // by their own heartbeats
    std::map<std::uint64_t, std::string> submissions_;       // delivered and not settled: whose, by sequence
    std::deque<Watch> watches_;                              // by when they are due
    std::deque<Watch> searches_;                             // likewise, for those that have to be looked for
    const engine::Duration until_found_;
    const engine::Duration resend_limit_;
    std::map<fakes::NodeId, Time> ill_;  // when each replica was last disturbed otherwise than by NATS
    Time nats_ill_ = kBeforeAll;
    Time power_cut_ = kBeforeAll;   // of NATS, the latest: what came before may be gone
    Time others_ill_ = kBeforeAll;  // by faults of neither NATS nor a replica, or workers
    int nats_faults_ = 0;           // that go on
    int other_faults_ = 0;
    bool clocks_jumped_ = false;  // or the stream has lost something
    std::uint64_t dispatches_ = 0;
    int waiting_ = 0;  // jobs that are PENDING or SCHEDULED
};

}  // namespace lockstep::sim
