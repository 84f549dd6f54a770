// Settings of the configuration service, put in force at start and while the scheduler runs.
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/config/fingerprint.h"
#include "engine/wire/packet.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using nlohmann::json;

constexpr const char* kKey = "cfg:system:default";
constexpr const char* kPools = R"({"topics": {"job.default": ["default"]}, "pools": {"default": {}}})";

class SettingsTest : public SchedulerTest {
protected:
    SettingsTest() {
        more_config.pools_document = kPools;
        tunables.config_reload_interval = 30s;
    }

    json document() { return json::parse(text({"GET", kKey})); }
    json data() { return document()["data"]; }
    /// What an operator writes, without telling anybody.
    void write(const json& change) {
        json settings = document();
        settings["data"].merge_patch(change);
        settings["revision"] = settings["revision"].get<int>() + 1;
        run({"SET", kKey, settings.dump()});
    }
    void announce() {
        cap::SystemAlert alert;
        alert.set_message("config changed");
        bus.tell("sys.config.changed", engine::wire::make_packet(std::move(alert), "", "api-gateway", clock.now()));
        loop.settle();
    }
    void write_and_announce(const json& change) {
        write(change);
        announce();
    }
    void set_input_fail_mode(const json& mode) { write_and_announce({{"scheduler", {{"input_fail_mode", mode}}}}); }
    void kernel_is_away() {
        kernel.answer = [](const auto&) { return ScriptedKernel::unreachable(); };
    }
    /// Whether a job that comes now is routed.
    bool routes() {
        const std::string job = "j" + std::to_string(++jobs_);
        submit(job);
        return state(job) == "RUNNING";
    }
    static json pools(const char* text) { return {{"pools", json::parse(text)}}; }

private:
    int jobs_ = 0;
};

// CONF-01
TEST_F(SettingsTest, AnEmptyStoreIsToldOfTheFiles) {
    more_config.timeouts = *engine::parse_timeouts(R"({"reconciler": {"dispatch_timeout_seconds": 10}})");
    start();
    EXPECT_EQ(data()["pools"], json::parse(kPools));
    EXPECT_EQ(data()["_poolsFileHash"], engine::fingerprint_of_text(kPools));
    EXPECT_EQ(data()["timeouts"]["reconciler"]["dispatch_timeout_seconds"], 10);
    EXPECT_EQ(data()["_timeoutsFileHash"].get<std::string>().size(), 64U);
    EXPECT_EQ(document()["revision"], 1);
}

// CONF-02
TEST_F(SettingsTest, ASecondStartWithTheSameFilesWritesNothing) {
    start();
    crash();
    start();
    EXPECT_EQ(document()["revision"], 1);
}

// CONF-03
TEST_F(SettingsTest, AStartWithOneMoreTopicMakesANewRevision) {
    start();
    crash();
    more_config.pools_document =
        R"({"topics": {"job.default": "default", "job.more": "default"}, "pools": {"default": null}})";
    start();
    EXPECT_EQ(document()["revision"], 2);
    EXPECT_TRUE(data()["pools"]["topics"].contains("job.more"));
}

// CONF-06
TEST_F(SettingsTest, WhatTheStoreHoldsIsInForceFromTheFirstJobOn) {
    run({"SET", kKey, R"({"revision": 4, "data": {"pools": {"topics": {"job.default": ["elsewhere"]}}}})"});
    start();
    EXPECT_FALSE(routes()) << "the file's pool would have taken it";
}

// CONF-05
TEST_F(SettingsTest, RoutingFollowsTheStoreWithinTheReloadInterval) {
    tunables.config_reload_interval = 5ms;
    start();
    write(pools(R"({"topics": {"job.default": ["elsewhere"]}})"));
    loop.run_for(20ms);
    EXPECT_FALSE(routes());
    write(pools(R"({"topics": {"job.default": ["default"]}})"));
    loop.run_for(20ms);
    EXPECT_TRUE(routes());
}

