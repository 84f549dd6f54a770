#include "engine/config/tunables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

#include "engine/config/relations.h"
#include "engine/config/tunable_minimum.h"
#include "engine/runtime/span.h"
#include "engine/testing/hostile_text.h"

namespace lockstep::engine {
namespace {

TEST(Tunables, EveryEntryReadsBackWhatItPrints) {
    for (const TunableInfo& info : tunable_table()) {
        Tunables tunables;
        const std::string text = tunable_text(tunables, info);
        EXPECT_TRUE(set_tunable(tunables, info.name, text)) << info.name << " = " << text;
        EXPECT_EQ(tunable_text(tunables, info), text) << info.name;
    }
}

TEST(Tunables, NamesAreUnique) {
    std::set<std::string_view> names;
    for (const TunableInfo& info : tunable_table()) EXPECT_TRUE(names.insert(info.name).second) << info.name;
}

TEST(Tunables, AWrongValueSaysWhatWasExpectedAndChangesNothing) {
    Tunables tunables;
    const auto duration = set_tunable(tunables, "job_lock_ttl", "sixty");
    ASSERT_FALSE(duration);
    EXPECT_NE(duration.error().find("\"1.5s\""), std::string::npos) << duration.error();
    EXPECT_EQ(tunables.job_lock_ttl, 60s);
    EXPECT_FALSE(set_tunable(tunables, "max_in_flight", "-1"));
    EXPECT_EQ(set_tunable(tunables, "max_in_flight", "0").error(),
              "expected a whole number from 1 to 1000000000, got \"0\"");
    EXPECT_TRUE(set_tunable(tunables, "max_scheduling_retries", "0"));
    EXPECT_FALSE(set_tunable(tunables, "max_in_flight", "12x"));
    EXPECT_FALSE(set_tunable(tunables, "topic_fallback", "maybe"));
    EXPECT_FALSE(set_tunable(tunables, "lock_on_abandon", "panic"));
    EXPECT_FALSE(set_tunable(tunables, "lock_on_abandon", "stop"));
    EXPECT_TRUE(set_tunable(tunables, "lock_on_abandon", "continue"));
    EXPECT_FALSE(set_tunable(tunables, "no_such_thing", "1"));
}

TEST(Tunables, ALoopWithoutAPauseIsRefusedAndAnImmediateRetryIsNot) {
    Tunables tunables;
    for (const char* name : {"bus_ack_wait", "worker_ttl", "snapshot_interval", "reconciler_interval",
                             "replayer_interval", "config_reload_interval", "delay_poller_interval", "lock_poll"}) {
        for (const char* value : {"0", "0s", "999us"}) {
            const auto set = set_tunable(tunables, name, value);
            ASSERT_FALSE(set) << name << " = " << value;
            EXPECT_NE(set.error().find("at least 1ms"), std::string::npos) << set.error();
        }
        EXPECT_TRUE(set_tunable(tunables, name, "1ms")) << name;
    }
    for (const char* name : {"lock_wait", "retry_delay_busy", "backoff_jitter", "reconciler_scheduled_timeout",
                             "publish_resend_limit", "pending_age", "shutdown_grace"})
        EXPECT_TRUE(set_tunable(tunables, name, "0s")) << name;
}

TEST(Tunables, OnlyDurationsHaveAMinimumAndEveryDefaultIsAboveIt) {
    const Tunables defaults;
    for (const TunableInfo& info : tunable_table()) {
        const auto* member = std::get_if<Duration Tunables::*>(&info.member);
        if (member == nullptr)
            EXPECT_EQ(minimum_of(info), Duration{}) << info.name;
        else
            EXPECT_GE(defaults.*(*member), minimum_of(info)) << info.name;
    }
}

// Every tunable of the table against texts that a file, a variable or a scenario may hold.
RC_GTEST_PROP(Tunables, AnyTextIsRefusedByWhatWasExpectedOrKeepsEveryRelationComputable, ()) {
    const TunableInfo& info = tunable_table()[*rc::gen::inRange<std::size_t>(0, tunable_table().size())];
    const std::string text = *testing::hostile_text();
    Tunables tunables;
    const std::string before = tunable_text(tunables, info);
    const auto set = set_tunable(tunables, info.name, text);
    if (!set) {
        RC_ASSERT(set.error().starts_with("expected "));
        RC_ASSERT(tunable_text(tunables, info) == before);
        return;
    }
    // What it prints is what it takes, and no rule leaves its numbers.
    const std::string printed = tunable_text(tunables, info);
    Tunables again;
    RC_ASSERT(set_tunable(again, info.name, printed).has_value());
    RC_ASSERT(tunable_text(again, info) == printed);
    for (const Relation& relation : relations())
        if (!relation.holds(tunables))
            RC_ASSERT(!describe(relation, tunables, [](auto name) { return std::string(name); }).empty());
    RC_ASSERT(late_result_wait(tunables.bus_ack_wait, tunables.reconciler_interval) > Duration{0});
    RC_ASSERT(static_cast<int>(tunables.bus_max_deliver) == tunables.bus_max_deliver);
    RC_ASSERT(static_cast<int>(tunables.bus_max_ack_pending) == tunables.bus_max_ack_pending);
}

TEST(Tunables, NoCountLeaves32BitsAndNoNumberIsInfinite) {
    Tunables tunables;
    EXPECT_EQ(set_tunable(tunables, "bus_max_deliver", "4294967297").error(),
              "expected a whole number from 1 to 1000000000, got \"4294967297\"");
    EXPECT_TRUE(set_tunable(tunables, "bus_rate_limit", "1000000000000"));
    for (const char* text : {"inf", "nan", "1e308"}) EXPECT_FALSE(set_tunable(tunables, "overload_cpu", text)) << text;
}

TEST(Durations, AreAtMostTenYearsAndSaySo) {
    EXPECT_EQ(parse_duration("87600h"), kSpanMax);
    for (const char* text :
         {"87600h1ns", "600000h600000h600000h600000h600000h", "9223372036854775807ns", "99999999999999999h"})
        EXPECT_EQ(parse_duration(text).error(), fmt::format("expected at most ten years, 87600h, got \"{}\"", text));
    EXPECT_EQ(bounded(std::chrono::milliseconds::max()), kSpanMax);
    EXPECT_EQ(bounded(std::chrono::microseconds::min()), -kSpanMax);
    EXPECT_EQ(bounded(std::chrono::seconds(-3)), Duration{-3s});
    EXPECT_EQ(bounded(std::chrono::duration<double>(1e300)), kSpanMax);
}

TEST(Durations, AreReadExactly) {
    EXPECT_EQ(parse_duration("250us"), Duration{250us});
    EXPECT_EQ(parse_duration("1.5s"), Duration{1500ms});
    EXPECT_EQ(parse_duration("1m30s"), Duration{90s});
    EXPECT_EQ(parse_duration("2h"), Duration{2h});
    EXPECT_EQ(parse_duration("0"), Duration{0});
    EXPECT_EQ(parse_duration("0.000000001s"), Duration{1});
    for (const char* bad : {"", "5", "s", "-1s", "1 s", "1d", "1s2", ".s", "99999999999h"})
        EXPECT_FALSE(parse_duration(bad)) << bad;
}

TEST(Durations, PrintInTheLargestUnitThatFitsExactly) {
    EXPECT_EQ(format_duration(90s), "90s");
    EXPECT_EQ(format_duration(2min), "2m");
    EXPECT_EQ(format_duration(1500us), "1500us");
    EXPECT_EQ(format_duration(Duration{0}), "0s");
}

}  // namespace
}  // namespace lockstep::engine
