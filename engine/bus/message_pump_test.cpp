// From a delivery to its answer, with a handler that the test writes.
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

constexpr std::string_view kGarbage = "\xff\xff no packet";
using Found = Outcome<std::optional<StoredMessage>>;

class MessagePumpTest : public ::testing::Test, public PacketHandler {
protected:
    explicit MessagePumpTest(Tunables tunables = {}) : context(ports(), std::move(tunables)) {
        redis.answer = [](const auto&) { return ScriptedRedis::reply(std::int64_t{1}); };
        bus.on_read_message = [this](StreamSequence number) {
            return Found(std::optional(
                StoredMessage{.sequence = number, .message_id = {}, .payload = stored, .subject = "sys.job.submit"}));
        };
    }

    Task<Disposition> handle(cap::BusPacket packet, Origin) override {
        handled.push_back(packet.job_request().job_id());
        running += 1;
        running_max = std::max(running_max, running);
        if (work > Duration{0}) co_await clock.sleep(work);
        running -= 1;
        co_return disposition();
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
        last_sound =
            wire::serialise(wire::make_packet(request_of("j" + std::to_string(sequence + 1)), "", "test", clock.now()));
        return deliver(last_sound, count);
    }
    [[nodiscard]] static cap::JobRequest request_of(const std::string& job) {
        cap::JobRequest request;
        request.set_job_id(job);
        return request;
    }
    Fate deliver_of(const std::string& job, std::uint64_t count = 1) {
        cap::JobRequest request;
        request.set_job_id(job);
        return deliver(wire::serialise(wire::make_packet(std::move(request), "", "test", clock.now())), count);
    }
    Fate deliver_garbage(std::uint64_t count) { return deliver(std::string(kGarbage), count); }

    /// A stop begins, and everything that can be done at once has been done.
    void stop() {
        context.stopping = true;
        pump.wake();
        loop.settle();
    }

    [[nodiscard]] std::size_t calls_of(const RedisScript& script) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            redis.calls(), [&](const RedisCommand& call) { return call.at(1) == script.sha1(); }));
    }
    [[nodiscard]] std::size_t letters_written() const { return calls_of(scripts.put_dead_letter); }
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
    StoreScripts scripts;
    DeadLetterStore letters{redis, clock, context.tunables, scripts};
    DeadLetters dead_letters{context, letters};

    std::function<Disposition()> disposition = [] { return Disposition::done(); };
    Duration work{};
    std::string last_sound;
    std::string stored{kGarbage};  // what the stream holds under any number
    std::vector<std::string> handled;
    int running = 0;
    int running_max = 0;
    std::uint64_t sequence = 0;
    MessagePump pump{context, scripts, letters, dead_letters, *this};
};

// BUS-02
TEST_F(MessagePumpTest, AVerdictBecomesAnAcknowledgementOrARedelivery) {
    EXPECT_TRUE(deliver_sound()->acked());
    disposition = [] { return Disposition::hand_back(2s); };
    EXPECT_TRUE(deliver_sound()->handed_back(2s));
    disposition = [] { return Disposition::hand_back(Duration{0}); };
    EXPECT_TRUE(deliver_sound()->handed_back(Duration{0}));
    EXPECT_EQ(handled, (std::vector<std::string>{"j1", "j2", "j3"}));
    EXPECT_EQ(pump.in_flight(), 0u);
}

// BACK-07: what kind of answer it is, is its cause; the delay is what was asked for, and never negative.
TEST_F(MessagePumpTest, TheDelayOfATryAgainIsKeptExactlyAndANegativeOneIsNone) {
    for (const Duration delay : {Duration{250ms}, Duration{1500ms}}) {
        for (const Disposition& answer : {Disposition::hand_back(delay), Disposition::postponed(delay)}) {
            EXPECT_EQ(answer.delay, delay);
            disposition = [answer] { return answer; };
            EXPECT_TRUE(deliver_sound()->handed_back(delay));
        }
    }
    EXPECT_EQ(Disposition::postponed(-1s).delay, Duration{0});
    EXPECT_EQ(Disposition::postponed(-1s).kind, Disposition::Kind::postponed);
    disposition = [] { return Disposition::hand_back(-1s); };
    EXPECT_TRUE(deliver_sound()->handed_back(Duration{0}));
    EXPECT_EQ(Disposition::done().delay, Duration{0});
}

