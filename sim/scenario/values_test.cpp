#include "sim/scenario/values.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/scenario/catalogue.h"
#include "sim/scenario/glob.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;

TEST(Values, DurationsMayCarryASign) {
    EXPECT_EQ(parse_signed_duration("-1.5s"), -1500ms);
    EXPECT_EQ(parse_signed_duration("250us"), 250us);
    EXPECT_FALSE(parse_signed_duration("--1s"));
    EXPECT_FALSE(parse_signed_duration("-"));
}

RC_GTEST_PROP(Values, EveryDurationReadsBackAsWritten, (std::int32_t millis)) {
    const Duration duration = std::chrono::milliseconds{millis};
    const std::string text = (millis < 0 ? "-" : "") + engine::format_duration(millis < 0 ? -duration : duration);
    RC_ASSERT(parse_signed_duration(text) == duration);
}

TEST(Values, RatesCountPerSecond) {
    EXPECT_DOUBLE_EQ(*parse_rate("20/s"), 20);
    EXPECT_DOUBLE_EQ(*parse_rate("3/m"), 0.05);
    EXPECT_DOUBLE_EQ(*parse_rate("1.5 / h"), 1.5 / 3600);
    for (const char* wrong : {"20", "20/", "/s", "-1/s", "0/s", "20/d", "inf/s", "nan/s"})
        EXPECT_FALSE(parse_rate(wrong)) << wrong;
}

TEST(Values, ComparisonsHoldAsTheyRead) {
    const auto holds = [](const char* text, double actual) { return parse_comparison(text).value().holds(actual); };
    EXPECT_TRUE(holds(">= 180", 180));
    EXPECT_FALSE(holds("> 180", 180));
    EXPECT_TRUE(holds("<30s", 29.5));
    EXPECT_TRUE(holds("!= 0", 1));
    EXPECT_TRUE(holds("== 1.5", 1.5));
    EXPECT_TRUE(holds("7", 7));
    for (const char* wrong : {"", ">=", "=> 3", "about 5", "> 3 jobs"}) EXPECT_FALSE(parse_comparison(wrong)) << wrong;
}

TEST(Values, MetricNamesTakeLabelsAndAStatistic) {
    const auto parsed =
        parse_metric_name("cordum_scheduler_jobs_completed_total{topic=\"job.a\", status=\"JOB_STATUS_FAILED\"}");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->labels.at("status"), "JOB_STATUS_FAILED");
    EXPECT_EQ(parsed->statistic, "");
    EXPECT_TRUE(parse_metric_name("cordum_scheduler_scheduler_active_goroutines:max"));
    EXPECT_FALSE(parse_metric_name("cordum_scheduler_jobs_completed_total:p99"));
    EXPECT_FALSE(parse_metric_name("cordum_scheduler_jobs_completed_total{topic}"));
    EXPECT_FALSE(parse_metric_name("cordum_scheduler_jobs_completed_total extra"));
}

TEST(Globs, MatchAcrossDots) {
    EXPECT_TRUE(glob_matches("worker.*.jobs", "worker.w-1.jobs"));
    EXPECT_TRUE(glob_matches("*", ""));
    EXPECT_TRUE(glob_matches("a*b*c", "axxbyyc"));
    EXPECT_FALSE(glob_matches("a*b*c", "axxbyy"));
    EXPECT_FALSE(glob_matches("", "x"));
}

TEST(Catalogue, EveryEventHasTheNameOfItsKind) {
    for (const EventInfo& event : event_table()) EXPECT_EQ(event.name, fakes::to_string(event.kind));
}

}  // namespace
}  // namespace lockstep::sim
