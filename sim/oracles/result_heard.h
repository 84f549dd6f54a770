// result_heard: every result that the stream holds is heard to its end by every service that reads results beside the
// schedulers (sim/run/result_reader.h), and heard once, as far as the guard of messages promises it (BUS-03, C-13).
// Whether schedulers and workflow engines hear theirs is seen in what becomes of the job and of its run: job_history, run_progress.
//
// 1. A consumer acknowledges a result only after one of its own replicas has heard it: what another consumer has done with the
//    same message silences nobody.
// 2. Before the acknowledgement stands the mark, `cordum:bus:processed:<stream>:<sequence>:<durable>`. A replica that Redis
//    has failed meanwhile goes on without, as `bus_guard_on_error` says, and so does one whose mark Redis has lost since.
// 3. A delivery that came after the mark is not handled, on the same conditions. Without a mark a result may be heard twice:
//    its first handler died, was frozen past the ack wait, or handed it back because it could not know that it had been kept.
// 4. At the end nothing is owed: each result has been heard, or terminated, which takes a dead letter. Packets that cannot be
//    read are owed to nobody, nor is what a power cut may have taken, or another leader of the durable, which delivers nothing again
//    that was in hand.
// 5. It is put to the test where one consumer takes a result off that another one has taken off before.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class ResultHeard final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{
        fakes::EventKind::node_down, fakes::EventKind::fault, fakes::EventKind::redis, fakes::EventKind::stored,
        fakes::EventKind::deliver,   fakes::EventKind::ack,   fakes::EventKind::nak,   fakes::EventKind::term};
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "result_heard"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;
    void at_rest(const RestView& view) override;
    [[nodiscard]] bool waits() const override { return open_ > 0; }

private:
    using Durable = std::string;
    using Sequence = std::uint64_t;  // in the one stream that carries results

    /// What has become of one result with one consumer.
    struct Reading {
        bool heard = false;  // to the end
        EventNumber heard_at = 0;
        bool over = false;    // heard or terminated
        bool marked = false;  // the mark is in Redis
    };
    struct Result {
        std::string job;
        EventNumber stored = 0;
        std::map<Durable, Reading, std::less<>> readings;
        std::set<Durable, std::less<>> taken_off;  // who has acknowledged it, schedulers included
    };
    /// What a replica has in hand of one result: one delivery, or more when it was frozen past the ack wait.
    struct Hand {
        int deliveries = 0;  // that it has not answered
        std::string job;
        bool marked_before = false;  // the mark was there when they came
        bool excused = false;        // Redis has failed this replica since, or has lost its mark
    };
    using HandKey = std::tuple<fakes::NodeId, Durable, Sequence>;

    void on_stored(const fakes::Event& event);
    void on_delivered(const fakes::Event& event);
    void on_acknowledged(const fakes::Event& event);
    void on_redis(const fakes::Event& event);
    void on_keeping(const fakes::Event& event, std::string_view job);
    void let_go(const fakes::Event& event);
    void forget_node(fakes::NodeId node);
    void join(std::string_view durable);
    void finish(Reading& reading);
    void leave_open_ones();
    /// One that the replica has kept was this one.
    void vouch(Reading& reading, fakes::NodeId node, const std::string& job);
    [[nodiscard]] Reading* reading(std::string_view durable, Sequence sequence);
    void excuse(std::string_view durable, Sequence sequence);

    std::map<Sequence, Result> results_;
    std::map<HandKey, Hand> hands_;
    /// By replica and job: results that it knows to be kept and has neither marked nor acknowledged yet. Which of several
    /// results of a job one of them is, only the mark tells.
    std::map<std::pair<fakes::NodeId, std::string>, int> kept_;
    std::set<Durable, std::less<>> readers_;  // consumers of results that are no scheduler's
    std::size_t open_ = 0;                    // readings that are not over
};

}  // namespace lockstep::sim
