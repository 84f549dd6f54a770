// Settings changed under a running deployment, on real servers: written as an operator would, followed without a restart.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "prod/integration/deployment_fixture.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr const char* kKey = "cfg:system:default";

class HotReloadTest : public DeploymentFixture {
protected:
    json settings() { return json::parse(world->redis_get(kKey), nullptr, false); }
    void write(const json& change) {
        json document = settings();
        document["data"].merge_patch(change);
        document["revision"] = document["revision"].get<int>() + 1;
        world->redis_set(kKey, document.dump());
    }
    void announce() { world->publish_raw("sys.config.changed", "anything"); }
    Deployment::Told submit(const std::string& job, std::vector<std::string> more = {}) {
        more.insert(more.begin(), {"submit", "--id", job, "--wait", "--wait-for", "20s"});
        return world->ctl(std::move(more));
    }
};

// CONF-01, CONF-02
TEST_F(HotReloadTest, TheStoreIsToldOfTheFilesOnce) {
    world->add_scheduler();
    EXPECT_TRUE(settings()["data"]["pools"]["topics"].contains("job.default"));
    EXPECT_EQ(settings()["data"]["_poolsFileHash"].get<std::string>().size(), 64U);
    EXPECT_EQ(settings()["data"]["timeouts"]["reconciler"]["dispatch_timeout_seconds"], 6);
    EXPECT_EQ(settings()["revision"], 1);
    world->add_scheduler();
    EXPECT_EQ(settings()["revision"], 1);
}

// CONF-05: the interval is far away, so only the announcement can have done it
TEST_F(HotReloadTest, RoutingFollowsAnAnnouncedChange) {
    auto& scheduler = world->add_scheduler({{"SCHEDULER_CONFIG_RELOAD_INTERVAL", "1h"}});
    world->add_worker("old", {"--service-time", "5ms"});
    world->add_worker("new", {"--pool", "blue", "--service-time", "5ms"});
    ASSERT_EQ(submit("before").exit_code, 0);
    EXPECT_NE(world->ctl({"status", "before"}).text.find("old"), std::string::npos);
    write({{"pools", {{"topics", {{"job.default", {"blue"}}}}}}});
    announce();
    ASSERT_TRUE(scheduler.says("settings applied revision=2", 20s)) << scheduler.output();
    ASSERT_EQ(submit("after").exit_code, 0);
    EXPECT_NE(world->ctl({"status", "after"}).text.find("new"), std::string::npos);
}

