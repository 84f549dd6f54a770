// calm_weather: while nothing is disturbed, nothing is delivered, locked, tried or sent twice
// (engine/delivery-semantics.md; redis-schema.md 5, wire.md 4 and 4.1, D-03: work in progress is signalled).
//
// 1. A message that a replica has in hand is not delivered again before that replica has handed it back: it signals that it is at
//    work, well within the ack wait. A replica that had it before, and was frozen with it, may hand it back as well; and a word
//    that a link has held up may reach the server after a later delivery has left it: then one more is due. A second arrival that
//    carries the same count is a copy that the link has made, and one that carries a lower one was held up on its way.
// 2. No lock of a job runs out under a replica: whoever is at work renews it, whoever is not gives it back. A disturbance shortly
//    before the lock was taken excuses it, too: a call that its replica has given up may still take the lock, after the release
//    that was sent behind it on another connection, and then nobody knows that it is held.
//    Neither does the lock of a rollback or that of the snapshot.
// 3. A message is not handed back for the delay of a store or a bus that did not answer, unless a call of its replica got none, or
//    that delay is what is left of another one that its job has been given.
// 4. Nor for the delay of a job in other hands, unless anybody else has been at the job since it was delivered: another message
//    about it that is not settled, its lock in other hands, or a state that somebody else has written. A job whose state is
//    `pending_age` old may be in the hands of the same replica already, which replays it.
// 5. A job is DISPATCHED once. It goes back to SCHEDULED only where its dispatch could not be sent, or its worker had fallen
//    silent.
// 6. Policy is asked about a job once for each delivery, each delay that the job has been given, each move in its tenant's line and
//    each decision of a human; a job that waits beyond `pending_age` is taken up once more for each such span; and once more for
//    each time that something went wrong since it was submitted, whatever that was: a fault that began or ended, a node that came
//    or went, a connection that broke, a lock that ran out, a call that got no answer. Not about a compensation: a rollback asks
//    about it as well, and asks again when another has taken it over (saga_exact).
// 7. No message is handed back for no time at all but by a replica that is asked to end: every other reason has its delay.
// 8. No connection to Redis or NATS breaks.
// 9. And nothing is missed: each heartbeat reaches every replica (heard_by_all.h).
//
// A job of which Redis has lost anything is not judged any more: nobody knows who has what of it.
//
// "Undisturbed" is said of those whom the rule concerns, from when it began (weather.h): the replica that has the message or the
// lock, with Redis, NATS and the links. A disturbance elsewhere excuses nothing, and one that is over excuses nothing that begins
// later: so waste is bounded by the disturbances, too.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/model/weather.h"
#include "sim/oracles/heard_by_all.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class CalmWeather final : public Oracle {
public:
    /// Also how late it is, from each event.
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds::all();
    /// The tunables outlive the oracle.
    CalmWeather(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "calm_weather"; }
    void on_event(const fakes::Event& event, Time now) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void zset_removed(fakes::NodeId client, std::string_view key, std::string_view member, double before) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Job {
        std::string state;
        std::string worker;      // whom its hash names
        bool forgotten = false;  // in part, by Redis
        bool given_delay = false;
        bool compensation = false;
        bool uncounted = false;     // some were not settled when NATS lost power, and may be there still or not
        int unsettled = 0;          // messages about it that were delivered and are neither acknowledged nor terminated
        Time crowded = kBeforeAll;  // when there were last several
        fakes::NodeId holder;       // of its lock; not valid: nobody
        bool locked = false;        // its lock outlived a failover or a restart, and nobody is told whose it is
        Time held_since{};
        EventNumber held_event = 0;
        int takings = 0;                      // of its lock, ever
        Time written = kBeforeAll;            // its state, by anybody
        Time written_by_others = kBeforeAll;  // by gateway, operator, reconciler or a cancellation
        Time replayed = kBeforeAll;           // when it was last taken after a wait for which it may be replayed
        Time dispatch_begun = kBeforeAll;     // when the lock was taken under which it became DISPATCHED
        fakes::NodeId dispatched_by;
        Time submitted = kBeforeAll;  // or first delivered
        EventNumber asked_event = 0;
        int asked = 0;            // policy, since it was submitted
        int occasions = 0;        // to ask it
        int troubles_before = 0;  // that there had been when it was submitted
    };
    /// A message that a scheduler has, or has handed back.
    struct Message {
        std::string job;
        fakes::NodeId node;
        bool in_hand = false;
        bool copied = false;  // has been in several hands at once: whose word is the last nobody tells
        Time delivered{};
        std::int64_t deliveries = 0;  // as the server counts them
        EventNumber event = 0;
        int takings = 0;          // of the job's lock by then
        bool lock_taken = false;  // was held when it came
        std::vector<Time> due;    // again, because the server was told so, once for each word that reached it
    };
    /// A lock that is no job's.
    struct Hold {
        fakes::NodeId by;
        Time since{};
        EventNumber event = 0;
    };
    using MessageId = std::pair<bool, std::uint64_t>;  // a result, and the sequence in the one stream

    void on_deliver(const fakes::Event& event, Time now);
    void heard_of(std::string_view worker, Time now);
    void judge_heartbeats(Time now);
    void judge_connection(const fakes::Event& event, Time now);
    void on_verdict(const fakes::Event& event, Time now);
    void on_handed_back(const fakes::Event& event, Time now);
    void judge_hand_back(const fakes::Event& event, const Message& message, const Job& job);
    void on_lock(const fakes::Event& event, Time now);
    void on_other_lock(const fakes::Event& event, Time now);
    void on_state(const fakes::Event& event, Time now);
    void on_check(const fakes::Event& event, Time now);
    void lose_messages(Time now);
    static void forget(Job& job);
    void settle(std::map<MessageId, Message>::iterator message, Time now);
    [[nodiscard]] bool has_delays() const;
    [[nodiscard]] bool is_due_elsewhere(engine::Duration delay) const;
    [[nodiscard]] Job& at(std::string_view job);

    const engine::Tunables& tunables_;
    const Weather& weather_ = model().weather();
    HeardByAll heartbeats_heard_;
    std::map<std::string, Job, std::less<>> jobs_;
    std::map<std::string, Hold, std::less<>> holds_;  // by lock
    std::map<fakes::NodeId, Time> undoing_;           // until when a replica was last about to publish a compensation
    std::map<MessageId, Message> messages_;
    struct Heartbeats {
        Time last{}, before{};
    };
    std::map<std::string, Heartbeats, std::less<>> heartbeats_;  // of each worker
    std::map<std::string, fakes::NodeId, std::less<>> workers_;
    int troubles_ = 0;  // of anybody
};

}  // namespace lockstep::sim
