// From a delivery to its verdict, with a handler that the test writes.
#include "engine/bus/message_pump.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/testing/recorders.h"
#include "engine/testing/scripted_bus.h"
#include "engine/testing/scripted_kernel.h"
#include "engine/testing/scripted_redis.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"

namespace lockstep::engine {
namespace {

using engine::testing::DeliveryFate;
using engine::testing::Fate;
using engine::testing::ScriptedRedis;

class MessagePumpTest : public ::testing::Test, public PacketHandler {
protected:
    explicit MessagePumpTest(Tunables tunables = {}) : context(ports(), std::move(tunables), {}) {
        redis.answer = [](const auto&) { return ScriptedRedis::reply(std::int64_t{1}); };
    }

    Task<Verdict> handle(cap::BusPacket packet, Origin) override {
        handled.push_back(packet.job_request().job_id());
        running += 1;
        running_max = std::max(running_max, running);
        if (work > Duration{0}) co_await clock.sleep(work);
        running -= 1;
        co_return verdict();
    }

    Fate deliver(std::string payload, std::uint64_t count) {
        auto fate = std::make_shared<DeliveryFate>();
        pump.on_delivery(engine::testing::make_delivery(
            {.subject = "sys.job.submit", .payload = std::move(payload), .count = count, .sequence = ++sequence},
            fate));
        loop.settle();
        return fate;
    }
    Fate deliver_sound(std::uint64_t count = 1) {
        cap::JobRequest request;
        request.set_job_id("j" + std::to_string(sequence + 1));
        return deliver(wire::serialise(wire::make_packet(std::move(request), "", "test", clock.now())), count);
    }
    Fate deliver_garbage(std::uint64_t count) { return deliver("\xff\xff no packet", count); }

    [[nodiscard]] std::size_t letters_written() const {
        std::size_t letters = 0;
        for (const RedisCommand& call : redis.calls())
            letters += call.at(1) == context.scripts.put_dead_letter.sha1() ? 1 : 0;
        return letters;
    }
    Ports ports() { return {loop, clock, entropy, redis, bus, kernel, metrics, log}; }

    engine::testing::VirtualLoop loop;
    engine::testing::VirtualClock clock{loop};
    ScriptedRedis redis{clock};
    engine::testing::ScriptedBus bus{clock};
    engine::testing::ScriptedKernel kernel{clock};
    engine::testing::SeededEntropy entropy;
    engine::testing::MetricRecorder metrics;
    engine::testing::LogRecorder log;
    Context context;
    DeadLetters dead_letters{context};

