// Holds what a run came to against what its scenario expects of states, jobs, metrics and events. Invariants are the
// rules' business; `sometimes` is judged over all seeds of a sweep.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/faults/trigger_matcher.h"
#include "sim/run/job_tracker.h"
#include "sim/run/result.h"
#include "sim/run/run_tracker.h"
#include "sim/scenario/scenario.h"
#include "sim/world/metric_store.h"

namespace lockstep::sim {

/// Counts the events that the scenario has an expectation about. The expectations outlive it.
class ExpectedEvents final : public EventObserver {
public:
    ExpectedEvents(const Expectations& expect, const Topology& topology);
    void on_event(const fakes::Event& event, Time now) override;
    [[nodiscard]] std::uint64_t count(std::size_t index) const { return counters_[index].count; }
    /// Why the count of this expectation says nothing: what it speaks of beside its events never was. Empty when it does.
    [[nodiscard]] std::string vacuous(std::size_t index) const;

private:
    struct Counter {
        TriggerMatcher matcher;
        const EventExpectation* expectation;
        std::optional<TriggerMatcher> before;
        std::set<std::string> over;  // of which run, nodes or jobs that event has come
        std::deque<Time> recent;     // those within the span that ends now, where the most in any span is asked for
        std::uint64_t count = 0;
        bool trace_seen = false;
    };
    void count(const fakes::Event& event, Time now);
    /// Whether the event, which has passed the filters, is one of those asked for by what else has happened.
    [[nodiscard]] bool stands(const Counter& counter, const fakes::Event& event) const;

    std::map<std::string, std::string, std::less<>> states_;  // of jobs, where an expectation asks for them
    std::map<std::string, bool, std::less<>> seen_states_;    // those asked for, and whether any job was in them
    std::vector<Counter> counters_;
};

/// Adds an outcome per expectation to the result, and a sentence for each metric that never had a sample and each trace id
/// that no packet carried.
void judge_expectations(const Expectations& expect, const JobTracker& jobs, const MetricStore& metrics,
                        const ExpectedEvents& events, RunResult& result);

/// The same of measures. REQUIRES: the run was measured.
void judge_measures(const Expectations& expect, RunResult& result);

/// The same of workflow runs and their steps.
void judge_runs(const Expectations& expect, const RunTracker& runs, RunResult& result);

}  // namespace lockstep::sim