TEST_F(SettingsTest, AnAnnouncementIsFollowedAtOnce) {
    start();
    write(pools(R"({"topics": {"job.default": ["elsewhere"]}})"));
    EXPECT_TRUE(routes());
    announce();
    EXPECT_FALSE(routes());
}

// C-53, H-31
TEST_F(SettingsTest, APoolThatDrainsIsNotRoutedToNotEvenAfterARestart) {
    start();
    write_and_announce(
        pools(R"({"topics": {"job.default": ["default"]}, "pools": {"default": {"status": "draining"}}})"));
    EXPECT_FALSE(routes());
    crash();
    start();
    EXPECT_FALSE(routes());
    write_and_announce(
        pools(R"({"topics": {"job.default": ["default"]}, "pools": {"default": {"status": "active"}}})"));
    EXPECT_TRUE(routes());
}

TEST_F(SettingsTest, ABadUpdateIsRefusedOnceAndTheLastGoodOneStays) {
    start();
    for (const std::string& bad :
         {std::string("{"), std::string("[]"), std::string(200'000, '['),
          std::string(R"({"data": {"pools": {"topics": {}}}})"), std::string(R"({"data": {"pools": 7}})")}) {
        const int refused = log.times_reached("settings_refused");
        run({"SET", kKey, bad});
        announce();
        announce();
        EXPECT_EQ(log.times_reached("settings_refused"), refused + 1) << bad.substr(0, 40);
        EXPECT_TRUE(routes()) << bad.substr(0, 40);
    }
    run({"DEL", kKey});
    announce();
    EXPECT_TRUE(routes());
}

TEST_F(SettingsTest, AStoreThatIsAwayChangesNothing) {
    start();
    redis.fault = [](const RedisCommand& command) {
        return command[0] == "GET" && command[1] == kKey ? CallFault::not_applied : CallFault::none;
    };
    announce();
    EXPECT_EQ(log.times_reached("settings_not_readable"), 1);
    EXPECT_TRUE(routes());
}

TEST_F(SettingsTest, AStartWithoutTheStoreFailsAfterItsPatienceAndMayBeRepeated) {
    redis.fault = [](const RedisCommand& command) {
        return command[0] == "GET" ? CallFault::not_applied : CallFault::none;
    };
    scheduler = std::make_unique<engine::Scheduler>(
        engine::Ports{loop, clock, entropy, slow_redis, bus, kernel, metrics, log}, more_config);
    const auto before = loop.monotonic();
    const auto failed = loop.wait(scheduler->start());
    ASSERT_FALSE(failed);
    EXPECT_NE(failed.error().find("settings not readable"), std::string::npos) << failed.error();
    EXPECT_GE(loop.monotonic() - before, 10s);
    EXPECT_LE(loop.monotonic() - before, 15s);
    redis.fault = nullptr;
    EXPECT_TRUE(loop.wait(scheduler->start()));
}

TEST_F(SettingsTest, AWriteThatIsLostToAnotherReplicaIsMadeUpWithWhatThatOneWrote) {
    bool first = true;
    on_script(scripts.replace_document, [&] {
        if (std::exchange(first, false)) redis.run({"SET", kKey, R"({"revision": 5, "data": {"mine": 1}})"});
        return CallFault::none;
    });
    start();
    EXPECT_EQ(log.times_reached("settings_write_conflict"), 1);
    EXPECT_EQ(data()["mine"], 1);
    EXPECT_TRUE(data().contains("pools"));
    EXPECT_EQ(document()["revision"], 6);
}

engine::FileSettings read_again(std::string pools, const char* timeouts = nullptr) {
    engine::FileSettings files{std::move(pools), {}, 5min, 15min};
    if (timeouts == nullptr) return files;
    files.timeouts = *engine::parse_timeouts(timeouts);
    const auto limits = engine::with_fallbacks(files.timeouts->reconciler);
    files.dispatch_timeout = limits.dispatch;
    files.running_timeout = limits.running;
    return files;
}

TEST_F(SettingsTest, FilesThatAreReadAgainAreToldToTheStoreAndFollowed) {
    more_config.timeouts = *engine::parse_timeouts(R"({"reconciler": {"running_timeout_seconds": 60}})");
    start();
    const auto adopted = loop.wait(scheduler->adopt(
        read_again(R"({"topics": {"job.default": "elsewhere", "job.more": "default"}, "pools": {"default": {}}})",
                   R"({"reconciler": {"running_timeout_seconds": 7}})")));
    ASSERT_TRUE(adopted) << adopted.error();
    EXPECT_EQ(document()["revision"], 2);
    EXPECT_EQ(data()["pools"]["topics"]["job.more"], json::array({"default"}));
    EXPECT_EQ(data()["timeouts"]["reconciler"]["running_timeout_seconds"], 7);
    EXPECT_TRUE(routes()) << "what the store says of job.default stands above the file";
    auto more = request_for("on-the-new-topic");
    more.set_topic("job.more");
    submit(more);
    EXPECT_EQ(state("on-the-new-topic"), "RUNNING");
}

// The store has no name for a topic's dispatch timeout: the document that it holds does not change.
TEST_F(SettingsTest, FilesThatSayMoreThanTheStoreCanHoldAreFollowedAsWell) {
    more_config.timeouts = *engine::parse_timeouts(R"({"topics": {"job.default": {"dispatch_timeout": "1h"}}})");
    start();
    const auto before = log.times_reached("settings_applied");
    EXPECT_TRUE(
        loop.wait(scheduler->adopt(read_again(kPools, R"({"topics": {"job.default": {"dispatch_timeout": "2h"}}})"))));
    EXPECT_EQ(document()["revision"], 1);
    EXPECT_EQ(log.times_reached("settings_applied"), before + 1);
}

TEST_F(SettingsTest, FilesThatTheStoreDoesNotTakeChangeNothingAndSayWhy) {
    start();
    on_script(scripts.replace_document, [] { return CallFault::not_applied; });
    const auto refused = loop.wait(scheduler->adopt(read_again(R"({"topics": {"job.more": "default"}})")));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().find("did not take them"), std::string::npos) << refused.error();
    on_script(scripts.replace_document, nullptr);
    EXPECT_TRUE(loop.wait(scheduler->adopt(read_again(R"({"topics": {"job.more": "default"}})"))));
    EXPECT_TRUE(data()["pools"]["topics"].contains("job.more"));
}

TEST_F(SettingsTest, WhoWantsToKnowIsToldOfEveryTableWithThePoolsThatDrain) {
    std::vector<std::vector<std::string>> told;
    more_config.on_pools = [&](const engine::RoutingTable& table) {
        auto& topics = told.emplace_back();
        for (const auto& topic : table.topics) topics.push_back(topic.first);
    };
    start();
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told.front(), std::vector<std::string>{"job.default"}) << "of the file";
    write_and_announce(pools(R"({"topics": {"job.new": ["p"]}, "pools": {"p": {"status": "draining"}}})"));
    EXPECT_EQ(told.back(), (std::vector<std::string>{"job.default", "job.new"}));
}

