#include "reports/compare/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/compare/comparison_json.h"
#include "reports/compare/test_comparison.h"

namespace lockstep::reports {
namespace {

using ::testing::HasSubstr;

/// Every `count`th seed.
Comparison shard(std::size_t index, std::size_t count) {
    Comparison out = small_comparison();
    std::erase_if(out.runs, [&](const ComparedRun& run) { return run.seed % count != index; });
    out.command += " --shard " + std::to_string(index + 1) + "/" + std::to_string(count);
    for (Distribution& distribution : out.distributions) distribution.samples /= count;
    return out;
}

std::string error_of(Comparison changed) {
    const auto merged = merge({shard(0, 2), std::move(changed)});
    return merged ? "merged" : merged.error();
}

TEST(Merge, ShardsMakeTheWholeInWhateverOrder) {
    const auto merged = merge({shard(1, 3), shard(0, 3), shard(2, 3)});
    ASSERT_TRUE(merged.has_value()) << merged.error();
    EXPECT_TRUE(merged->complete);
    const Comparison whole = small_comparison();
    EXPECT_EQ(analyse(*merged).digest, analyse(whole).digest);
    EXPECT_EQ(analyse(*merged).verdict.sentences, analyse(whole).verdict.sentences);
    EXPECT_EQ(merged->distributions.size(), whole.distributions.size());
    EXPECT_EQ(merged->distributions[0].samples, 6000U);
    const auto again = merge({shard(2, 3), shard(1, 3), shard(0, 3)});
    EXPECT_EQ(comparison_json(*merged, analyse(*merged)), comparison_json(*again, analyse(*again)));
}

TEST(Merge, AMissingShardLeavesItIncomplete) {
    const auto merged = merge({shard(1, 3), shard(0, 3)});
    ASSERT_TRUE(merged.has_value());
    EXPECT_FALSE(merged->complete);
}

TEST(Merge, DistributionsArePooledByTheirSamples) {
    Comparison a = small_comparison();
    Comparison b = small_comparison();
    a.distributions = {{0, "m", "ms", 10, {{1, 0.5}, {2, 1}}}};
    b.distributions = {{0, "m", "ms", 30, {{2, 0.5}, {3, 1}}}};
    const auto merged = merge({a, b});
    ASSERT_TRUE(merged.has_value()) << merged.error();
    const std::vector<std::pair<double, double>> expected{{1, 0.125}, {2, 0.625}, {3, 1}};
    EXPECT_EQ(merged->distributions[0].points, expected);
}

TEST(Merge, WhatBelongsToAnotherComparisonIsRefusedByName) {
    EXPECT_EQ(error_of(shard(1, 2)), "merged");
    EXPECT_THAT(error_of([] {
                    auto c = shard(1, 2);
                    c.question = "?";
                    return c;
                }()),
                HasSubstr("the question"));
    EXPECT_THAT(error_of([] {
                    auto c = shard(1, 2);
                    c.variants[1].settings["backoff_base"] = "6s";
                    return c;
                }()),
                HasSubstr("the variants"));
    EXPECT_THAT(error_of([] {
                    auto c = shard(1, 2);
                    c.measures[0].unit = "s";
                    return c;
                }()),
                HasSubstr("the measures"));
    EXPECT_THAT(error_of([] {
                    auto c = shard(1, 2);
                    c.scenarios[0].hash = "0";
                    return c;
                }()),
                HasSubstr("the scenarios"));
    EXPECT_THAT(error_of([] {
                    auto c = shard(1, 2);
                    c.commit = "f";
                    return c;
                }()),
                HasSubstr("the commit"));
    EXPECT_THAT(error_of([] {
                    auto c = shard(1, 2);
                    c.criteria.threshold = 0.1;
                    return c;
                }()),
                HasSubstr("the criteria"));
    EXPECT_THAT(error_of([] {
                    auto c = shard(0, 2);
                    c.runs[0].digest++;
                    return c;
                }()),
                HasSubstr("another outcome of pool_outage of variant \"default\" with seed 2"));
    EXPECT_FALSE(merge({}).has_value());
}

}  // namespace
}  // namespace lockstep::reports