// D-01: bytes do not change, so there is nothing to wait for once they are what the stream holds.
TEST_F(MessagePumpTest, BytesThatTheStreamHoldsTooAreBuriedAtOnceWithTheLetterWrittenFirst) {
    Fate fate = std::make_shared<DeliveryFate>();
    redis.answer = [&](const std::vector<RedisCommand>& commands) {
        if (commands.front().at(1) == scripts.bury_undecodable.sha1()) {
            EXPECT_EQ(fate->answer, DeliveryFate::Answer::none);
            EXPECT_EQ(commands.front().at(5), "poison:CORDUM_SYS:1");
        }
        return ScriptedRedis::reply(std::int64_t{1});
    };
    redis.latency = 1ms;
    fate = deliver_garbage(1);
    loop.run_for(1s);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::term);
    EXPECT_EQ(calls_of(scripts.bury_undecodable), 1u);
    EXPECT_EQ(letters_written(), 0u) << "such letters have an index of their own";
    EXPECT_TRUE(bus.published.empty()) << "they are told of together";
    EXPECT_EQ(metrics.value(Metric::undecodable_messages, {"sys.job.submit"}), 1);
}

TEST_F(MessagePumpTest, BytesThatTheStreamDoesNotHoldComeAgainAndAreNeverBuried) {
    stored = "something sound";
    EXPECT_TRUE(deliver_garbage(1)->handed_back(5s));
    EXPECT_TRUE(deliver_garbage(9)->handed_back(5s)) << "held, it would stay as it is";
    EXPECT_EQ(calls_of(scripts.bury_undecodable), 0u);
    EXPECT_EQ(metrics.value(Metric::garbled_deliveries, {"sys.job.submit"}), 2);
    EXPECT_EQ(log.times_reached("delivery_garbled"), 2);
}

// Copies of a stream that have come apart stay as they are.
TEST_F(MessagePumpTest, AtTheTenthDeliveryWhatTheStreamHoldsIsHandledInTheirPlace) {
    cap::JobRequest request;
    request.set_job_id("j1");
    stored = wire::serialise(wire::make_packet(std::move(request), "", "test", clock.now()));
    EXPECT_TRUE(deliver_garbage(10)->acked());
    EXPECT_EQ(handled.size(), 1U);
    EXPECT_EQ(log.times_reached("stored_message_taken_instead"), 1);
    EXPECT_EQ(letters_written(), 0u);
    disposition = [] { return Disposition::hand_back(2s); };
    EXPECT_TRUE(deliver_garbage(11)->handed_back(2s));
}

TEST_F(MessagePumpTest, WhatTheStreamHoldsIsBuriedWhereItIsNoPacketEither) {
    stored = "something sound";
    EXPECT_EQ(deliver_garbage(10)->answer, DeliveryFate::Answer::term);
    EXPECT_EQ(calls_of(scripts.bury_undecodable), 1u);
    EXPECT_TRUE(handled.empty());
}

TEST_F(MessagePumpTest, AndSoIsWhatHasComeWhereTheStreamHoldsAnotherDurablesMessage) {
    bus.on_read_message = [](StreamSequence sequence) {
        return Found(std::optional(StoredMessage{.sequence = sequence, .payload = "p", .subject = "sys.job.result"}));
    };
    EXPECT_TRUE(deliver_garbage(9)->handed_back(5s));
    EXPECT_EQ(deliver_garbage(10)->answer, DeliveryFate::Answer::term);
    EXPECT_EQ(calls_of(scripts.bury_undecodable), 1u);
    EXPECT_TRUE(handled.empty());
}

TEST_F(MessagePumpTest, WhatCannotBeReadBackComesAgain) {
    const auto nothing = [](StreamSequence) { return Found(std::optional<StoredMessage>()); };
    const auto unknown = [](StreamSequence) { return Found(Unknown{{FailureCause::timeout, "no answer"}, 1}); };
    const auto refused = [](StreamSequence) { return Found(NotApplied{{FailureCause::refused, "no"}}); };
    for (const std::function<Found(StreamSequence)>& answer :
         {std::function<Found(StreamSequence)>(nothing), std::function<Found(StreamSequence)>(unknown),
          std::function<Found(StreamSequence)>(refused)}) {
        bus.on_read_message = answer;
        EXPECT_TRUE(deliver_garbage(1)->handed_back(5s));
    }
    EXPECT_EQ(redis.calls().size(), 0u);
    EXPECT_EQ(log.times_reached("delivery_garbled"), 0) << "nobody can say whose error it is";
}

TEST_F(MessagePumpTest, ABurialThatCannotBeRecordedIsPostponed) {
    redis.answer = [](const auto&) { return ScriptedRedis::unknown(); };
    EXPECT_TRUE(deliver_garbage(1)->handed_back(5s));
    EXPECT_TRUE(bus.published.empty());
    EXPECT_EQ(log.times_reached("burial_postponed"), 1);
}