// A submitter makes up as many topics as it likes.
TEST_F(SettingsTest, TopicsThatNobodyRoutesAreCountedTogetherWhileStatesAreUnreadable) {
    start();
    redis.fault = [](const RedisCommand&) { return CallFault::not_applied; };
    for (int i = 0; i < 3; ++i) {
        auto request = request_for("made-up-" + std::to_string(i));
        request.set_topic("job.made-up." + std::to_string(i));
        submit(request);
    }
    loop.run_for(5s);
    EXPECT_EQ(metrics.value(Metric::state_read_fail_closed, {"other"}), 3);
    EXPECT_EQ(metrics.value(Metric::state_read_fail_closed, {"job.made-up.0"}), 0);
}

// The protocol's other implementations write under WATCH (settings.md 4).
TEST_F(SettingsTest, APeerThatWatchesTheDocumentLosesToOurWrite) {
    start();
    redis::DirectRedis peer(redis);
    peer.run({"WATCH", kKey});
    crash();
    more_config.pools_document = R"({"topics": {"job.default": "default", "job.more": "default"}})";
    start();
    peer.run({"MULTI"});
    peer.run({"SET", kKey, "theirs"});
    EXPECT_EQ(peer.run({"EXEC"}).array(), nullptr);
    EXPECT_EQ(document()["revision"], 2);
}

