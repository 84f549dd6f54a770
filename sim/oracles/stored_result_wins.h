// stored_result_wins: nobody times out while a result that the stream had before the limit may be unheard, and nobody waits for
// one for longer than is promised (engine/delivery-semantics.md, "When a TIMEOUT follows a stored result").
//
// 1. A result is unheard until a scheduler acknowledges or terminates it. Only results that would end their job count, and only
//    packets that can be read: nobody knows whom the others are about. What a power cut may have taken is owed to nobody.
// 2. A job that is DISPATCHED or RUNNING and times out with such a result has the reason that says so, and has been waited for
//    until the ack wait and two intervals of the reconciler had passed after its limit. Whoever ends it has by then been
//    connected to NATS for as long: a connection of which its replica has been told that it broke was another one. So long it has also
//    had an answer from Redis to whatever its ticks asked.
// 3. One that leaves these states later than that and three intervals more, in a cluster that nothing has disturbed for as
//    long, has been forgotten: a message that nobody can handle, a consumer that is stuck and a ticker that changes hands
//    delay nobody else's end; the time that a tick takes to read what may be unheard is given. One that never leaves them is for no_lost_job. Where no result of the job was there to be waited for,
//    three intervals and a few seconds are enough, in a cluster that nothing has disturbed since it began.
// 4. One whose own worker's result stands in the stream does not time out at all where nothing has disturbed the cluster since a
//    lock's life before its limit, though nobody is given that result: who finds the job overdue reads it there.
// 5. Limits are counted by Redis' clock, from the times that it wrote; where several may be in force the one that lets more pass
//    counts.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/oracles/oracle.h"
#include "sim/oracles/unasked_ends.h"

namespace lockstep::sim {

class StoredResultWins final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::redis,   fakes::EventKind::connection_broken,
                          fakes::EventKind::fault,   fakes::EventKind::read_back,
                          fakes::EventKind::deliver, fakes::EventKind::stored,
                          fakes::EventKind::state,   fakes::EventKind::ack,
                          fakes::EventKind::term};
    /// The tunables outlive the oracle. `timeouts`: as timeouts.yaml, in JSON; may be empty.
    StoredResultWins(Judge& judge, const engine::Tunables& tunables, std::string_view timeouts)
        : Oracle(judge), tunables_(tunables), ends_(tunables, timeouts) {}
    [[nodiscard]] std::string_view invariant() const override { return "stored_result_wins"; }
    void on_event(const fakes::Event& event, Time now) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Result {
        std::string job;  // empty: nobody knows, or it would end none
        std::string worker;
        Time stored_at{};
        EventNumber event = 0;
    };

    struct RoundTrip {
        Time asked{};
        engine::Duration took{};  // the latest
    };

    void follow_tick(const fakes::Event& event, Time now);
    /// It would end the job, and a tick that finds the job overdue comes to it.
    [[nodiscard]] bool may_be_taken_from_the_stream(std::string_view job, const Result& result) const;
    [[nodiscard]] bool has_just_connected(fakes::NodeId client) const;
    [[nodiscard]] bool has_just_been_unanswered(fakes::NodeId client) const;
    /// Less than the patience, and surely so.
    [[nodiscard]] bool is_too_soon_after(Time began) const;
    void on_stored(const fakes::Event& event, Time now);
    /// The job has left DISPATCHED or RUNNING.
    void on_departure(fakes::NodeId client, std::string_view job, const UnaskedEnds::Departure& left);
    /// The oldest unheard result of the job that the stream had by then.
    [[nodiscard]] const std::pair<const std::uint64_t, Result>* unheard_at(std::string_view job, Time limit) const;
    [[nodiscard]] engine::Duration patience() const {
        return tunables_.bus_ack_wait + 2 * tunables_.reconciler_interval;
    }

    /// For how long its limit may be over; `waited_for`: a result of it may have been.
    [[nodiscard]] engine::Duration bound(bool waited_for) const;

    /// Of what the ticks have asked last, each replica's.
    [[nodiscard]] engine::Duration slowest_answer() const;
    [[nodiscard]] engine::Duration time_to_read() const;
    [[nodiscard]] bool all_are_looked_at() const;
    /// Overdue jobs of one state.
    [[nodiscard]] std::uint64_t looked_at_in_a_tick() const;
    /// Until every job at work has had its turn, where a tick cannot look at all.
    [[nodiscard]] engine::Duration time_for_all() const;
    [[nodiscard]] bool surely_calm() const;

    const engine::Tunables& tunables_;
    UnaskedEnds ends_;
    const Weather& weather_ = model().weather();
    const Time& now_ = told_at();
    std::map<std::uint64_t, Result> unheard_;                  // by sequence in the one stream that carries results
    std::map<std::string, Time, std::less<>> named_;           // jobs that a stored result is about, and since when
    std::map<std::string, std::string, std::less<>> workers_;  // of jobs, whom each was sent to last
    std::set<std::string, std::less<>> at_work_;               // jobs that are DISPATCHED or RUNNING
    std::size_t most_at_work_ = 0;                             // of these, at one time
    std::map<fakes::NodeId, RoundTrip> ticks_;
    std::map<fakes::NodeId, Time> broken_;           // when the connection of each to NATS last broke
    std::map<fakes::NodeId, Time> connected_after_;  // the same, as its latest tick found it
    std::map<fakes::NodeId, Time> unanswered_;       // when a question of its ticks last had no answer
    std::uint64_t results_ = 0;                      // that were stored
    std::set<std::string, std::less<>> reported_;    // jobs whose worker has reported that they timed out
};

}  // namespace lockstep::sim
