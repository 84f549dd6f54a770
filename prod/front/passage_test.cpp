// What becomes of a message between two streams, whatever the answers are.
#include "prod/front/passage.h"

#include <gtest/gtest.h>

#include "engine/testing/recorders.h"
#include "engine/testing/scripted_bus.h"
#include "engine/testing/virtual_loop.h"
#include "prod/front/durables.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;
using engine::FailureCause;
using engine::testing::DeliveryFate;
using engine::testing::ScriptedBus;

class PassageTest : public testing::Test {
protected:
    PassageTest() {
        const auto opened = loop.wait(passage.open(from, front_spec("sys.job.result", 30s, 0)));
        EXPECT_TRUE(opened.applied());
    }
    engine::testing::Fate deliver(std::uint64_t count = 1, std::string payload = "bytes") {
        auto fate = from.deliver({.subject = "sys.job.result", .payload = std::move(payload), .count = count});
        loop.run_for(10s);
        return fate;
    }
    engine::Task<std::optional<Parcel>> address(engine::Delivery& delivery) {
        if (!known) co_return std::nullopt;
        std::string payload(delivery.payload());
        co_return Parcel{&to, std::string(delivery.subject()), std::move(payload), "id"};
    }

    engine::testing::VirtualLoop loop;
    engine::testing::VirtualClock clock{loop};
    engine::testing::LogRecorder log;
    ScriptedBus from{clock};
    ScriptedBus to{clock};
    bool known = true;
    int taken = 0;
    int repeated = 0;
    int refused = 0;
    std::uint64_t limit = 0;
    bool letters_taken = true;
    std::vector<std::string> letters;
    Passage passage{{loop, clock, log},
                    "test",
                    {.address = [this](engine::Delivery& delivery) { return address(delivery); },
                     .taken = [this](bool again) { ++(again ? repeated : taken); },
                     .refused = [this] { ++refused; },
                     .largest = [this]() -> engine::Task<std::uint64_t> { co_return limit; },
                     .set_aside = [this](const engine::Delivery&, std::string why) -> engine::Task<bool> {
                         letters.push_back(std::move(why));
                         co_return letters_taken;
                     }}};
};

TEST_F(PassageTest, AcknowledgesOnceTheOtherStreamHasIt) {
    to.latency = 3s;
    auto fate = from.deliver({.subject = "sys.job.result", .payload = "bytes"});
    loop.run_for(2s);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::none) << "the stream has not answered yet";
    loop.run_for(2s);
    EXPECT_TRUE(fate->acked());
    ASSERT_EQ(to.published_on("sys.job.result").size(), 1U);
    EXPECT_EQ(to.published[0].payload, "bytes");
    EXPECT_EQ(to.published[0].message_id, "id");
    EXPECT_EQ(taken, 1);
}

TEST_F(PassageTest, HandsBackWhatMayOrMayNotHaveArrived) {
    to.on_publish = [](const ScriptedBus::Published&) -> engine::Outcome<engine::PublishAck> {
        return engine::Unknown{{FailureCause::timeout, "no answer"}, 1};
    };
    EXPECT_TRUE(deliver()->handed_back(1s));
    EXPECT_EQ(refused, 1);
    to.on_publish = [](const ScriptedBus::Published&) -> engine::Outcome<engine::PublishAck> {
        return engine::PublishAck{"CORDUM_SYS", engine::StreamSequence(7), true, 1};
    };
    EXPECT_TRUE(deliver(2)->acked()) << "the stream knew the id: it had arrived";
    EXPECT_EQ(repeated, 1);
    EXPECT_EQ(taken, 0);
}

TEST_F(PassageTest, NeverGivesUpAndComesMoreRarely) {
    to.on_publish = [](const ScriptedBus::Published&) -> engine::Outcome<engine::PublishAck> {
        return engine::NotApplied{{FailureCause::disconnected, "away"}};
    };
    EXPECT_TRUE(deliver(2)->handed_back(2s));
    EXPECT_TRUE(deliver(5)->handed_back(16s));
    EXPECT_TRUE(deliver(1'000'000)->handed_back(30s));
    EXPECT_EQ(front_spec("s", 30s, 0).max_deliver, -1) << "a limit would have the server forget it";
}

