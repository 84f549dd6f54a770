#include "sim/search/explore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "sim/run/run_scenario.h"
#include "sim/scenario/catalogue.h"
#include "sim/search/fault_free.h"
#include "sim/search/theme_parts.h"
#include "sim/search/themes.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

/// Fails where `fails` says so: even draws in one way, odd ones in another. The higher the draw, the shorter the run.
Runner runner(std::function<bool(std::uint64_t)> fails, std::vector<std::uint64_t>* made = nullptr) {
    auto mutex = std::make_shared<std::mutex>();
    return [=](const Scenario&, std::uint64_t seed, const RunOptions&) {
        const std::lock_guard lock(*mutex);
        if (made != nullptr) made->push_back(seed);
        RunResult result;
        result.seed = seed;
        result.digest = seed;
        result.events = 1000 - seed;
        result.passed = !fails(seed);
        if (!result.passed) result.violations.push_back({seed % 2 == 0 ? "even" : "odd", 0, "", "", "wrong", {}});
        return result;
    };
}

constexpr DataLoss kBothLose{.redis = true, .nats = true};

TEST(DrawScenario, IsAlwaysAFileThatCanBeLoaded) {
    int disturbed = 0;
    for (std::uint64_t number = 1; number <= 300; ++number) {
        const Document document = draw_scenario(number, {});
        const auto scenario = parse_document(document, "draw");
        ASSERT_TRUE(scenario) << number << ": " << to_string(scenario.error().front());
        EXPECT_EQ(scenario->seed, number);
        EXPECT_FALSE(scenario->chaos);
        disturbed += scenario->faults.empty() ? 0 : 1;
    }
    EXPECT_GT(disturbed, 270) << "few are drawn in calm weather";
}

/// What the first settles, such as how many replicas there are and where a topic goes, the second may settle in another way.
TEST(Themes, AnyTwoGiveAFileThatCanBeLoaded) {
    const auto theme = [](std::string_view name) {
        return *std::ranges::find(themes(), name, [](const Theme& one) { return std::string_view(one.name); });
    };
    for (const auto& [first, second] : {std::pair{"comings-and-goings", "lonely-circuits"},
                                        {"written-settings", "lonely-circuits"},
                                        {"odd-pools", "placements"},
                                        {"placements", "odd-pools"}}) {
        for (std::uint64_t number = 1; number <= 40; ++number) {
            Document scenario = Document::parse(R"({
                "name": "two", "duration": "1h", "faults": [],
                "cluster": { "schedulers": 4, "workers": [ { "id": "w", "count": 2 } ],
                             "kernel": { "policy": { "default_decision": "allow" } } },
                "load": [ { "at": "1s", "topic": "job.default", "count": 3, "rate": "1/s" } ]
            })");
            Dice dice(number);
            theme(first).apply(dice, scenario);
            theme(second).apply(dice, scenario);
            name_present_replicas(scenario);
            const auto loaded = parse_document(scenario, "two");
            ASSERT_TRUE(loaded) << first << ", " << second << ": " << to_string(loaded.error().front());
        }
    }
}

