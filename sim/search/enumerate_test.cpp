#include "sim/search/enumerate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/run/run_scenario.h"

namespace lockstep::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Document small() {
    return Document::parse(R"({
        "name": "small", "duration": "15m",
        "cluster": { "schedulers": 1, "workers": [ { "id": "w", "service_time": "100ms" } ] },
        "load": [ { "at": "1s", "topic": "job.default", "count": 2 } ]
    })");
}

const std::vector<CallSite> kSites{{fakes::EventKind::publish, "", "", "worker.*.jobs", 4},
                                   {fakes::EventKind::redis, "commit", "", "", 9},
                                   {fakes::EventKind::kernel_check, "", "", "", 1}};

/// Makes the calls above; fails under the faults that `fails` names.
Runner runner(std::function<bool(const Fault&)> fails) {
    return [=](const Scenario& scenario, std::uint64_t seed, const RunOptions& options) {
        RunResult result;
        result.seed = seed;
        result.passed = true;
        if (options.calls) result.calls = kSites;
        for (const Fault& fault : scenario.faults) {
            result.faults.push_back({std::string(fault.kind()), "", 1, 1, 1});
            if (!fails(fault)) continue;
            result.passed = false;
            result.violations.push_back({"no_lost_job", 0, "", "", "gone", {}});
        }
        return result;
    };
}

TEST(Enumerate, MakesEveryPossibleEndOfEveryCallOnce) {
    EnumerateOptions options;
    options.occurrences = 3;
    options.threads = 3;
    const auto outcome = enumerate(small(), runner([](const Fault&) { return false; }), options);
    ASSERT_EQ(outcome.error, "");
    ASSERT_THAT(outcome.table, SizeIs(3));
    for (const CallSite& site : outcome.sites) {
        for (const CallFate fate : kCallFates) {
            const CallCoverage& coverage = outcome.table.at(name_of(site))[static_cast<std::size_t>(fate)];
            const std::uint64_t expected =
                possible(site, fate) ? static_cast<std::uint64_t>(std::min(site.count, 3)) : 0U;
            EXPECT_EQ(coverage.runs, expected) << name_of(site) << " " << to_string(fate);
            EXPECT_EQ(coverage.effective, expected);
        }
    }
    EXPECT_THAT(outcome.failures, IsEmpty());
}

TEST(Enumerate, KeepsTheFirstFailureOfAKindWithWhatMadeIt) {
    const auto at_second_publish = [](const Fault& fault) {
        return fault.kind() == "crash" && fault.on->event == fakes::EventKind::publish && fault.on->nth == 2;
    };
    const auto outcome = enumerate(small(), runner(at_second_publish), {});
    ASSERT_THAT(outcome.failures, SizeIs(1));
    EXPECT_THAT(outcome.failures.begin()->second.origin, HasSubstr("publish worker.*.jobs number 2 crash before"));
}

TEST(Enumerate, DrawsPairs) {
    EnumerateOptions options;
    options.pairs = 25;
    const auto outcome = enumerate(small(), runner([](const Fault&) { return false; }), options);
    EXPECT_EQ(outcome.pairs.runs, 25U);
}

TEST(Enumerate, RefusesAScenarioThatFailsByItself) {
    const Runner broken = [](const Scenario&, std::uint64_t, const RunOptions&) {
        RunResult result;
        result.error = "broken";
        return result;
    };
    EXPECT_THAT(enumerate(small(), broken, {}).error, HasSubstr("without faults"));
}

TEST(Enumerate, PutsEachFaultOnTheRealCall) {
    EnumerateOptions options;
    options.occurrences = 1;
    const auto outcome = enumerate(small(), run_scenario, options);
    ASSERT_EQ(outcome.error, "");
    EXPECT_THAT(outcome.failures, IsEmpty());
    const auto& commit = outcome.table.at("redis commit");
    const auto& dispatch = outcome.table.at("publish worker.*.jobs");
    for (const CallFate fate : kCallFates) {
        const bool of_nats_only = fate == CallFate::restarted || fate == CallFate::power_cut;
        EXPECT_EQ(commit[static_cast<std::size_t>(fate)].effective, of_nats_only ? 0U : 1U) << to_string(fate);
        EXPECT_EQ(dispatch[static_cast<std::size_t>(fate)].effective, 1U) << to_string(fate);
    }
    EXPECT_TRUE(outcome.table.contains("publish worker.*.jobs"));
    EXPECT_TRUE(outcome.table.contains("kernel_check"));
    EXPECT_TRUE(outcome.table.contains("ack sys.job.submit"));
}

}  // namespace
}  // namespace lockstep::sim
