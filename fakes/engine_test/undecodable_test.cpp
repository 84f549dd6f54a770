// Messages whose bytes are no packet: their letters, the index and the limit of those, and how the bus is told of them.
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

constexpr const char* kIndex = "lockstep:undecodable:index";
constexpr const char* kUntold = "lockstep:undecodable:untold";

class UndecodableTest : public SchedulerTest {
protected:
    UndecodableTest() {
        bus.on_read_message = [](engine::StreamSequence sequence) {
            return Outcome<std::optional<StoredMessage>>(
                std::optional(StoredMessage{.sequence = sequence, .message_id = {}, .payload = "garbage \xff"}));
        };
    }

    Fate deliver_garbage(std::uint64_t sequence, std::uint64_t count = 1) {
        Fate fate =
            bus.deliver({.subject = "sys.job.submit", .payload = "garbage \xff", .count = count, .sequence = sequence});
        loop.settle();
        return fate;
    }
    [[nodiscard]] static std::string letter_of(std::uint64_t sequence) {
        return "dlq:entry:poison:CORDUM_SYS:" + std::to_string(sequence);
    }
    [[nodiscard]] bool has_letter(std::uint64_t sequence) {
        return *run({"EXISTS", letter_of(sequence)}).integer() == 1;
    }
    [[nodiscard]] std::int64_t listed(const std::string& index) { return *run({"ZCARD", index}).integer(); }
    [[nodiscard]] bool anything_untold() { return *run({"EXISTS", kUntold}).integer() == 1; }
    /// What the bus has been told in the order in which it was.
    [[nodiscard]] Texts told() const {
        Texts texts;
        for (const auto& message : dead_letters()) {
            cap::BusPacket packet;
            EXPECT_TRUE(packet.ParseFromString(message.payload));
            EXPECT_EQ(packet.job_result().job_id(), "undecodable:CORDUM_SYS:sys.job.submit");
            texts.push_back(packet.job_result().error_message());
        }
        return texts;
    }
};

TEST_F(UndecodableTest, TheyAreBuriedAtOnceAndListedApart) {
    start();
    EXPECT_EQ(deliver_garbage(7)->answer, DeliveryFate::Answer::term);
    EXPECT_TRUE(has_letter(7));
    EXPECT_EQ(listed(kIndex), 1);
    EXPECT_EQ(listed("dlq:index"), 0);
    EXPECT_EQ(listed("lockstep:dead_letter:outbox"), 0);
    EXPECT_TRUE(dead_letters().empty());
}

TEST_F(UndecodableTest, TheyPushOutTheirOldestAndNobodyElses) {
    tunables.dlq_undecodable_max_size = 2;
    start();
    run({"SET", "dlq:entry:job", "{}"});
    run({"ZADD", "dlq:index", "1", "job"});
    for (const std::uint64_t sequence : {7U, 8U, 9U}) {
        deliver_garbage(sequence);
        loop.run_for(1s);
    }
    EXPECT_EQ(listed(kIndex), 2);
    EXPECT_FALSE(has_letter(7));
    EXPECT_TRUE(has_letter(9));
    EXPECT_EQ(listed("dlq:index"), 1);
    EXPECT_EQ(*run({"EXISTS", "dlq:entry:job"}).integer(), 1);
}

TEST_F(UndecodableTest, TheBusIsToldOfThemOnceAMinuteAndAllTogether) {
    start();
    for (const std::uint64_t sequence : {12U, 10U, 17U}) deliver_garbage(sequence);
    loop.run_for(50s);
    EXPECT_TRUE(told().empty());
    loop.run_for(50s);
    EXPECT_EQ(told(), Texts{"3 messages not decodable, from sequence 10 to 17 of CORDUM_SYS"});
    EXPECT_FALSE(anything_untold());
    deliver_garbage(18);
    loop.run_for(2min);
    EXPECT_EQ(told().size(), 2U);
    loop.run_for(10min);
    EXPECT_EQ(told().size(), 2U) << "and nothing where there was none";
}

// The replica dies after the letter and before the message is terminated: it comes again, and is the same one.
TEST_F(UndecodableTest, ACrashAfterTheLetterLeavesOneLetterThatCountsOnce) {
    start();
    on_script(scripts.bury_undecodable, [] { return CallFault::unknown; });
    EXPECT_TRUE(deliver_garbage(7)->handed_back(5s));
    on_script(scripts.bury_undecodable, nullptr);
    EXPECT_TRUE(has_letter(7));
    crash();
    start();
    EXPECT_EQ(deliver_garbage(7, 2)->answer, DeliveryFate::Answer::term);
    loop.run_for(2min);
    EXPECT_EQ(told(), Texts{"1 messages not decodable, from sequence 7 to 7 of CORDUM_SYS"});
}

// Told twice, perhaps; never not at all.
TEST_F(UndecodableTest, ASumWhoseAnswerIsLostIsToldAgainAndNewOnesCountTowardsTheNext) {
    start();
    deliver_garbage(7);
    bus.on_publish = [this](const ScriptedBus::Published&) { return lost(); };
    loop.run_for(100s);
    EXPECT_GE(told().size(), 1U);
    EXPECT_TRUE(anything_untold());
    deliver_garbage(8);
    bus.on_publish = nullptr;
    const std::size_t before = told().size();
    loop.run_for(3min);
    const Texts texts = told();
    EXPECT_EQ(Texts(texts.begin() + static_cast<std::ptrdiff_t>(before), texts.end()),
              (Texts{"1 messages not decodable, from sequence 7 to 7 of CORDUM_SYS",
                     "1 messages not decodable, from sequence 8 to 8 of CORDUM_SYS"}));
    EXPECT_FALSE(anything_untold());
    const auto letters = dead_letters();
    EXPECT_EQ(letters[before].message_id, letters.front().message_id) << "a stream takes it for the same";
    EXPECT_NE(letters[before + 1].message_id, letters.front().message_id);
}

// The replica that tells dies before it could strike the sum off.
TEST_F(UndecodableTest, AnotherReplicaTellsWhatADeadOneHadToTell) {
    start();
    deliver_garbage(7);
    bus.on_publish = [this](const ScriptedBus::Published& message) {
        if (message.subject == "sys.job.dlq") slow_redis.latency = 1h;  // it never gets that far
        return bus.store(message);
    };
    loop.run_for(100s);
    crash();
    bus.on_publish = nullptr;
    slow_redis.latency = {};
    start();
    loop.run_for(2min);
    EXPECT_EQ(told().size(), 2U);
    EXPECT_FALSE(anything_untold());
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