/// A third of the time before the healing, and load in it.
TEST(DrawScenario, LeavesFaultFreeStretchesUnderLoad) {
    Duration free_of_faults{};
    Duration all{};
    int late = 0;
    for (const int minutes : {3, 5, 8}) {
        for (std::uint64_t number = 1; number <= 100; ++number) {
            Dice dice(number);
            const Duration heal_at = std::chrono::minutes{minutes};
            const FaultFree stretches(dice, heal_at);
            Document load =
                Document::parse(R"([{"at": "1s", "count": 9}, {"job": {"job_id": "once"}}, {"cancel": "once"}])");
            stretches.repeat_load(dice, load);
            for (std::size_t i = 3; i < load.size(); ++i) {
                EXPECT_FALSE(load[i].contains("cancel") || load[i].contains("job"));
                EXPECT_LE(load[i]["count"], 4);
                late += *engine::parse_duration(load[i]["at"].get_ref<const std::string&>()) > heal_at ? 1 : 0;
            }
            for (const Document& one : stretches.document()) {
                const Duration begin = *engine::parse_duration(one["at"].get_ref<const std::string&>());
                const Duration length = *engine::parse_duration(one["for"].get_ref<const std::string&>());
                EXPECT_LE(begin + length, heal_at);
                free_of_faults += length;
                for (const char* at : {"0s", "40s", "100s"}) {
                    Document fault = {{"at", at}, {"for", "2m"}};
                    stretches.keep_out(dice, fault);
                    const Duration from = *engine::parse_duration(fault["at"].get_ref<const std::string&>());
                    const Duration lasts = *engine::parse_duration(fault["for"].get_ref<const std::string&>());
                    EXPECT_TRUE(from + lasts < begin || from >= begin + length) << number << ": " << fault.dump();
                    EXPECT_GT(lasts, Duration{});
                }
                Document placed = {{"on", {{"event", "ack"}}}, {"for", "150s"}};
                stretches.keep_out(dice, placed);
                const Document& on = placed["on"];
                const Duration lasts = *engine::parse_duration(placed["for"].get_ref<const std::string&>());
                const bool ends_before =
                    on.contains("until") &&
                    *engine::parse_duration(on["until"].get_ref<const std::string&>()) + lasts < begin;
                const bool begins_after =
                    on.contains("after") &&
                    *engine::parse_duration(on["after"].get_ref<const std::string&>()) >= begin + length;
                EXPECT_TRUE(ends_before || begins_after) << number << ": " << placed.dump();
            }
            all += heal_at;
        }
    }
    EXPECT_GT(free_of_faults, all / 4);
    EXPECT_LT(free_of_faults, all / 2);
    EXPECT_GT(late, 100);
}

TEST(DrawScenario, IsTheSameForTheSameNumber) {
    EXPECT_EQ(draw_scenario(5, {}), draw_scenario(5, {}));
    EXPECT_NE(draw_scenario(5, {})["faults"], draw_scenario(6, {})["faults"]);
}

TEST(DrawScenario, DrawsDataLossOnlyWhenAsked) {
    const auto lossy = [](const DrawOptions& options) {
        std::size_t count = 0;
        for (std::uint64_t number = 1; number <= 100; ++number) {
            const Document drawn = draw_scenario(number, options);
            if (!drawn.contains("faults")) continue;
            for (const Document& fault : drawn["faults"])
                count += fault["do"] == "redis.failover" || fault["do"] == "nats.power_cut" ? 1 : 0;
        }
        return count;
    };
    EXPECT_EQ(lossy({}), 0U);
    DrawOptions options;
    options.data_loss = kBothLose;
    EXPECT_GT(lossy(options), 0U);
}

TEST(DrawScenario, WatchesEverythingWhateverIsLost) {
    DrawOptions options;
    options.data_loss = kBothLose;
    for (std::uint64_t number = 1; number <= 60; ++number) {
        EXPECT_EQ(draw_scenario(number, options)["expect"]["invariants"], "all") << number;
        EXPECT_EQ(draw_scenario(number, {})["expect"]["invariants"], "all") << number;
    }
}

TEST(DrawScenario, LosesOfOneServerOnlyWhatThatOneHas) {
    DrawOptions options;
    options.data_loss = {.redis = false, .nats = true};
    int cut = 0;
    for (std::uint64_t number = 1; number <= 60; ++number) {
        const Document drawn = draw_scenario(number, options);
        const auto scenario = parse_document(drawn, "draw");
        ASSERT_TRUE(scenario) << number << ": " << to_string(scenario.error().front());
        for (const Fault& fault : scenario->faults) {
            cut += fault.kind() == "nats.power_cut" ? 1 : 0;
            EXPECT_NE(fault.kind(), "redis.failover") << number;
        }
        // Requests, inputs and letters that are evicted are a matter of every draw: what a job has come to stays.
        for (const Document& fault : drawn.value("faults", Document::array()))
            if (fault.value("do", "") == "redis.evict") {
                const std::string keys = fault.value("keys", "");
                EXPECT_TRUE(keys.starts_with("ctx:") || keys.starts_with("job:req:") || keys.starts_with("dlq:entry:"))
                    << number << ": " << keys;
            }
    }
    EXPECT_GT(cut, 30);
}