TEST_F(HotReloadTest, AnUnannouncedChangeIsFoundAndABadOneRefused) {
    auto& scheduler = world->add_scheduler({{"SCHEDULER_CONFIG_RELOAD_INTERVAL", "200ms"}});
    world->add_worker("w1");
    const std::string good = world->redis_get(kKey);
    world->redis_set(kKey, std::string(100'000, '['));
    ASSERT_TRUE(scheduler.says("settings refused", 20s));
    EXPECT_EQ(submit("still-routed").exit_code, 0);
    world->redis_set(kKey, good);
    write({{"timeouts", {{"topics", {{"job.default", {{"timeout_seconds", 2}}}}}}}});
    ASSERT_TRUE(scheduler.says("settings applied revision=2", 20s)) << scheduler.output();
}

class FilesAgainTest : public HotReloadTest {
protected:
    void SetUp() override {
        HotReloadTest::SetUp();
        if (IsSkipped()) return;
        write_pools("topics:\n  job.default: [default]\n");
        world->environment["POOL_CONFIG_PATH"] = pools_file();
    }
    std::string pools_file() const { return world->folder() / "pools.yaml"; }
    void write_pools(const char* text) const { std::ofstream(pools_file()) << text; }
};

// A pipe in the file's place holds up the thread that reads it, which is the loop's.
TEST_F(FilesAgainTest, LifeEndsWhileTheLoopStandsStillAndNotBefore) {
    auto& scheduler = world->add_scheduler({{"LOCKSTEP_LOOP_STALL_LIMIT", "1s"}});
    world->add_worker("w1");
    const std::string words = "admin listener port=";
    ASSERT_TRUE(scheduler.says(words));
    const std::string output = scheduler.output();
    const int port = std::stoi(output.substr(output.find(words) + words.size()));
    const auto life = [&] { return Deployment::http_get(port, "/livez?verbose"); };
    EXPECT_NE(life().find("[+]loop ok"), std::string::npos) << life();
    ASSERT_EQ(::unlink(pools_file().c_str()), 0);
    ASSERT_EQ(::mkfifo(pools_file().c_str(), 0600), 0);
    scheduler.signal(SIGHUP);
    EXPECT_TRUE(Deployment::until(
        [&] { return life().find("[-]loop failed: the event loop has stood still for ") != std::string::npos; }, 20s))
        << life();
    EXPECT_NE(life().find("HTTP/1.1 503"), std::string::npos);
    write_pools("topics:\n  job.default: [default]\n");  // it goes on
    ASSERT_TRUE(scheduler.says("SIGHUP: files read again", 20s)) << scheduler.output();
    EXPECT_NE(life().find("HTTP/1.1 200"), std::string::npos) << life();
    EXPECT_EQ(submit("after-the-stall").exit_code, 0);
}

TEST_F(FilesAgainTest, AHangUpSignalReadsThemAndTheNewTopicIsRouted) {
    auto& scheduler = world->add_scheduler({{"SCHEDULER_CONFIG_RELOAD_INTERVAL", "1h"}});
    world->add_worker("w1");
    write_pools("topics:\n  job.default: [default]\n  job.etl.new: [default]\n");
    std::ofstream(world->folder() / "timeouts.yaml") << "reconciler: {dispatch_timeout_seconds: 7}\n";
    scheduler.signal(SIGHUP);
    ASSERT_TRUE(scheduler.says("SIGHUP: files read again", 20s)) << scheduler.output();
    EXPECT_EQ(submit("on-the-new-topic", {"--topic", "job.etl.new"}).exit_code, 0);
    EXPECT_EQ(settings()["data"]["timeouts"]["reconciler"]["dispatch_timeout_seconds"], 7);
}

TEST_F(FilesAgainTest, ABrokenOneIsRefusedWithItsPlaceAndTheOldOnesStay) {
    auto& scheduler = world->add_scheduler();
    world->add_worker("w1");
    write_pools("topics:\n  job.default: [default]\npools:\n  default: {require: [x]}\n");
    scheduler.signal(SIGHUP);
    ASSERT_TRUE(scheduler.says("SIGHUP: files refused, those read before stay in force", 20s)) << scheduler.output();
    EXPECT_NE(scheduler.output().find("pools.yaml:4: "), std::string::npos) << scheduler.output();
    EXPECT_NE(scheduler.output().find("lockstepd --check"), std::string::npos);
    const std::string words = "admin listener port=";
    const int port = std::stoi(scheduler.output().substr(scheduler.output().find(words) + words.size()));
    const auto refused = [&](const char* value) {
        return Deployment::http_get(port, "/metrics").find(std::string("source=\"files\"} ") + value) !=
               std::string::npos;
    };
    EXPECT_TRUE(refused("1"));
    EXPECT_EQ(submit("still-routed").exit_code, 0);
    write_pools("topics:\n  job.default: [default]\n  job.mended: [default]\n");
    scheduler.signal(SIGHUP);
    ASSERT_TRUE(scheduler.says("SIGHUP: files read again", 20s)) << scheduler.output();
    EXPECT_TRUE(refused("0"));
}

// C-24: the timeouts of the file are a minute for RUNNING jobs
TEST_F(HotReloadTest, ATopicsTimeoutEndsAJobThatHangs) {
    std::ofstream(world->folder() / "timeouts.yaml", std::ios::app)
        << "topics: {job.default: {execution_timeout: 1500ms}}\n";
    world->add_scheduler();
    world->add_worker("w1", {"--exec", "sleep 60"});
    world->ctl({"submit", "--id", "hung"});
    EXPECT_TRUE(Deployment::until([&] { return world->states()["TIMEOUT"] == 1; }, 30s))
        << json(world->states()).dump();
}

}  // namespace
}  // namespace lockstep::prod::testing
