// With the fallback on, a job that finds no worker goes out on its own topic (C-05; off by default).
#include "engine/wire/packet.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

class TopicFallback : public SchedulerTest {
protected:
    void SetUp() override { tunables.topic_fallback = true; }
    [[nodiscard]] std::vector<ScriptedBus::Published> on_topic() const { return bus.published_on("job.default"); }
};

// C-05
TEST_F(TopicFallback, AJobWithoutWorkersGoesToWhoeverListensOnItsTopic) {
    boot();
    EXPECT_TRUE(submit("j1")->acked());
    ASSERT_EQ(on_topic().size(), 1u);
    EXPECT_EQ(on_topic()[0].message_id, "jobreq:j1:1");
    EXPECT_TRUE(dispatches().empty());
    EXPECT_EQ(history("j1"), (Texts{"PENDING", "SCHEDULED", "DISPATCHED", "RUNNING"}));
    EXPECT_TRUE(submit("j1")->acked()) << "STATE-07";
    EXPECT_EQ(on_topic().size(), 1u);
    EXPECT_TRUE(result("j1", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
}

TEST_F(TopicFallback, AWorkerThatIsThereIsPreferred) {
    start();
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_TRUE(on_topic().empty());
}

// Full is not absent: the workers that are there will have room again.
TEST_F(TopicFallback, AFullPoolIsWaitedFor) {
    boot();
    cap::Heartbeat full;
    full.set_worker_id("w1");
    full.set_pool("default");
    full.set_max_parallel_jobs(1);
    full.set_active_jobs(1);
    bus.tell("sys.heartbeat", engine::wire::make_packet(std::move(full), "", "w1", clock.now()));
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "PENDING");
    EXPECT_TRUE(on_topic().empty());
}

TEST_F(TopicFallback, ItIsOffUnlessAskedFor) {
    tunables = {};
    boot();
    EXPECT_EQ(submit("j1")->answer, DeliveryFate::Answer::nak);
    EXPECT_TRUE(on_topic().empty());
}

// DISP-03: what certainly never left is tried again, as with any worker.
TEST_F(TopicFallback, AMessageThatNeverLeftIsTakenBack) {
    boot();
    bus.on_publish = [](const auto&) -> Outcome<PublishAck> { return not_connected(); };
    EXPECT_EQ(submit("j1")->answer, DeliveryFate::Answer::nak);
    EXPECT_EQ(state("j1"), "SCHEDULED");
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