TEST(DrawScenario, LeavesAnInputTimeToBeLoadedOverTheSlowestLink) {
    int slow = 0;
    for (std::uint64_t number = 1; number <= 400; ++number) {
        const auto scenario = parse_document(draw_scenario(number, {}), "draw");
        ASSERT_TRUE(scenario) << number << ": " << to_string(scenario.error().front());
        const SchedulePolicy& schedule = scenario->cluster.schedule;
        if (schedule.kind != SchedulePolicy::Kind::pct) continue;
        EXPECT_LE(schedule.lag, std::chrono::milliseconds{10}) << number;
        slow += schedule.lag == std::chrono::milliseconds{10} ? 1 : 0;
    }
    EXPECT_GT(slow, 0);
}

TEST(DrawScenario, TakesAwayWhatRedisHasWhenAsked) {
    DrawOptions options;
    options.data_loss = kBothLose;
    std::map<std::string, std::uint64_t> effective;
    int forgetful = 0;
    int behind = 0;
    const auto all_seen = [&] { return effective["redis.evict"] > 0 && forgetful > 0 && behind > 0; };
    for (std::uint64_t number = 1; number <= 100 && !all_seen(); ++number) {
        const auto scenario = parse_document(draw_scenario(number, options), "draw");
        ASSERT_TRUE(scenario) << number << ": " << to_string(scenario.error().front());
        // Only what may show something that has not been seen is run.
        const auto has = [&](std::string_view kind) {
            return std::ranges::count(scenario->faults, kind, &Fault::kind) > 0;
        };
        const bool telling = (effective["redis.evict"] == 0 && has("redis.evict")) ||
                             (forgetful == 0 && has("redis.restart") &&
                              scenario->cluster.redis_persistence != RedisPersistence::always) ||
                             (behind == 0 && has("redis.failover") && scenario->cluster.redis_replica_lag > Duration{});
        if (!telling) continue;
        const RunResult result = run_scenario(*scenario, number, {});
        EXPECT_EQ(result.error, "") << number;
        for (const reports::FaultCount& fault : result.faults) {
            if (fault.effective == 0) continue;
            ++effective[fault.kind];
            forgetful +=
                fault.kind == "redis.restart" && scenario->cluster.redis_persistence != RedisPersistence::always ? 1
                                                                                                                 : 0;
            behind += fault.kind == "redis.failover" && scenario->cluster.redis_replica_lag > Duration{} ? 1 : 0;
        }
    }
    EXPECT_GT(effective["redis.evict"], 0U) << "keys of these names were there";
    EXPECT_GT(forgetful, 0);
    EXPECT_GT(behind, 0);
}

TEST(Explore, EndsAtTheFirstFailure) {
    std::vector<std::uint64_t> made;
    ExploreOptions options;
    options.seeds = 100;
    const auto outcome = explore(runner([](std::uint64_t n) { return n >= 5; }, &made), options);
    EXPECT_THAT(made, ElementsAre(1, 2, 3, 4, 5));
    EXPECT_THAT(outcome.failures, SizeIs(1));
    EXPECT_EQ(outcome.next, 6U);
}

TEST(Explore, KeepsTheShortestOfEachKind) {
    ExploreOptions options;
    options.seeds = 40;
    options.keep_going = true;
    options.threads = 4;
    const auto outcome = explore(runner([](std::uint64_t n) { return n > 10; }), options);
    ASSERT_THAT(outcome.failures, SizeIs(2));
    EXPECT_EQ(outcome.failures.at("even: wrong").seed, 40U);
    EXPECT_EQ(outcome.failures.at("odd: wrong").seed, 39U);
    EXPECT_EQ(outcome.counts.at("odd: wrong"), 15U);
    EXPECT_EQ(outcome.total.runs, 40U);
    EXPECT_EQ(outcome.total.histories, 40U);
    EXPECT_EQ(outcome.next, 41U);
}