TEST_F(MessagePumpTest, AMessageNearItsLastDeliveryIsBuriedUnhandledAndToldOf) {
    const Fate fate = deliver_sound(95);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::term);
    EXPECT_TRUE(handled.empty());
    EXPECT_EQ(letters_written(), 1u);
    ASSERT_EQ(bus.published_on("sys.job.dlq").size(), 1u);
    const auto packet = wire::decode(bus.published_on("sys.job.dlq").front().payload);
    EXPECT_EQ(packet->job_result().job_id(), "poison:CORDUM_SYS:1");
    EXPECT_EQ(packet->job_result().error_code(), "poison_message");
}

TEST_F(MessagePumpTest, OneThatIsGarbledToTheLastIsBuriedAsAnyOther) {
    stored = "something sound";
    const Fate fate = deliver_garbage(95);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::term);
    EXPECT_EQ(letters_written(), 1u);
}

// The server delivers no more often than that: handed back, the message would be nearer to its end for nothing.
TEST_F(MessagePumpTest, TheBurialOfASpentMessageWaitsForTheStore) {
    redis.answer = [](const auto&) { return ScriptedRedis::not_applied(); };
    const Fate fate = deliver_sound(95);
    loop.run_for(1min);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::none);
    EXPECT_FALSE(fate->dropped);
    redis.answer = [](const auto&) { return ScriptedRedis::reply(std::int64_t{1}); };
    loop.run_for(5s);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::term);
}

// The answer to the letter is lost: written once more, which the store takes for the same one, and only then terminated.
TEST_F(MessagePumpTest, ALetterWhoseAnswerIsLostIsWrittenAgain) {
    redis.answer = [this](const auto&) {
        return letters_written() < 2 ? ScriptedRedis::unknown() : ScriptedRedis::reply(std::int64_t{1});
    };
    const Fate fate = deliver_sound(95);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::none);
    loop.run_for(5s);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::term);
    EXPECT_EQ(letters_written(), 2u);
    EXPECT_EQ(bus.published_on("sys.job.dlq").size(), 1u);
}

// D-16: somebody else has another try.
TEST_F(MessagePumpTest, StoppedWithTheStoreAwayItHandsASpentMessageBackAtOnce) {
    redis.answer = [](const auto&) { return ScriptedRedis::not_applied(); };
    const Fate fate = deliver_sound(99);
    stop();
    EXPECT_TRUE(fate->handed_back(Duration{0}));
    EXPECT_TRUE(bus.published.empty());
}

// Nobody has another try.
TEST_F(MessagePumpTest, StoppedAtTheLastDeliveryWithTheStoreAwayItTellsTheBusBeforeItTerminates) {
    redis.answer = [](const auto&) { return ScriptedRedis::not_applied(); };
    const Fate fate = deliver_sound(100);
    bus.on_publish = [&](const auto& message) {
        EXPECT_EQ(fate->answer, DeliveryFate::Answer::none);
        return bus.store(message);
    };
    stop();
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::term);
    EXPECT_EQ(bus.published_on("sys.job.dlq").size(), 1u);
    EXPECT_EQ(log.times_reached("buried_on_the_bus"), 1);
}

TEST_F(MessagePumpTest, ABusThatDoesNotAcknowledgeTheLetterKeepsTheMessageUntilTheEndOfTheGrace) {
    redis.answer = [](const auto&) { return ScriptedRedis::not_applied(); };
    bus.on_publish = [](const auto&) { return Unknown{{FailureCause::timeout, "no answer"}, 1}; };
    const Fate fate = deliver_sound(100);
    stop();
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::none);
    EXPECT_FALSE(fate->dropped);
    redis.answer = [](const auto&) { return ScriptedRedis::reply(std::int64_t{1}); };
    loop.run_for(2s);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::term) << "the store may come back in time";
}

// C-57: a store that is away for long must not use up a message's deliveries.
TEST_F(MessagePumpTest, NearTheLimitAMessageIsTriedAgainInPlace) {
    disposition = [this] { return handled.size() < 4 ? Disposition::hand_back(3s) : Disposition::done(); };
    const Fate fate = deliver_sound(85);
    EXPECT_EQ(handled.size(), 1u);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::none);
    loop.run_for(3s);
    EXPECT_EQ(handled.size(), 2u);
    loop.run_for(6s);
    EXPECT_EQ(handled.size(), 4u);
    EXPECT_TRUE(fate->acked());
    disposition = [] { return Disposition::hand_back(3s); };
    EXPECT_TRUE(deliver_sound(84)->handed_back(3s));
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

