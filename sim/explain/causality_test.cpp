#include "sim/explain/causality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/explain/test_history.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

class Causes : public ::testing::Test {
protected:
    [[nodiscard]] std::vector<EventIndex> led_to(EventIndex event) const {
        const std::vector<EventIndex> roots{event};
        return Causality(past.history).ancestors(roots);
    }
    TestHistory past;
};

TEST_F(Causes, ACallComesToItsEffectThenToItsAnswer) {
    const auto before = past.script("commit", When::before, "a");
    const auto state = past.add({.kind = EventKind::state, .job = "a", .to = "SCHEDULED"});
    const auto applied = past.script("commit", When::applied, "a", TestHistory::kFirst, true);
    const auto answered = past.script("commit", When::answered, "a");
    const Causality causality(past.history);
    EXPECT_EQ(causality.parent(state, Cause::message), before);
    EXPECT_EQ(causality.parent(applied, Cause::message), before);
    EXPECT_EQ(causality.parent(applied, Cause::trigger), state);
    EXPECT_EQ(causality.parent(answered, Cause::message), applied);
    EXPECT_EQ(causality.call(before).applied, applied);
    EXPECT_EQ(causality.call(before).answered, answered);
}

TEST_F(Causes, WhatAReplicaDoesForOneJobIsNoCauseOfWhatItDoesForAnother) {
    const auto other = past.script("take_up", When::before, "b");
    const auto mine = past.script("take_up", When::before, "a");
    const auto next = past.script("commit", When::before, "a");
    EXPECT_THAT(led_to(next), ElementsAre(mine, next));
    EXPECT_THAT(led_to(next), Not(Contains(other)));
}

TEST_F(Causes, AReplicaLearnsOfAnotherThroughTheStateOfTheJob) {
    const auto first = past.script("commit", When::before, "a");
    const auto committed = past.script("commit", When::applied, "a");
    const auto second = past.script("take_up", When::before, "a", TestHistory::kSecond);
    const auto seen = past.script("take_up", When::applied, "a", TestHistory::kSecond);
    EXPECT_THAT(led_to(seen), ElementsAre(first, committed, second, seen));
}

TEST_F(Causes, AMessageIsSentStoredDeliveredAndSetsOffAStep) {
    const auto sent = past.add({.kind = EventKind::publish,
                                .when = When::before,
                                .node = TestHistory::kGateway,
                                .peer = TestHistory::kNats,
                                .job = "a",
                                .subject = "sys.job.submit",
                                .message_id = "jobreq:a"});
    const auto stored = past.add({.kind = EventKind::stored,
                                  .node = TestHistory::kGateway,
                                  .peer = TestHistory::kNats,
                                  .job = "a",
                                  .subject = "sys.job.submit",
                                  .message_id = "jobreq:a",
                                  .sequence = 9});
    past.add({.kind = EventKind::publish,
              .node = TestHistory::kGateway,
              .peer = TestHistory::kNats,
              .job = "a",
              .subject = "sys.job.submit",
              .message_id = "jobreq:a",
              .sequence = 9,
              .same_instant = true});
    const auto delivered = past.add({.kind = EventKind::deliver,
                                     .peer = TestHistory::kNats,
                                     .job = "a",
                                     .subject = "sys.job.submit",
                                     .sequence = 9,
                                     .number = 1});
    const auto step = past.script("bus_guard_enter", When::before, "", TestHistory::kFirst, true);
    const auto again = past.add({.kind = EventKind::deliver,
                                 .node = TestHistory::kSecond,
                                 .peer = TestHistory::kNats,
                                 .job = "a",
                                 .subject = "sys.job.submit",
                                 .sequence = 9,
                                 .number = 2});
    const Causality causality(past.history);
    EXPECT_EQ(causality.parent(stored, Cause::message), sent);
    EXPECT_EQ(causality.parent(delivered, Cause::message), stored);
    EXPECT_EQ(causality.parent(step, Cause::trigger), delivered) << "the same instant, though it names no job";
    EXPECT_EQ(causality.parent(again, Cause::trigger), delivered)
        << "delivered again because the first came to nothing";
}

// H-10: the delivery to another consumer is no try that came to nothing.
TEST_F(Causes, ADeliveryFollowsOnOneToTheSameConsumerOnly) {
    const auto deliver = [this](std::int16_t node, std::string_view durable, std::int64_t number) {
        return past.add({.kind = EventKind::deliver,
                         .node = node,
                         .peer = TestHistory::kNats,
                         .job = "a",
                         .subject = "sys.job.result",
                         .name = durable,
                         .sequence = 9,
                         .number = number});
    };
    const auto first = deliver(TestHistory::kFirst, "schedulers", 1);
    const auto theirs = deliver(TestHistory::kWorker, "others", 1);
    const auto again = deliver(TestHistory::kSecond, "schedulers", 2);
    const Causality causality(past.history);
    EXPECT_NE(causality.parent(theirs, Cause::trigger), first);
    EXPECT_EQ(causality.parent(again, Cause::trigger), first);
}

TEST_F(Causes, ACallThatWasLostWithItsConnectionIsNotTheOneThatTakesEffectLater) {
    const auto lost = past.script("commit", When::before, "a");
    past.add({.kind = EventKind::connection_broken, .peer = TestHistory::kRedis});
    const auto retried = past.script("commit", When::before, "a");
    const auto applied = past.script("commit", When::applied, "a");
    const Causality causality(past.history);
    EXPECT_EQ(causality.call(lost).applied, kNoEvent);
    EXPECT_EQ(causality.call(retried).applied, applied);
    EXPECT_EQ(causality.parent(applied, Cause::message), retried);
}

TEST_F(Causes, ACrashComesOfTheEventOnWhichItWasPlacedAndConcernsAllThatFollowsOnItsNode) {
    const auto call = past.script("commit", When::before, "a");
    const auto fault = past.add({.kind = EventKind::fault, .name = "crash", .from = "begin", .same_instant = true});
    const auto down = past.add({.kind = EventKind::node_down, .same_instant = true});
    const auto up = past.add({.kind = EventKind::node_up});
    const auto later = past.script("take_up", When::before, "b");
    const Causality causality(past.history);
    EXPECT_EQ(causality.parent(fault, Cause::trigger), call);
    EXPECT_EQ(causality.parent(down, Cause::trigger), fault);
    EXPECT_EQ(causality.parent(later, Cause::life), up);
    EXPECT_THAT(led_to(later), Contains(fault));
}

TEST_F(Causes, NothingIsItsOwnAncestorAndCausesComeFirst) {
    for (int i = 0; i < 50; ++i) {
        past.script("take_up", When::before, "a");
        past.script("take_up", When::applied, "a");
        past.script("take_up", When::answered, "a");
    }
    const Causality causality(past.history);
    for (EventIndex i = 0; i < causality.size(); ++i) {
        for (const EventIndex parent : causality.parents(i)) EXPECT_TRUE(parent == kNoEvent || parent < i) << i;
    }
}

}  // namespace
}  // namespace lockstep::sim