TEST(DrawScenario, TakesUpEveryTheme) {
    std::map<std::string, int> drawn;
    for (std::uint64_t number = 1; number <= 1200; ++number) {
        const Document document = draw_scenario(number, {});
        if (!document.contains("tags")) continue;
        for (const Document& tag : document["tags"]) ++drawn[tag.get<std::string>()];
    }
    for (const Theme& theme : themes()) EXPECT_GT(drawn[theme.name], 5) << theme.name;
}

TEST(DrawScenario, WaitsForPolicyLongerThanPolicyAlwaysTakes) {
    int slow = 0;
    for (std::uint64_t number = 1; number <= 1000; ++number) {
        const auto scenario = parse_document(draw_scenario(number, {}), "draw");
        ASSERT_TRUE(scenario) << number << ": " << to_string(scenario.error().front());
        const engine::Duration takes = scenario->cluster.kernel_latency.a;
        slow += takes >= std::chrono::milliseconds{500} ? 1 : 0;
        EXPECT_LT(takes, scenario->cluster.config.safety_timeout) << number;
    }
    EXPECT_GT(slow, 10);
}

TEST(DrawScenario, KnowsNothingOfWhatIsSwitchedOff) {
    for (std::uint64_t number = 1; number <= 50; ++number) {
        DrawOptions options;
        options.without = {"job_lock"};
        Document drawn = draw_scenario(number, options);
        drawn.erase("without");
        EXPECT_EQ(drawn, draw_scenario(number, {}));
    }
}

TEST(DrawScenario, RestartsARedisThatForgetsOnlyWhenAsked) {
    DrawOptions options;
    options.bases = {Document::parse(R"({ "name": "base", "cluster": { "redis": { "persistence": "none" } },
        "load": [ { "count": 5 } ] })")};
    const auto restarts = [&] {
        int count = 0;
        for (std::uint64_t number = 1; number <= 200; ++number) {
            const Document drawn = draw_scenario(number, options);
            if (!drawn.contains("faults")) continue;
            for (const Document& fault : drawn["faults"])
                count += fault["do"] == "crash" && fault.value("target", "") == "redis" ? 1 : 0;
        }
        return count;
    };
    EXPECT_EQ(restarts(), 0);
    options.bases[0]["cluster"]["redis"]["persistence"] = "always";
    EXPECT_GT(restarts(), 0);
}

TEST(Explore, BeginsWithWhatFailedBefore) {
    std::vector<std::uint64_t> made;
    ExploreOptions options;
    options.first = 10;
    options.seeds = 3;
    options.regressions = {77, 5};
    const auto outcome = explore(runner([](std::uint64_t) { return false; }, &made), options);
    EXPECT_THAT(made, ElementsAre(77, 5, 10, 11, 12));
    EXPECT_EQ(outcome.next, 13U);
}

TEST(Explore, AsksForNoStories) {
    int asked = 0;
    const Runner fails = runner([](std::uint64_t) { return true; });
    ExploreOptions options;
    options.seeds = 3;
    options.keep_going = true;
    const Runner listening = [&](const Scenario& scenario, std::uint64_t seed, const RunOptions& run) {
        asked += run.explain ? 1 : 0;
        return fails(scenario, seed, run);
    };
    EXPECT_EQ(explore(listening, options).total.failures, 3U);
    EXPECT_EQ(asked, 0) << "each would be a run more";
}

TEST(Explore, AnInterruptedDrawIsMadeAgain) {
    std::atomic<bool> stop = false;
    ExploreOptions options;
    options.stop = &stop;
    const Runner interrupted = [&](const Scenario&, std::uint64_t seed, const RunOptions&) {
        RunResult result;
        result.passed = true;
        result.seed = seed;
        if (seed == 3) {
            stop = true;
            result.interrupted = true;
        }
        return result;
    };
    const auto outcome = explore(interrupted, options);
    EXPECT_TRUE(outcome.interrupted);
    EXPECT_EQ(outcome.next, 3U);
    EXPECT_EQ(outcome.total.runs, 2U);
}

}  // namespace
}  // namespace lockstep::sim
