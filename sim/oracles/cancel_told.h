// cancel_told: the worker of a job that ends by timeout or cancel is told to leave off, and the worker of no other job is
// (engine/delivery-semantics.md, "To a worker", 4; wire.md 2.2, 8.4 and 9.2).
//
// 1. A scheduler that ends a job TIMEOUT which was DISPATCHED or RUNNING publishes a JobCancel on sys.job.cancel soon after,
//    unless `cancel_on_timeout` is off.
// 2. Where a job has been CANCELLED or has timed out before whoever sent its dispatch knows that the stream has it, and the
//    dispatch reaches a worker all the same, what was published before was too early for that worker: whoever has sent the
//    dispatch publishes a JobCancel after it. What is published once the dispatch is stored comes to its worker behind it,
//    however long that one is frozen.
// 3. A scheduler publishes a JobCancel about jobs only that are CANCELLED or TIMEOUT.
// 4. A scheduler that hears what somebody else publishes about a job that Redis knows and that has not ended ends it, however
//    many such words come together, and whatever was heard about the job before it was known ("Many messages about one job, and
//    many cancellations").
//
// A cancellation is a core message, at most once: it counts when it is published, whoever publishes it; that everybody hears it
// is the server's business. It is owed while the scheduler that owes it, Redis and NATS are undisturbed (weather.h), if slow:
// nobody keeps it for later. A worker that has itself reported the end needs no word.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "sim/model/weather.h"
#include "sim/oracles/lost_records.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class CancelTold final : public Oracle {
public:
    /// Also how late it is, from each event.
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds::all();
    /// The tunables outlive the oracle.
    CancelTold(Judge& judge, const engine::Tunables& tunables);
    [[nodiscard]] std::string_view invariant() const override { return "cancel_told"; }
    void on_event(const fakes::Event& event, Time now) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;
    void at_rest(const RestView& view) override;

private:
    struct Job {
        std::string state;
        fakes::NodeId sender;          // of its last dispatch
        Time sent = kBeforeAll;        // when that was
        Time stored = kBeforeAll;      // when its sender knew that the stream has it
        bool over_by_then = false;     // the job had ended
        Time too_late = kBeforeAll;    // when it reached a worker, the job having ended
        bool worker_ended_it = false;  // or says so
        Time told = kBeforeAll;        // the last JobCancel about it
    };
    struct Owed {
        Time due{};
        std::string job;
        fakes::NodeId by;
        Time since{};  // what was published before is too early
        Time calm_since{};
        std::string_view why;
        EventNumber event = 0;
    };

    void on_state(const fakes::Event& event, Time now);
    void on_sent(const fakes::Event& event, Time now);
    void on_dispatch_arrived(const fakes::Event& event, Time now);
    void on_result(const fakes::Event& event);
    void on_cancel(const fakes::Event& event, Time now);
    void on_request_to_cancel(const fakes::Event& event, Time now);
    void judge_requests(Time now);
    void owe_after_dispatch(std::string_view name, const Job& job, Time now);
    void owe(Owed owed);
    void judge_due(Time now);
    [[nodiscard]] Job& at(std::string_view job);

    /// What a scheduler was asked for on the bus.
    struct Asked {
        std::string job;
        fakes::NodeId of;
        Time since{};
        EventNumber event = 0;
    };

    const engine::Tunables& tunables_;
    /// From the end on, or from when the dispatch has arrived and its sender knows that it is stored.
    const engine::Duration soon_;
    const LostRecords& lost_ = jobs().lost();
    const Weather& weather_ = jobs().weather();
    std::map<std::string, Job, std::less<>> jobs_;
    std::deque<Owed> owed_;             // by when it is due
    std::multimap<Time, Asked> asked_;  // likewise
    std::map<fakes::NodeId, std::size_t> asked_of_;
    std::map<fakes::NodeId, Time> refused_;  // when the store last refused a call of each
};

}  // namespace lockstep::sim