TEST_F(SettingsTest, AWriteWhoseAnswerIsLostIsLookedUp) {
    bool first = true;
    on_script(scripts.replace_document,
              [&] { return std::exchange(first, false) ? CallFault::unknown : CallFault::none; });
    start();
    EXPECT_EQ(document()["revision"], 1) << "it had been applied";
}

TEST_F(SettingsTest, AStoreThatTakesNoWritesDoesNotKeepTheSchedulerFromStarting) {
    on_script(scripts.replace_document, [] { return CallFault::not_applied; });
    start();
    EXPECT_TRUE(routes());
}

// FAIL-04, FAIL-03
TEST_F(SettingsTest, TheInputFailModeIsSwitchedWhileItRuns) {
    tunables.safety_unavailable_delay = 5s;
    tunables.circuit_fail_budget = 1000;
    start();
    kernel_is_away();
    EXPECT_FALSE(routes()) << "closed by default";
    set_input_fail_mode("open");
    EXPECT_TRUE(routes()) << "open";
    set_input_fail_mode("closed");
    EXPECT_FALSE(routes()) << "closed";
    set_input_fail_mode("open");
    EXPECT_TRUE(routes()) << "open again";
    for (const json& word : {json("OPEN"), json(""), json("invalid"), json(7), json::object()}) {
        set_input_fail_mode(word);
        EXPECT_FALSE(routes()) << word.dump();
        set_input_fail_mode("open");
        EXPECT_TRUE(routes()) << word.dump();
    }
    set_input_fail_mode(nullptr);
    EXPECT_FALSE(routes()) << "taken away again: the default";
}

// D-27
TEST_F(SettingsTest, ALimitThatWasGivenAtStartStaysOverReloadsAndIsNotWrittenToTheService) {
    tunables.running_timeout = 2h;
    more_config.pinned.running_timeout = true;
    more_config.timeouts = *engine::parse_timeouts(R"({"reconciler": {"running_timeout_seconds": 60}})");
    start();
    EXPECT_EQ(data()["timeouts"]["reconciler"]["running_timeout_seconds"], 60);
    write_and_announce(
        {{"timeouts", {{"reconciler", {{"running_timeout_seconds", 30}, {"dispatch_timeout_seconds", 20}}}}}});
    submit("j");
    ASSERT_EQ(state("j"), "RUNNING");
    loop.run_for(20min);
    EXPECT_EQ(state("j"), "RUNNING") << "the service's limit of 30 s is not in force";
    EXPECT_EQ(data()["timeouts"]["reconciler"]["running_timeout_seconds"], 30) << "its own are left to it";
    // What is said of a topic stays in force.
    write_and_announce({{"timeouts", {{"topics", {{"job.default", {{"timeout_seconds", 60}}}}}}}});
    loop.run_for(5min);
    EXPECT_EQ(state("j"), "TIMEOUT");
}

// O13
TEST_F(SettingsTest, AMetricSaysThatSettingsAreRefusedUntilTheyAreNot) {
    start();
    EXPECT_EQ(metrics.value(Metric::settings_refused, {"service"}), 0);
    set_input_fail_mode("never");
    write_and_announce({{"pools", 7}});
    EXPECT_EQ(metrics.value(Metric::settings_refused, {"service"}), 1);
    write_and_announce(pools(kPools));
    set_input_fail_mode(nullptr);
    EXPECT_EQ(metrics.value(Metric::settings_refused, {"service"}), 0);
}

// C-19
TEST_F(SettingsTest, AFailModeThatWasGivenAtStartStays) {
    tunables.policy_check_fail_mode = "closed";
    more_config.pinned.input_fail_mode = true;
    start();
    kernel_is_away();
    set_input_fail_mode("open");
    EXPECT_FALSE(routes());
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