    std::function<Verdict()> verdict = [] { return Verdict::done(); };
    Duration work{};
    std::vector<std::string> handled;
    int running = 0;
    int running_max = 0;
    std::uint64_t sequence = 0;
    MessagePump pump{context, dead_letters, *this};
};

// BUS-02
TEST_F(MessagePumpTest, AVerdictBecomesAnAcknowledgementOrARedelivery) {
    EXPECT_TRUE(deliver_sound()->acked());
    verdict = [] { return Verdict::hand_back(2s); };
    EXPECT_TRUE(deliver_sound()->handed_back(2s));
    verdict = [] { return Verdict::hand_back(Duration{0}); };
    EXPECT_TRUE(deliver_sound()->handed_back(Duration{0}));
    EXPECT_EQ(handled, (std::vector<std::string>{"j1", "j2", "j3"}));
    EXPECT_EQ(pump.in_flight(), 0u);
}

// BACK-07: what kind of answer it is, is its cause; the delay is what was asked for, and never negative.
TEST_F(MessagePumpTest, TheDelayOfATryAgainIsKeptExactlyAndANegativeOneIsNone) {
    for (const Duration delay : {Duration{250ms}, Duration{1500ms}}) {
        for (const Verdict& answer : {Verdict::hand_back(delay), Verdict::postponed(delay)}) {
            EXPECT_EQ(answer.delay, delay);
            verdict = [answer] { return answer; };
            EXPECT_TRUE(deliver_sound()->handed_back(delay));
        }
    }
    EXPECT_EQ(Verdict::postponed(-1s).delay, Duration{0});
    EXPECT_EQ(Verdict::postponed(-1s).kind, Verdict::Kind::postponed);
    verdict = [] { return Verdict::hand_back(-1s); };
    EXPECT_TRUE(deliver_sound()->handed_back(Duration{0}));
    EXPECT_EQ(Verdict::done().delay, Duration{0});
}

// BUS-01
TEST_F(MessagePumpTest, APayloadThatCannotBeDecodedComesAgainAfterFiveSecondsThreeTimes) {
    for (const std::uint64_t count : {1, 2, 3}) EXPECT_TRUE(deliver_garbage(count)->handed_back(5s)) << count;
    EXPECT_TRUE(handled.empty());
    EXPECT_EQ(letters_written(), 0u);
}

TEST_F(MessagePumpTest, AtTheFourthItIsBuriedWithTheLetterWrittenFirst) {
    Fate fate;
    redis.answer = [&](const std::vector<RedisCommand>& commands) {
        if (commands.front().at(1) == context.scripts.put_dead_letter.sha1()) {
            EXPECT_EQ(fate->verdict, DeliveryFate::Verdict::none);
            EXPECT_EQ(commands.front().at(3), "poison:CORDUM_SYS:1");
        }
        return ScriptedRedis::reply(std::int64_t{1});
    };
    redis.latency = 1ms;
    fate = deliver_garbage(4);
    loop.run_for(1s);
    EXPECT_EQ(fate->verdict, DeliveryFate::Verdict::term);
    EXPECT_EQ(letters_written(), 1u);
    ASSERT_EQ(bus.published_on("sys.job.dlq").size(), 1u);
    const auto packet = wire::decode(bus.published_on("sys.job.dlq").front().payload);
    EXPECT_EQ(packet->job_result().job_id(), "poison:CORDUM_SYS:1");
    EXPECT_EQ(packet->job_result().error_code(), "poison_message");
}

TEST_F(MessagePumpTest, ABurialThatCannotBeRecordedIsPostponed) {
    redis.answer = [](const auto&) { return ScriptedRedis::unknown(); };
    EXPECT_TRUE(deliver_garbage(4)->handed_back(5s));
    EXPECT_TRUE(bus.published.empty());
    EXPECT_EQ(log.times_reached("burial_postponed"), 1);
}

TEST_F(MessagePumpTest, AMessageAtItsLastDeliveryIsBuriedUnhandled) {
    const Fate fate = deliver_sound(100);
    EXPECT_EQ(fate->verdict, DeliveryFate::Verdict::term);
    EXPECT_TRUE(handled.empty());
    EXPECT_EQ(letters_written(), 1u);
}

// The server delivers no more often than that: handed back, the message would be gone without a trace.
TEST_F(MessagePumpTest, AtItsLastDeliveryTheBurialWaitsForTheStore) {
    redis.answer = [](const auto&) { return ScriptedRedis::not_applied(); };
    const Fate fate = deliver_sound(100);
    loop.run_for(1min);
    EXPECT_EQ(fate->verdict, DeliveryFate::Verdict::none);
    EXPECT_FALSE(fate->dropped);
    redis.answer = [](const auto&) { return ScriptedRedis::reply(std::int64_t{1}); };
    loop.run_for(5s);
    EXPECT_EQ(fate->verdict, DeliveryFate::Verdict::term);
}

// C-57: a store that is away for long must not use up a message's deliveries.
TEST_F(MessagePumpTest, NearTheLimitAMessageIsTriedAgainInPlace) {
    verdict = [this] { return handled.size() < 4 ? Verdict::hand_back(3s) : Verdict::done(); };
    const Fate fate = deliver_sound(90);
    EXPECT_EQ(handled.size(), 1u);
    EXPECT_EQ(fate->verdict, DeliveryFate::Verdict::none);
    loop.run_for(3s);
    EXPECT_EQ(handled.size(), 2u);
    loop.run_for(6s);
    EXPECT_EQ(handled.size(), 4u);
    EXPECT_TRUE(fate->acked());
    verdict = [] { return Verdict::hand_back(3s); };
    EXPECT_TRUE(deliver_sound(89)->handed_back(3s));
}

TEST_F(MessagePumpTest, WhatIsInHandIsKeptAliveWithinTheAckWait) {
    work = 25min;
    Scope background(loop);
    background.spawn(pump.keep_alive());
    const Fate fate = deliver_sound();
    loop.run_for(24min);
    EXPECT_EQ(fate->in_progress, 7);  // every third of ten minutes
    loop.run_for(2min);
    EXPECT_TRUE(fate->acked());
}

// STATE-16
TEST_F(MessagePumpTest, AStoppingPumpTakesNothing) {
    context.stopping = true;
    EXPECT_TRUE(deliver_sound()->handed_back(Duration{0}));
    EXPECT_TRUE(handled.empty());
}

TEST_F(MessagePumpTest, ADrainWaitsForWhatIsAtWork) {
    work = 3s;
    const Fate fate = deliver_sound();
    context.stopping = true;
    const MonoTime began = loop.monotonic();
    loop.wait(pump.drain(clock.in(10s)));
    EXPECT_EQ(loop.monotonic() - began, 3s);
    EXPECT_TRUE(fate->acked());
}

TEST_F(MessagePumpTest, ADrainHandsBackWhatDoesNotFinishInTime) {
    work = 1h;
    const Fate fate = deliver_sound();
    context.stopping = true;
    loop.wait(pump.drain(clock.in(10s)));
    EXPECT_TRUE(fate->handed_back(Duration{0}));
    EXPECT_TRUE(fate->dropped);
    EXPECT_EQ(pump.in_flight(), 0u);
    EXPECT_TRUE(loop.idle());
}

// A crash: whatever goes on stops where it stands, and says nothing to anybody.
TEST_F(MessagePumpTest, DestroyedWithWorkInHandItAnswersNothing) {
    work = 1h;
    Fate fate;
    {
        MessagePump doomed(context, dead_letters, *this);
        fate = std::make_shared<DeliveryFate>();
        doomed.on_delivery(engine::testing::make_delivery({.subject = "s", .payload = {}}, fate));
        loop.settle();
        EXPECT_EQ(doomed.in_flight(), 1u);
    }
    EXPECT_EQ(fate->verdict, DeliveryFate::Verdict::none);
    EXPECT_TRUE(fate->dropped);
    EXPECT_TRUE(loop.idle());
}

class BoundedPumpTest : public MessagePumpTest {
protected:
    BoundedPumpTest()
        : MessagePumpTest([] {
              Tunables tunables;
              tunables.max_in_flight = 2;
              return tunables;
          }()) {}
};

TEST_F(BoundedPumpTest, NoMoreThanItsSlotsAreHandledAtOnceAndAllAreHandled) {
    work = 1s;
    std::vector<Fate> fates;
    for (int i = 0; i < 5; ++i) fates.push_back(deliver_sound());
    EXPECT_EQ(handled.size(), 2u);
    EXPECT_EQ(pump.in_flight(), 5u);
    loop.run_for(10s);
    EXPECT_EQ(running_max, 2);
    for (const Fate& fate : fates) EXPECT_TRUE(fate->acked());
    EXPECT_EQ(handled, (std::vector<std::string>{"j1", "j2", "j3", "j4", "j5"}));
}

TEST_F(BoundedPumpTest, AHeldMessageKeepsNoSlotWhileItWaits) {
    verdict = [] { return Verdict::hand_back(1h); };
    for (int i = 0; i < 2; ++i) deliver_sound(95);
    verdict = [] { return Verdict::done(); };
    EXPECT_TRUE(deliver_sound()->acked());
}

TEST_F(BoundedPumpTest, ADrainHandsBackWhatNeverGotASlot) {
    work = 2s;
    std::vector<Fate> fates;
    for (int i = 0; i < 4; ++i) fates.push_back(deliver_sound());
    context.stopping = true;
    loop.wait(pump.drain(clock.in(10s)));
    EXPECT_EQ(handled.size(), 2u);
    EXPECT_TRUE(fates[0]->acked());
    EXPECT_TRUE(fates[1]->acked());
    EXPECT_TRUE(fates[2]->handed_back(Duration{0}));
    EXPECT_TRUE(fates[3]->handed_back(Duration{0}));
}

}  // namespace
}  // namespace lockstep::engine
