#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "sim/run/run_scenario.h"
#include "sim/scenario/document.h"
#include "sim/search/cannot_happen.h"
#include "sim/search/coverage_report.h"

namespace lockstep::sim {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::set<CoverageItem> reached(const char* text) {
    const auto scenario = parse_document(Document::parse(text), "test");
    if (!scenario) throw std::runtime_error(to_string(scenario.error().front()));
    RunOptions options;
    options.history = true;
    return reached_by(*scenario, run_scenario(*scenario, 1, options));
}

constexpr const char* kOneJob = R"({
    "name": "one",
    "cluster": {
        "config": { "job_lock_ttl": "20s", "bus_ack_wait": "10m" },
        "pools": { "topics": { "job.default": ["default"] },
                   "pools": { "default": { "requires": ["gpu"], "status": "active" } } },
        "timeouts": { "topics": { "job.default": { "timeout": "90s" } } },
        "kernel": { "policy": { "default_decision": "allow",
            "rules": [ { "decision": "allow_with_constraints", "match": { "topics": ["job.other"] },
                         "constraints": { "budgets": { "max_retries": 2 } } } ] } },
        "workers": [ { "id": "w" } ] },
    "load": [ { "at": "6s", "job": { "labels": { "placement.zone": "a" }, "budget": { "deadline_ms": "99000" },
                                     "meta": { "requires": ["gpu"] } } } ] })";

TEST(Coverage, TellsWhatARunHasReached) {
    const auto items = reached(kOneJob);
    for (const CoverageItem& item : {
             CoverageItem{coverage::kTunable, "job_lock_ttl"},
             CoverageItem{coverage::kDocument, "pools/pools/*/requires"},
             CoverageItem{coverage::kDocument, "pools/pools/*/status=active"},
             CoverageItem{coverage::kDocument, "timeouts/topics/*/timeout_seconds"},
             CoverageItem{coverage::kField, "budget.deadline_ms"},
             CoverageItem{coverage::kField, "meta.requires"},
             CoverageItem{coverage::kMark, "label placement.*"},
             CoverageItem{coverage::kBudget, "max_retries"},
             CoverageItem{coverage::kCall, "redis take_up: applied"},
             CoverageItem{coverage::kCall, "ack: applied"},
             CoverageItem{coverage::kState, "(none) -> PENDING"},
         })
        EXPECT_THAT(items, Contains(item)) << item.group << " " << item.name;
}

TEST(Coverage, CountsNothingThatARunHasNotReached) {
    const auto items = reached(kOneJob);
    for (const CoverageItem& item : {
             CoverageItem{coverage::kTunable, "bus_ack_wait"},  // drawn, and what it is anyway
             CoverageItem{coverage::kDocument, "pools/pools/*/status=draining"},
             CoverageItem{coverage::kField, "budget.max_input_tokens"},
             CoverageItem{coverage::kMark, "label node.*"},
             CoverageItem{coverage::kCall, "redis take_up: unknown"},
             CoverageItem{coverage::kState, "RUNNING -> TIMEOUT"},
             CoverageItem{coverage::kBranch, "circuit_open"},
         }) {
        EXPECT_THAT(items, Not(Contains(item))) << item.group << " " << item.name;
        EXPECT_THAT(documented_items(), Contains(item)) << item.group << " " << item.name;
    }
}

TEST(Coverage, KnowsOfEveryCallHowElseItMightHaveEnded) {
    const auto items =
        with_calls({}, {{coverage::kCall, "publish sys.job.submit: applied"}, {coverage::kCall, "ack: applied"}});
    EXPECT_THAT(items, Contains(CoverageItem{coverage::kCall, "publish sys.job.submit: unknown"}));
    EXPECT_THAT(items, Not(Contains(CoverageItem{coverage::kCall, "ack: unknown"})));
}

TEST(Coverage, DoesNotDependOnThreads) {
    CoverageOptions options;
    options.seeds = 6;
    const Coverage alone = measure_coverage(run_scenario, options);
    options.threads = 3;
    const Coverage together = measure_coverage(run_scenario, options);
    EXPECT_EQ(alone.draws, 6U);
    EXPECT_EQ(alone.counts, together.counts);
}

TEST(Coverage, NamesTheDrawsThatFailed) {
    CoverageOptions options;
    options.first = 7;
    options.seeds = 4;
    const Runner runner = [](const Scenario&, std::uint64_t seed, const RunOptions&) {
        RunResult result;
        result.history = std::make_shared<History>();
        result.passed = seed % 2 == 0;
        return result;
    };
    EXPECT_EQ(measure_coverage(runner, options).failed, (std::set<std::uint64_t>{7, 9}));
}

/// As if these had been reached, so often.
CoverageReport report_of(const std::map<CoverageItem, std::uint64_t>& counts, std::uint64_t draws) {
    Coverage plain;
    plain.draws = draws;
    plain.counts = counts;
    return coverage_report("test", plain, std::nullopt);
}

std::map<CoverageItem, std::uint64_t> all_that_can_happen(std::uint64_t count) {
    std::map<CoverageItem, std::uint64_t> counts;
    for (const CoverageItem& item : documented_items())
        if (find_cannot_happen(item) == nullptr) counts[item] = count;
    return counts;
}

const CoverageItem kJobLife{coverage::kTunable, "job_meta_ttl"};

