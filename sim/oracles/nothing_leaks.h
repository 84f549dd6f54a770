// nothing_leaks: at rest no lock, in-flight mark or handler is left beyond its time. The run goes on for longer than a job
// lock lives before this is asked, so a lock that was taken before that and is still there has been renewed by somebody who
// had no business to. A scan that somebody else has settled already may take its job's lock at any time.
//
// That goes for every kind of lock: one is never granted without an end, since who holds it may die at any time, and the lock
// of a rollback is gone once the longest rollback and its time to live are over.
//
// And a job's or a run's lock whose holder has given it back is gone soon, whatever became of the first try: some seconds after the last
// disturbance, as long as the replica lives. Its job waits for nothing else. So is one that was taken by a call whose answer its
// replica has never had: it gives back what may be its own.
//
// A replica that has ended because it was asked to leaves neither behind: what it had in hand of the stream it has answered, and
// handed back where it was not done, and it has released the locks that it knew to be its own (engine/delivery-semantics.md, "How
// a job can still run twice, or end unsent"). What excuses it: that it was frozen, cut off or killed after
// all, and of locks, that Redis has not answered it meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/config/tunables.h"
#include "sim/model/weather.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class NothingLeaks final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{fakes::EventKind::core_publish,
                                                                   fakes::EventKind::deliver,
                                                                   fakes::EventKind::ack,
                                                                   fakes::EventKind::nak,
                                                                   fakes::EventKind::term,
                                                                   fakes::EventKind::redis,
                                                                   fakes::EventKind::lock_acquired,
                                                                   fakes::EventKind::lock_renewed,
                                                                   fakes::EventKind::lock_released,
                                                                   fakes::EventKind::lock_expired,
                                                                   fakes::EventKind::node_down,
                                                                   fakes::EventKind::paused,
                                                                   fakes::EventKind::connection_broken,
                                                                   fakes::EventKind::fault};
    NothingLeaks(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "nothing_leaks"; }
    void on_event(const fakes::Event& event, Time now) override;
    void at_rest(const RestView& view) override;
    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;

private:
    struct Grant {
        Time taken{};
        EventNumber event = 0;  // when it was last taken or renewed
        std::string token;
        std::string life;    // of a job's lock, milliseconds
        bool known = false;  // whoever holds it has been told so
        fakes::NodeId by;    // not valid: nobody holds it any more
    };
    /// Calls of one replica for one lock that have not been answered.
    struct Asked {
        std::string words;
        int outstanding = 0;
        bool several = false;
    };
    struct GivenBack {
        fakes::NodeId by;
        Time at{};
        EventNumber event = 0;
        bool unanswered = false;  // nobody has told it that it holds the lock
    };

    /// What a replica has been given by a consumer and has not answered: by durable and sequence.
    struct Given {
        std::string job;
        EventNumber event = 0;
    };
    /// A replica that has been asked to end.
    struct Ending {
        Time since{};
        bool disturbed = false;
    };

    void watch_ending(const fakes::Event& event);
    void judge_ended(fakes::NodeId node);
    void watch_hands(const fakes::Event& event);
    void watch_answers(const fakes::Event& event);
    void watch_release(const fakes::Event& event);
    [[nodiscard]] bool gives_back(const fakes::Event& call) const;
    void judge_release(const fakes::Event& gone);
    void judge_held(std::string_view key, const Grant& grant);

    const engine::Tunables& tunables_;
    std::map<std::string, Grant, std::less<>> granted_;         // by lock, of whatever kind
    std::map<std::string, GivenBack, std::less<>> given_back_;  // by lock: since when its holder wants to be rid of it
    std::map<fakes::NodeId, Time> unserved_;                    // when Redis last gave each no answer
    std::map<std::pair<fakes::NodeId, std::string>, Asked> asked_;
    std::set<fakes::NodeId> serving_;  // who has announced itself since it came up
    std::map<fakes::NodeId, Ending> ending_;
    std::map<fakes::NodeId, std::map<std::pair<std::string, std::uint64_t>, Given>> hands_;
    const Weather& weather_ = model().weather();
    const Time& now_ = told_at();
    std::int64_t redis_now_ = 0;  // milliseconds
    bool clocks_jumped_ = false;  // one that goes back prolongs what it counts down
};

}  // namespace lockstep::sim
