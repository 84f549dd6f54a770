#include "sim/compare/comparison_file.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kSound = R"({
  // Comments are allowed.
  "title": "Backoff", "question": "Which backoff?", "scenarios": ["a.json"],
  "vary": {"backoff_base": ["200ms", "1s"], "backoff_max": {"from": "10s", "to": "30s", "steps": 3}},
  "seeds": 7, "objectives": ["submit_to_terminal.p99"], "limits": {"redis_commands_per_job": 0.1}
})";

std::string error_of(std::string_view text) {
    const auto plan = parse_comparison(text, "c.json");
    return plan ? "" : to_string(plan.error().front());
}

TEST(ComparisonFile, ReadsAGrid) {
    const auto plan = parse_comparison(kSound, "c.json");
    ASSERT_TRUE(plan) << error_of(kSound);
    EXPECT_EQ(plan->variants.size(), 6U);
    EXPECT_EQ(plan->variants[0].name, "backoff_base=200ms, backoff_max=10s");
    EXPECT_EQ(plan->seeds, 7U);
    EXPECT_THAT(plan->scenarios, ElementsAre("a.json"));
    EXPECT_THAT(plan->criteria.objectives, ElementsAre("submit_to_terminal.p99"));
    EXPECT_EQ(plan->criteria.limits.at("redis_commands_per_job"), 0.1);
    EXPECT_FALSE(plan->event_faults);
}

TEST(ComparisonFile, AxesAndSettingsStandInTheOrderOfTheFile) {
    const auto grid = parse_comparison(R"({"title": "t", "question": "q", "scenarios": ["a.json"],
        "vary": {"max_dispatch_retries": [3, 1], "backoff_jitter": ["500ms", "0ms"], "backoff_base": ["1s"]}})",
                                       "c.json");
    ASSERT_TRUE(grid);
    ASSERT_EQ(grid->axes.size(), 3U);
    EXPECT_EQ(grid->axes[0].first, "max_dispatch_retries");
    EXPECT_EQ(grid->axes[1].first, "backoff_jitter");
    EXPECT_EQ(grid->axes[2].first, "backoff_base");
    ASSERT_EQ(grid->variants.size(), 4U);
    EXPECT_EQ(grid->variants[1].name, "max_dispatch_retries=3, backoff_jitter=0ms, backoff_base=1s");
    const auto named = parse_comparison(R"({"title": "t", "question": "q", "scenarios": ["a.json"],
        "variants": [{"name": "x", "set": {"pending_age": "1m", "backoff_max": "9s"}}]})",
                                        "c.json");
    ASSERT_TRUE(named);
    EXPECT_THAT(named->variants[0].overrides(),
                ElementsAre("cluster.config.pending_age=1m", "cluster.config.backoff_max=9s"));
}

TEST(ComparisonFile, ReadsNamedVariants) {
    const auto plan = parse_comparison(R"({"title": "t", "question": "q", "drawn": {"count": 3},
        "variants": [{"name": "as it is", "set": {}}, {"name": "more", "set": {"max_dispatch_retries": 9}}]})",
                                       "c.json");
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->drawn, 3U);
    EXPECT_THAT(plan->variants[1].overrides(), ElementsAre("cluster.config.max_dispatch_retries=9"));
}

TEST(ComparisonFile, NamesTheMistakeThePlaceAndTheWayOut) {
    const std::string head = R"({"title": "t", "question": "q", "scenarios": ["a.json"],)";
    EXPECT_THAT(error_of(head + "\n" + R"("vary": {"a": [1]}, "objectives": ["submit_to_terminal.p98"]})"),
                HasSubstr("c.json:2:36: at /objectives/0: there is no measure \"submit_to_terminal.p98\""));
    EXPECT_THAT(error_of(head + R"("vary": {"a": [1]}, "variants": [{"name": "x", "set": {}}]})"),
                HasSubstr("not both"));
    EXPECT_THAT(error_of(head + R"("seeds": 3})"), HasSubstr("expected \"vary\" or \"variants\""));
    EXPECT_THAT(error_of(R"({"title": "t", "question": "q", "vary": {"a": [1]}})"),
                HasSubstr("expected \"scenarios\" or \"drawn\""));
    EXPECT_THAT(error_of(head + R"("vary": {"a": {"from": "1s", "to": 5, "steps": 3}}})"),
                HasSubstr("two durations or two numbers"));
    EXPECT_THAT(error_of(head + R"("vary": {"a": [1]}, "sedes": 3})"), HasSubstr("seeds"));
    EXPECT_THAT(error_of("{"), HasSubstr("expected JSON"));
}

TEST(ComparisonFile, RefusesMoreVariantsThanAnybodyReads) {
    EXPECT_THAT(error_of(R"({"title": "t", "question": "q", "scenarios": ["a.json"],
        "vary": {"a": {"from": 1, "to": 50, "steps": 50}, "b": {"from": 1, "to": 50, "steps": 50}}})"),
                HasSubstr("at most 200 combinations, these are 2500"));
}

TEST(ComparisonSchema, TheCommittedFileIsTheOneThatTheTableGives) {
    std::ifstream in(LOCKSTEP_COMPARISON_SCHEMA, std::ios::binary);
    const std::string committed(std::istreambuf_iterator<char>(in), {});
    EXPECT_TRUE(committed == comparison_schema())
        << "write it anew: lockstep list measures --schema > scenarios/compare/comparison.schema.json";
}

TEST(QuickComparison, TakesSettingsFromTheCommandLine) {
    const auto plan = quick_comparison("s/kernel-flaps.json", {"backoff_base=200ms,1s"});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->variants.size(), 2U);
    EXPECT_THAT(plan->variants[1].overrides(), ElementsAre("cluster.config.backoff_base=1s"));
    EXPECT_THAT(quick_comparison("s.json", {"backoff_base"}).error(), HasSubstr("NAME=VALUE,VALUE"));
}

}  // namespace
}  // namespace lockstep::sim