TEST_F(PassageTest, HandsBackWhatCannotBeAddressedNow) {
    known = false;
    EXPECT_TRUE(deliver()->handed_back(1s));
    EXPECT_TRUE(to.published.empty());
}

TEST_F(PassageTest, AMessageOfTheLargestSizeGoesWithoutItsId) {
    deliver(1, std::string(to.state.max_payload - 10, 'x'));
    ASSERT_EQ(to.published.size(), 1U);
    EXPECT_EQ(to.published[0].message_id, "") << "with it the server would refuse the message for ever";
}

TEST_F(PassageTest, WhatIsTooLargeForTheOtherServerIsSetAsideAtOnce) {
    auto fate = deliver(1, std::string(to.state.max_payload + 1, 'x'));
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::term);
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_NE(letters[0].find("it has 1048577 bytes, and 1048576 are the most"), std::string::npos) << letters[0];
    EXPECT_TRUE(to.published.empty());
}

TEST_F(PassageTest, WhatIsTooLargeForTheOtherStreamIsSetAsideForAsLongAsThatIsItsLimit) {
    limit = 1000;
    to.on_publish = [this](const ScriptedBus::Published& message) -> engine::Outcome<engine::PublishAck> {
        if (message.payload.size() > limit) return engine::Unknown{{FailureCause::refused, "too large"}, 1};
        return engine::PublishAck{"CORDUM_SYS", engine::StreamSequence(7), false, 1};
    };
    EXPECT_EQ(deliver(1, std::string(1001, 'x'))->answer, DeliveryFate::Answer::term);
    EXPECT_EQ(letters.size(), 1U);
    EXPECT_TRUE(deliver(1, std::string(1000, 'x'))->acked());
    limit = 2000;
    EXPECT_TRUE(deliver(1, std::string(1001, 'x'))->acked()) << "it was raised";
    EXPECT_EQ(letters.size(), 1U);
}

TEST_F(PassageTest, ARefusalForAnotherReasonSetsNothingAside) {
    limit = 1000;
    to.on_publish = [](const ScriptedBus::Published&) -> engine::Outcome<engine::PublishAck> {
        return engine::Unknown{{FailureCause::refused, "the stream is full"}, 1};
    };
    EXPECT_TRUE(deliver()->handed_back(1s));
    EXPECT_TRUE(letters.empty());
}

TEST_F(PassageTest, KeepsAMessageUntilItsLetterIsTaken) {
    letters_taken = false;
    EXPECT_TRUE(deliver(2, std::string(to.state.max_payload + 1, 'x'))->handed_back(2s));
}

TEST_F(PassageTest, FinishesWhatIsInHand) {
    to.latency = 3s;
    auto fate = from.deliver({.subject = "sys.job.result", .payload = "bytes"});
    loop.settle();
    loop.wait(passage.finish());
    EXPECT_TRUE(fate->acked());
    EXPECT_TRUE(from.paused("sys.job.result"));
}

TEST(PassageId, IsThatOfOneMessageOfOneStream) {
    const auto id = [](const char* place, std::uint64_t sequence, const char* payload) {
        return passage_id(place, engine::StreamSequence(sequence), payload);
    };
    EXPECT_EQ(id("cell:east", 5, "p"), id("cell:east", 5, "p"));
    EXPECT_NE(id("cell:east", 5, "p"), id("cell:east", 6, "p"));
    EXPECT_NE(id("cell:east", 5, "p"), id("cell:west", 5, "p"));
    EXPECT_NE(id("cell:east", 5, "p"), id("cell:east", 5, "q")) << "a stream that was lost counts from 1 again";
}

}  // namespace
}  // namespace lockstep::prod