// D-16: the margin is less than half of the deliveries, so that a message is always tried before it is given up.
TEST(BurialMargin, IsSensibleAtSmallLimits) {
    struct Limit {
        std::int64_t deliveries;
        std::uint64_t tried, buried;  // the last delivery that is handled, the first that is not
    };
    for (const Limit& limit : {Limit{2, 1, 2}, Limit{3, 1, 2}, Limit{4, 2, 3}, Limit{10, 5, 6}, Limit{12, 6, 7},
                               Limit{20, 14, 15}, Limit{100, 94, 95}}) {
        class Fixture final : public MessagePumpTest {
        public:
            explicit Fixture(std::int64_t deliveries)
                : MessagePumpTest([deliveries] {
                      Tunables tunables;
                      tunables.bus_max_deliver = deliveries;
                      return tunables;
                  }()) {}
            void TestBody() override {}
            Fate at(std::uint64_t count) { return deliver_sound(count); }
        } fixture(limit.deliveries);
        EXPECT_TRUE(fixture.at(limit.tried)->acked()) << limit.deliveries;
        EXPECT_EQ(fixture.at(limit.buried)->answer, DeliveryFate::Answer::term) << limit.deliveries;
    }
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

// One that has lost its power gives the number to another message: an acknowledgement would take that off.
TEST_F(MessagePumpTest, AnotherServerProcessIsToldOnlyOfTheMessageThatItHasItself) {
    work = 1s;
    for (const bool kept : {true, false}) {
        bus.state.server = "server-1";
        const Fate fate = deliver_sound();
        ++bus.state.id;
        loop.run_for(500ms);
        bus.state.server = "server-2";
        stored = kept ? last_sound : "another message";
        loop.run_for(1s);
        EXPECT_EQ(fate->acked(), kept);
        EXPECT_EQ(fate->answer == DeliveryFate::Answer::none, !kept) << "it comes again after its ack wait";
    }
    EXPECT_EQ(log.times_reached("delivered_by_another_server"), 2);
    bus.state.server = "server-1";
    const Fate same = deliver_sound();
    ++bus.state.id;  // connected anew, with the same process
    loop.run_for(1s);
    EXPECT_TRUE(same->acked());
}

// A crash: whatever goes on stops where it stands, and says nothing to anybody.
TEST_F(MessagePumpTest, DestroyedWithWorkInHandItAnswersNothing) {
    work = 1h;
    Fate fate;
    {
        MessagePump doomed(context, scripts, letters, dead_letters, *this);
        fate = std::make_shared<DeliveryFate>();
        doomed.on_delivery(engine::testing::make_delivery({.subject = "s", .payload = {}}, fate));
        loop.settle();
        EXPECT_EQ(doomed.in_flight(), 1u);
    }
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::none);
    EXPECT_TRUE(fate->dropped);
    EXPECT_TRUE(loop.idle());
}

TEST_F(MessagePumpTest, OneJobTakesFewOfTheSlotsAndNobodyElses) {
    work = 1s;
    std::vector<Fate> hot;
    for (int i = 0; i < 600; ++i) hot.push_back(deliver_of("hot"));
    EXPECT_EQ(running, 8);
    const Fate other = deliver_of("other");
    EXPECT_EQ(running, 9);
    loop.run_for(1s);
    EXPECT_TRUE(other->acked());
}

TEST_F(MessagePumpTest, MessagesOfOneJobTakeTheirTurnsAndAreHandedBackWhereThatLastsForTooLong) {
    work = 900ms;
    std::vector<Fate> hot;
    for (int i = 0; i < 40; ++i) hot.push_back(deliver_of("hot"));
    loop.run_for(1900ms);
    for (std::size_t i = 0; i < 16; ++i) EXPECT_TRUE(hot[i]->acked()) << i;
    EXPECT_EQ(handled.size(), 24u);
    EXPECT_EQ(hot[24]->answer, DeliveryFate::Answer::none);
    loop.run_for(200ms);
    for (std::size_t i = 24; i < 40; ++i) EXPECT_TRUE(hot[i]->handed_back(500ms)) << i;
    EXPECT_EQ(metrics.value(Metric::crowded_job_handed_back, {"sys.job.submit"}), 16);
    EXPECT_EQ(log.times_reached("job_crowded"), 32);
}

TEST_F(MessagePumpTest, WhatWaitsForItsTurnIsHandedBackWhenTheSchedulerStops) {
    work = 1s;
    std::vector<Fate> hot;
    for (int i = 0; i < 10; ++i) hot.push_back(deliver_of("hot"));
    stop();
    EXPECT_TRUE(hot[8]->handed_back(Duration{0}));
    EXPECT_TRUE(hot[9]->handed_back(Duration{0}));
    loop.run_for(1s);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_TRUE(hot[i]->acked());
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
    disposition = [] { return Disposition::hand_back(1h); };
    for (int i = 0; i < 2; ++i) deliver_sound(90);
    disposition = [] { return Disposition::done(); };
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
