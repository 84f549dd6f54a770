// Services that read results beside schedulers and workflow engines (sim/run/result_reader.h). Each has a durable consumer of its own,
// and stores what it has handled in Redis: one list for each job.
//
// 1. The list does not say which result an element is about. That shows the mark of the message in Redis, which follows it, or else the
//    acknowledgement.
// 2. A result is read once it has been stored in the list. Without a mark it may be read twice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "fakes/event.h"
#include "sim/model/job_keys.h"
#include "sim/model/names.h"

namespace lockstep::sim {

struct Job;

class ResultReaders {
public:
    using Consumer = NameNumbers::Number;
    using Sequence = std::uint64_t;  // in the one stream that carries results

    /// What one consumer has done about one result.
    struct Reading {
        Consumer consumer = 0;
        EventNumber read = 0;  // 0: not yet
        bool is_over = false;  // read or terminated, or the server may not deliver it again
        bool is_marked = false;
    };
    struct Result {
        const Job* job = nullptr;  // null: it names none
        EventNumber stored = 0;
        std::vector<Reading> readings;
        std::vector<Consumer> acknowledged_by;  // also schedulers and workflow engines
    };
    struct Acknowledged {
        Sequence sequence = 0;
        std::string_view consumer;
        EventNumber stored = 0, read = 0;
        bool by_others_before = false;  // another consumer has acknowledged it
        bool is_mark_missing = false;   // and neither Redis nor a disturbance explains it
    };
    struct Repeated {
        Sequence sequence = 0;  // 0: the replica may have one in flight that is to be read
        std::string_view consumer;
        EventNumber read = 0;
    };

    void stored(const fakes::Event& event, const Job* job, EventNumber present);
    void delivered(const fakes::Event& event, const Job* job);
    /// Nothing: of a consumer that keeps no list, or of a result that is not known.
    [[nodiscard]] std::optional<Acknowledged> acknowledged(const fakes::Event& event, EventNumber present);
    void requeued(const fakes::Event& event);
    void terminated(const fakes::Event& event);
    /// The server has an acknowledgement, or a termination.
    void settled(const fakes::Event& event);
    void node_down(fakes::NodeId node);
    /// It delivers nothing again that was in flight, and nothing at all to a consumer that had as many in flight as it may.
    void leader_changed(std::int64_t max_in_flight);
    void server_restarted() { stalled_.clear(); }
    void power_cut();

    /// A replica is about to add a result to the list of the job.
    [[nodiscard]] Repeated reads(fakes::NodeId node, const Job* job);
    /// It has the reply that the list has it.
    void listed(fakes::NodeId node, const Job* job);
    /// It marks a message that it has processed, which tells which one the list has.
    void marks(fakes::NodeId node, const ProcessedMark& mark, EventNumber present);
    void redis_failed(fakes::NodeId node);
    void marked(const ProcessedMark& mark);
    /// Removed, or damaged.
    void unmarked(const ProcessedMark& mark);
    void restored(const fakes::redis::Keyspace& now);

    [[nodiscard]] bool any() const { return !readers_.empty(); }
    /// Results that are to be read.
    [[nodiscard]] std::size_t open() const { return open_; }
    [[nodiscard]] const std::map<Sequence, Result>& results() const { return results_; }
    [[nodiscard]] std::string_view name_of(Consumer consumer) const { return consumers_.name_of(consumer); }

private:
    /// What a replica has in flight of one result: several deliveries where it was frozen past the ack wait.
    struct InFlight {
        const Job* job = nullptr;
        int deliveries = 0;
        bool marked_before = false;  // all of them
        bool is_excused = false;     // Redis has failed the replica since, or has lost the mark
    };
    using Place = std::tuple<fakes::NodeId, Consumer, Sequence>;

    [[nodiscard]] Place place_of(const fakes::Event& event) const {
        return {event.node, consumers_.find(event.name), event.sequence};
    }
    void finish(Reading& reading);
    void note_read(Reading& reading, fakes::NodeId node, const Job* job, EventNumber present);
    [[nodiscard]] Reading* find(Consumer consumer, Sequence sequence);

    NameNumbers consumers_;
    std::set<Consumer> readers_;
    std::map<Consumer, std::set<Sequence>> unsettled_;  // as the server has it
    std::set<Consumer> stalled_;
    std::map<Sequence, Result> results_;
    std::map<Place, InFlight> in_flight_;
    /// By replica and job (0: none): elements that are in the list and not known to be about a certain result.
    std::map<std::pair<fakes::NodeId, fakes::JobNumber>, int> listed_;
    std::size_t open_ = 0;
};

}  // namespace lockstep::sim
