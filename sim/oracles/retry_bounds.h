// retry_bounds: a try that found no worker is followed by another one after min(base * 2^n + jitter, max), or max - jitter where
// base * 2^n reaches max, jitter uniform in [0, backoff_jitter), and there are no more than max_scheduling_retries of them. Whoever takes a dispatch back and lets
// go of the job puts it off.
//
// A job that comes to wait for capacity uses no try for it and is given no delay: it is woken.
//
// Whatever else records why a try came to nothing (`ls_last_cause`) gives the job its delay as well (`ls_next_attempt_at`). A job that
// is put off because policy throttles it, or because nobody has answered, waits for the delay of that (wire.md 4.1 and
// 8), or for that of an input that was not found.
//
// Read off the attempts in the job hash, which grow without a change of state when a try fails, and off the delays with
// which the job's message is handed back after that. Deliveries that a consumer makes on its own account are no tries.
//
// A hand-back is held against all looks at the job from which it can have come (see OpenLooks). Not seen, therefore:
// 1. while a replica has several deliveries of a job in hand, or looks at the job on its own account with one in hand: a
//    delay that is wrong for the one look and right for another;
// 2. a delay that equals a fixed one of another cause: a store that did not answer, a lock that is held, a message that
//    could not be marked as processed (C-11), a scheduler that is stopping;
// 3. after a look that was neither too early for the job nor a failed try: any delay up to the longest documented one.
// 4. what a replica makes of a job whose hash was evicted after it had looked: it goes on from what it had read, and Redis counts anew.
// The delay is kept by Redis' clock: one during which that clock jumps says nothing, nor does one that Redis has lost.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/config/tunables.h"
#include "sim/oracles/open_looks.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class RetryBounds final : public Oracle {
public:
    /// Also how late it is, from each event.
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds::all();
    RetryBounds(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "retry_bounds"; }
    void on_event(const fakes::Event& event, Time now) override;
    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;
    void at_rest(const RestView& view) override;

private:
    struct FailedTry {
        std::int64_t number = 0;    // counted from 0
        std::int64_t attempts = 0;  // as written then
        std::optional<Time> at;     // nothing: at the event that is told next
        EventNumber event = 0;
    };
    struct Job {
        bool state_written = false;  // in the same command: the attempts that follow belong to a dispatch
        bool rolled_back = false;    // last it was taken back from DISPATCHED
        std::string state;
        std::optional<FailedTry> failed;
    };
    /// What is to be judged when the command is over.
    struct TakenBack {
        fakes::NodeId by;
        std::string job;
    };
    void judge_taken_back();
    void judge_failed();
    void judge_undecided();
    void on_failed_try(fakes::NodeId client, const std::string& name, Job& job, FailedTry failed);
    void on_take_up(const fakes::Event& event);
    void on_verdict(const fakes::Event& event);
    void on_nak(const fakes::Event& event);
    /// Nothing: the store may count the delay from another time than we do, or has forgotten it.
    [[nodiscard]] std::optional<engine::Duration> passed_since(const FailedTry& failed) const;
    [[nodiscard]] Look look_at(const Job& job) const;
    [[nodiscard]] engine::Duration without_jitter(std::int64_t number) const;
    [[nodiscard]] engine::Duration shortest(std::int64_t number) const;
    [[nodiscard]] engine::Duration longest(std::int64_t number) const;

    const engine::Tunables& tunables_;
    std::map<std::string, Job, std::less<>> jobs_;
    std::set<std::string, std::less<>> evicted_;  // jobs at which nobody has looked since their hashes were
    TakenBack taken_back_;                        // by the present command
    std::string put_off_;                         // likewise: the job that it gives a delay
    std::string let_go_;                          // likewise: whose lock it has released
    std::string queued_;                          // likewise: the job that waits for capacity from then on
    std::string failed_;                          // likewise: the job of which it says why a try came to nothing
    /// Likewise: a job about which policy has not decided, and when it is due.
    struct Undecided {
        std::string job, decision;
        std::int64_t due = 0;       // microseconds of the clock of Redis
        std::int64_t timeouts = 0;  // of calls about this job alone, in a row
        bool tried = false;         // it goes on all the same, and has failed otherwise
    };
    Undecided undecided_;
    std::int64_t store_now_ms_ = 0;
    fakes::NodeId client_;  // whose command that is
    OpenLooks looks_;
    std::string to_stamp_;  // the job whose try failed in the command that is being carried out
    Time now_{};
    std::optional<Time> store_clock_jumped_at_;
    std::vector<engine::Duration> jitters_;
};

}  // namespace lockstep::sim
