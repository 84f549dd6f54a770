#include "sim/faults/trigger_matcher.h"

#include <gtest/gtest.h>

#include "engine/wire/messages.h"

namespace lockstep::sim {
namespace {

using fakes::Event;
using fakes::EventKind;
using fakes::When;

class TriggerTest : public ::testing::Test {
protected:
    TriggerTest() : topology(cluster()) {}
    static Cluster cluster() {
        Cluster made;
        made.schedulers = 2;
        return made;
    }
    [[nodiscard]] Event publish(std::string_view node = "scheduler-0", std::string_view job = "j") const {
        Event event;
        event.kind = EventKind::publish;
        event.node = topology.find(node);
        event.subject = "worker.w-1.jobs";
        event.job = job;
        return event;
    }
    static Trigger on_publish() {
        Trigger trigger;
        trigger.event = EventKind::publish;
        return trigger;
    }
    [[nodiscard]] bool matches(const Trigger& trigger, const Event& event, Time now = {}) const {
        return TriggerMatcher(trigger, topology).matches(event, now);
    }

    Topology topology;
};

TEST_F(TriggerTest, WantsTheKindAndTheMoment) {
    Event event = publish();
    EXPECT_TRUE(matches(on_publish(), event));
    event.when = When::before;
    EXPECT_FALSE(matches(on_publish(), event));
    event.when = When::applied;
    event.kind = EventKind::core_publish;
    EXPECT_FALSE(matches(on_publish(), event));
}

TEST_F(TriggerTest, FiltersByEveryField) {
    Event event = publish();
    event.command = "EVALSHA";
    event.script = "commit";
    event.key = "job:meta:j";
    event.name = "n";
    event.to = "RUNNING";
    const std::vector<std::pair<std::string Trigger::*, std::string>> filters{
        {&Trigger::node, "scheduler-*"}, {&Trigger::job, "j"},       {&Trigger::subject, "worker.*.jobs"},
        {&Trigger::command, "EVALSHA"},  {&Trigger::script, "com*"}, {&Trigger::key, "job:*"},
        {&Trigger::name, "n"},           {&Trigger::to, "RUNNING"},
    };
    for (const auto& [field, pattern] : filters) {
        Trigger trigger = on_publish();
        trigger.*field = pattern;
        EXPECT_TRUE(matches(trigger, event)) << pattern;
        trigger.*field = "something else";
        EXPECT_FALSE(matches(trigger, event)) << pattern;
    }
}

TEST_F(TriggerTest, TakesAGroupAsNodeFilter) {
    Trigger trigger = on_publish();
    trigger.node = "schedulers";
    EXPECT_TRUE(matches(trigger, publish("scheduler-1")));
    EXPECT_FALSE(matches(trigger, publish("gateway")));
}

TEST_F(TriggerTest, FindsTheJobInThePacket) {
    cordum::agent::v1::BusPacket packet;
    packet.mutable_job_result()->set_job_id("from packet");
    Event event = publish("scheduler-0", "");
    event.packet = &packet;
    Trigger trigger = on_publish();
    trigger.job = "from*";
    EXPECT_TRUE(matches(trigger, event));
}

TEST_F(TriggerTest, CountsWithinTheRun) {
    Trigger trigger = on_publish();
    trigger.nth = 2;
    TriggerMatcher matcher(trigger, topology);
    EXPECT_FALSE(matcher.hit(publish("scheduler-0"), {}));
    EXPECT_TRUE(matcher.hit(publish("scheduler-1"), {}));
    EXPECT_FALSE(matcher.hit(publish("scheduler-1"), {}));
}

TEST_F(TriggerTest, CountsWithinItsTimes) {
    Trigger trigger = on_publish();
    trigger.nth = 2;
    trigger.after = std::chrono::seconds{2};
    trigger.until = std::chrono::seconds{4};
    TriggerMatcher matcher(trigger, topology);
    const auto hit_at = [&](int seconds) {
        return matcher.hit(publish("scheduler-0"), Time{std::chrono::seconds{seconds}});
    };
    EXPECT_FALSE(hit_at(1));
    EXPECT_FALSE(hit_at(2));
    EXPECT_FALSE(hit_at(5));
    EXPECT_TRUE(hit_at(4));
}

TEST_F(TriggerTest, CountsPerNode) {
    Trigger trigger = on_publish();
    trigger.nth = 2;
    trigger.per = Trigger::Per::node;
    TriggerMatcher matcher(trigger, topology);
    EXPECT_FALSE(matcher.hit(publish("scheduler-0"), {}));
    EXPECT_FALSE(matcher.hit(publish("scheduler-1"), {}));
    EXPECT_TRUE(matcher.hit(publish("scheduler-1"), {}));
    EXPECT_TRUE(matcher.hit(publish("scheduler-0"), {}));
}

TEST_F(TriggerTest, CountsPerJobAndIgnoresEventsWithoutOne) {
    Trigger trigger = on_publish();
    trigger.nth = 2;
    trigger.per = Trigger::Per::job;
    TriggerMatcher matcher(trigger, topology);
    EXPECT_FALSE(matcher.hit(publish("scheduler-0", ""), {}));
    EXPECT_FALSE(matcher.hit(publish("scheduler-0", ""), {}));
    EXPECT_FALSE(matcher.hit(publish("scheduler-0", "a"), {}));
    EXPECT_FALSE(matcher.hit(publish("scheduler-0", "b"), {}));
    EXPECT_TRUE(matcher.hit(publish("scheduler-0", "a"), {}));
}

}  // namespace
}  // namespace lockstep::sim
