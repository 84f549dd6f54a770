// Holds what a run came to against what its scenario expects of states, jobs, metrics and events. Invariants are the
// oracles' business; `sometimes` is judged over all seeds of a sweep.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/run/job_tracker.h"
#include "sim/run/result.h"
#include "sim/scenario/scenario.h"
#include "sim/world/faults/trigger_matcher.h"
#include "sim/world/metric_store.h"

namespace lockstep::sim {

/// Counts the events that the scenario has an expectation about. The expectations outlive it.
class ExpectedEvents final : public EventObserver {
public:
    ExpectedEvents(const Expectations& expect, const Topology& topology);
    void on_event(const fakes::Event& event, Time now) override;
    [[nodiscard]] std::uint64_t count(std::size_t index) const { return counters_[index].count; }
    /// Whether any packet of the run carried the trace id that this expectation names, or it names none.
    [[nodiscard]] bool trace_seen(std::size_t index) const {
        return counters_[index].trace_seen || counters_[index].expectation->trace.empty();
    }

private:
    struct Counter {
        TriggerMatcher matcher;
        const EventExpectation* expectation;
        std::uint64_t count = 0;
        bool trace_seen = false;
        std::deque<Time> recent;  // those within the span that ends now, where the most in any span is asked for
    };
    std::vector<Counter> counters_;
};

/// How the outcome of an expectation on one job names what was expected.
[[nodiscard]] std::string expected_of_job(const std::string& job, const std::string& state);

/// Adds an outcome per expectation to the result, and a sentence for each metric that never had a sample and each trace id
/// that no packet carried.
void judge_expectations(const Expectations& expect, const JobTracker& jobs, const MetricStore& metrics,
                        const ExpectedEvents& events, RunResult& result);

}  // namespace lockstep::sim
