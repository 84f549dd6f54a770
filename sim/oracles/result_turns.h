// Which of several results that contradict each other may end their job: the first one in the stream, as far as a replica has
// had it in hand (engine/delivery-semantics.md, "Results that contradict each other"). Part of one_terminal_result.
//
// 1. A result has been in hand for all to know once it is noted on its job's hash (ls_result_first), or once a replica that has
//    been answered when it asked for the job's lock hands it back for the time that a busy lock takes. One that came when the
//    replica had as many results of the job in hand as it handles at once, or at the same instant as so many, may never have been asked
//    for. It stays in hand until
//    it is settled, whatever becomes of the note.
// 2. From then on, and for one ack wait, no later result may end the job otherwise: one that takes the job's lock after it.
// 3. A result that does not count contradicts none: one that is not from the job's worker, or that asks for what a job at work
//    cannot become.
// 4. What Redis forgets, a clock that jumps and a power cut of NATS excuse everybody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class ResultTurns {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::fault,         fakes::EventKind::node_down, fakes::EventKind::redis,
                          fakes::EventKind::lock_acquired, fakes::EventKind::state,     fakes::EventKind::stored,
                          fakes::EventKind::deliver,       fakes::EventKind::ack,       fakes::EventKind::nak,
                          fakes::EventKind::term};
    using Sequence = std::uint64_t;
    /// The tunables and the time, which goes on, outlive it.
    ResultTurns(const engine::Tunables& tunables, const Time& now) : tunables_(tunables), now_(now) {}

    void on_event(const fakes::Event& event, Time now, EventNumber number);
    void hash_set(std::string_view key, std::string_view field, std::string_view after, EventNumber number);
    void hash_removed(std::string_view key, std::string_view field);
    void key_removed(std::string_view key);
    void restored(const fakes::redis::Keyspace& now);

    struct Overtaken {
        Sequence earlier = 0;
        Sequence later = 0;
        EventNumber known_since = 0;
    };
    /// The job has just become `state` by a commit of `client`. What it says against that; nothing: it is in order.
    [[nodiscard]] std::optional<Overtaken> judge(fakes::NodeId client, std::string_view job,
                                                 std::string_view state) const;

private:
    struct Known {
        Time since{};
        EventNumber event = 0;
    };
    struct Report {
        std::string state;  // that it would bring
        std::string worker;
    };
    struct Hand {
        EventNumber since = 0;
        Time at{};
        bool crowded = false;  // it may have to wait for its place
    };
    struct Job {
        std::map<Sequence, Report> asks_for;  // each stored result that is not settled
        std::map<Sequence, Known> known;      // to be in hand
        std::map<std::pair<fakes::NodeId, Sequence>, Hand> hands;
        std::map<fakes::NodeId, EventNumber> answered;  // when a replica last was, about the job's lock
        std::string worker;                             // to which it has been sent; empty: nobody knows
        EventNumber lock_taken = 0;
        bool at_work = false;
    };

    void on_result(const fakes::Event& event, Time now, EventNumber number);
    void take_in_hand(Job& job, const fakes::Event& event, Time now, EventNumber number);
    void hand_back(Job& job, const fakes::Event& event, Time now, EventNumber number);
    void settle(Job& job, Sequence sequence);
    void forget_results();
    /// How many results about one job a replica handles at once, whatever else it has in hand.
    [[nodiscard]] std::size_t surely_at_once() const;
    [[nodiscard]] bool counts(const Job& job, const Report& report) const;
    [[nodiscard]] Job& at(std::string_view job);

    const engine::Tunables& tunables_;
    std::map<std::string, Job, std::less<>> jobs_;
    const Time& now_;
    bool clocks_jump_ = false;
};

}  // namespace lockstep::sim
