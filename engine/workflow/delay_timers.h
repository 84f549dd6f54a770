// What is due by itself: delays, next tries and time limits of runs (workflow.md 7).
//
// 1. Each replica has the timers of the runs that it has visited last in memory; those of delays that are long enough stand in Redis
//    as well, written together with the run (run_store.h), and outlive it.
// 2. A poll takes over what is due in Redis, whoever set it. What it takes is due again a minute later, unless the visit changes that
//    (C-27): a replica that dies in between loses nothing.
// 3. A visit decides by Redis' clock whether anything is due; a timer that fires early is set again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "engine/config/context.h"
#include "engine/reconcile/ticker.h"
#include "engine/runtime/scope.h"
#include "engine/workflow/run_store.h"
#include "engine/workflow/run_visits.h"

namespace lockstep::engine {

class DelayTimers final : public DueListener {
public:
    /// All arguments outlive the timers.
    DelayTimers(const Context& context, RunStore& store, RunVisits& visits, SweepStore& sweeps, Leases& leases);

    /// At a start: fires what is past due, and sets what is to come. Needs Redis for it, and leaves the rest to the polls.
    [[nodiscard]] Task<void> recover();
    /// Polls until cancelled.
    [[nodiscard]] Task<void> poll();
    /// Drops what is in memory; what fires later is dropped too.
    void stop();
    void on_due(const std::string& run, std::optional<Duration> in) override;

    [[nodiscard]] std::size_t armed() const { return armed_.size(); }

private:
    [[nodiscard]] Task<void> wait(std::string run, MonoTime until, std::uint64_t number);
    [[nodiscard]] Task<void> take_due();

    struct Armed {
        MonoTime at{};
        std::uint64_t number = 0;
    };

    const Context& context_;
    RunStore& store_;
    RunVisits& visits_;
    Ticker ticker_;
    std::map<std::string, Armed> armed_;  // the next one of each run
    std::uint64_t last_number_ = 0;
    int ticks_ = 0;
    Scope waiting_;  // last: its tasks use everything above
};

/// The run of a timer's member, `<workflow>:<run>`; nothing for what is none.
[[nodiscard]] std::optional<std::string> run_of_timer(std::string_view member);

}  // namespace lockstep::engine