TEST(CoverageReport, WhatNothingReachesAndNobodyExcusesIsAFailure) {
    auto counts = all_that_can_happen(1);
    EXPECT_THAT(coverage_complaints(report_of(counts, 1)), IsEmpty());
    counts.erase(kJobLife);
    EXPECT_THAT(coverage_complaints(report_of(counts, 1)),
                Contains(HasSubstr("`job_meta_ttl`: no draw has reached it")));
}

TEST(CoverageReport, WhatCannotHappenAndDoesIsAFailure) {
    auto counts = all_that_can_happen(1);
    const CannotHappen& excused = cannot_happen().front();
    const auto table = parse_coverage_markdown(coverage_markdown(report_of(counts, 1)));
    ASSERT_TRUE(table) << table.error();
    counts[{excused.group, std::string(excused.name)}] = 3;
    const auto complaint = HasSubstr("is on the list of what cannot happen, and 3 draws reached it");
    EXPECT_THAT(coverage_complaints(report_of(counts, 1)), Contains(complaint));
    EXPECT_THAT(coverage_complaints(report_of(counts, 1), *table), Contains(complaint));
}

TEST(CoverageReport, FewDrawsNeedNotReachWhatIsRare) {
    auto counts = all_that_can_happen(200);
    counts[kJobLife] = 20;
    const auto table = parse_coverage_markdown(coverage_markdown(report_of(counts, 1000)));
    ASSERT_TRUE(table) << table.error();
    EXPECT_EQ(table->draws, 1000U);
    EXPECT_EQ(table->rows.at(kJobLife).plain, 20U);
    auto fewer = counts;
    fewer.erase(kJobLife);
    EXPECT_THAT(coverage_complaints(report_of(fewer, 100), *table), IsEmpty());
    fewer.erase({coverage::kTunable, "job_lock_ttl"});
    EXPECT_THAT(coverage_complaints(report_of(fewer, 100), *table),
                Contains(HasSubstr("`job_lock_ttl`: none of 100 draws has reached it")));
}

TEST(CoverageReport, WhatOnlyDrawsThatLoseDataReachIsExpectedOfThose) {
    const auto with_loss = [](std::map<CoverageItem, std::uint64_t> plain, std::map<CoverageItem, std::uint64_t> losing,
                              std::uint64_t draws) {
        CoverageReport report = report_of(plain, draws);
        report.losing = Coverage{.draws = draws, .failed = {}, .counts = std::move(losing), .interrupted = false};
        return report;
    };
    auto plain = all_that_can_happen(200);
    plain.erase(kJobLife);
    const auto table = parse_coverage_markdown(coverage_markdown(with_loss(plain, {{kJobLife, 150}}, 1000)));
    ASSERT_TRUE(table) << table.error();
    EXPECT_EQ(table->losing_draws, 1000U);
    EXPECT_EQ(table->rows.at(kJobLife).losing, 150U);
    EXPECT_THAT(coverage_complaints(report_of(plain, 100), *table), IsEmpty()) << "nothing was lost in these";
    EXPECT_THAT(coverage_complaints(with_loss(plain, {{kJobLife, 1}}, 100), *table), IsEmpty());
    EXPECT_THAT(
        coverage_complaints(with_loss(plain, {}, 100), *table),
        Contains(HasSubstr("`job_meta_ttl`: none of 200 draws has reached it, of the table's 2000 it was 150")));
}

TEST(CoverageReport, ATableInWhichSomethingIsNeverReachedIsNoExcuse) {
    auto counts = all_that_can_happen(200);
    counts.erase(kJobLife);
    const auto table = parse_coverage_markdown(coverage_markdown(report_of(counts, 1000)));
    ASSERT_TRUE(table) << table.error();
    EXPECT_THAT(coverage_complaints(report_of(counts, 100), *table),
                ElementsAre(HasSubstr("`job_meta_ttl`: the table says that no draw has reached it")));
    const auto hasty = parse_coverage_markdown(coverage_markdown(report_of(counts, 999)));
    ASSERT_TRUE(hasty) << hasty.error();
    EXPECT_THAT(coverage_complaints(report_of(counts, 100), *hasty), IsEmpty()) << "it is not known whether none can";
}

TEST(CoverageReport, ATableOfAnotherVersionIsToBeWrittenAnew) {
    auto older = all_that_can_happen(5);
    std::string page = coverage_markdown(report_of(older, 5));
    page.replace(page.find("`job_meta_ttl`"), 14, "`job_metal_tt`");
    const auto table = parse_coverage_markdown(page);
    ASSERT_TRUE(table) << table.error();
    const auto complaints = coverage_complaints(report_of(older, 5), *table);
    EXPECT_THAT(complaints, Contains(HasSubstr("`job_meta_ttl` is not in the table")));
    EXPECT_THAT(complaints, Contains(HasSubstr("`job_metal_tt` is in the table, and there is no such thing")));
    EXPECT_FALSE(parse_coverage_markdown("# something else\n"));
}

TEST(CannotHappen, NamesOnlyWhatIsDocumentedAndSaysWhy) {
    std::set<CoverageItem> calls;
    for (const CannotHappen& entry : cannot_happen()) {
        EXPECT_GT(std::string_view(entry.why).size(), 20U) << entry.name;
        if (entry.group != std::string_view(coverage::kCall))
            EXPECT_THAT(documented_items(), Contains(CoverageItem{entry.group, std::string(entry.name)}));
        EXPECT_TRUE(calls.insert({entry.group, std::string(entry.name)}).second) << entry.name << " stands there twice";
    }
}

}  // namespace
}  // namespace lockstep::sim
