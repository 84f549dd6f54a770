#include "fakes/nats/consumer_model.h"

#include <gtest/gtest.h>

#include "fakes/nats/jetstream_model.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;
using engine::MonoTime;

MonoTime at(engine::Duration since_start) { return MonoTime(since_start); }

class ConsumerModelTest : public ::testing::Test {
protected:
    void SetUp() override { stream = &jetstream.add_stream(StreamConfig{.name = "S", .subjects = {"sys.>"}}); }

    ConsumerModel& consumer() {
        if (made == nullptr) made = jetstream.ensure_consumer("S", config).consumer;
        return *made;
    }
    void publish(int count, std::string subject = "sys.a") {
        for (int i = 0; i < count; ++i) stream->publish(make_message(subject, "payload"), at(0s));
    }
    /// What is delivered at `when`, as "sequence/count" words.
    std::string delivered(engine::Duration when) {
        std::string words;
        consumer().expire(at(when));
        while (const auto next = consumer().next(at(when))) {
            if (!words.empty()) words += ' ';
            words += std::to_string(next->receipt.sequence) + "/" + std::to_string(next->receipt.count);
            receipts[next->receipt.sequence] = next->receipt;
        }
        return words;
    }

    /// Of the last delivery of this message.
    const DeliveryReceipt& of(std::uint64_t sequence) { return receipts[sequence]; }

    std::map<std::uint64_t, DeliveryReceipt> receipts;
    JetStreamModel jetstream;
    StreamModel* stream = nullptr;
    ConsumerConfig config{.name = "d",
                          .filter_subject = "sys.a",
                          .deliver_group = "q",
                          .ack_wait = 10s,
                          .max_deliver = 3,
                          .max_ack_pending = 3};
    ConsumerModel* made = nullptr;
};

TEST_F(ConsumerModelTest, DeliversEverythingOnItsSubjectFromTheBeginning) {
    publish(1, "sys.b");
    publish(2);
    EXPECT_EQ(delivered(1s), "2/1 3/1");
    EXPECT_EQ(delivered(2s), "");
}

TEST_F(ConsumerModelTest, RedeliversAfterTheAckWaitWhatNobodyAcknowledged) {
    publish(2);
    EXPECT_EQ(delivered(0s), "1/1 2/1");
    EXPECT_TRUE(consumer().ack(of(1), at(1s)));
    EXPECT_EQ(delivered(9999ms), "");
    EXPECT_EQ(consumer().next_deadline(), at(10s));
    EXPECT_EQ(delivered(10s), "2/2");
}

TEST_F(ConsumerModelTest, PendingMessagesHoldBackNewOnesThoseWaitingOutANakIncluded) {
    publish(4);
    EXPECT_EQ(delivered(0s), "1/1 2/1 3/1");
    for (const int sequence : {1, 2, 3}) EXPECT_TRUE(consumer().nak(of(sequence), 5s, at(1s)));
    EXPECT_EQ(delivered(2s), "");
    EXPECT_TRUE(consumer().ack(of(2), at(3s)));
    EXPECT_EQ(delivered(3s), "4/1");
}

TEST_F(ConsumerModelTest, RedeliveriesComeBeforeNewMessagesAndIgnoreTheLimit) {
    publish(4);
    EXPECT_EQ(delivered(0s), "1/1 2/1 3/1");
    consumer().nak(of(3), 0s, at(1s));
    consumer().nak(of(1), 0s, at(1s));
    EXPECT_EQ(delivered(1s), "3/2 1/2");
    consumer().nak(of(2), 0s, at(2s));
    consumer().ack(of(3), at(2s));
    EXPECT_EQ(delivered(2s), "2/2 4/1");
}

TEST_F(ConsumerModelTest, ANakWithADelayCountsTheDelayAndNotTheAckWait) {
    publish(1);
    delivered(0s);
    consumer().nak(of(1), 2s, at(1s));
    EXPECT_EQ(delivered(2999ms), "");
    EXPECT_EQ(delivered(3s), "1/2");
    consumer().nak(of(1), 30s, at(4s));
    EXPECT_EQ(delivered(33s), "");
    EXPECT_EQ(delivered(34s), "1/3");
}

TEST_F(ConsumerModelTest, AMessageAtItsLastDeliveryThatIsNakedIsNeverDeliveredAgain) {
    publish(5);
    config.max_deliver = 2;
    delivered(0s);
    consumer().nak(of(1), 0s, at(1s));
    EXPECT_EQ(delivered(1s), "1/2");
    consumer().nak(of(1), 0s, at(2s));
    EXPECT_EQ(delivered(2s), "4/1") << "it has given up its place";
    EXPECT_FALSE(consumer().ack(of(1), at(3s)));
    EXPECT_FALSE(consumer().nak(of(1), 0s, at(3s)));
    EXPECT_EQ(delivered(9s), "");
}

TEST_F(ConsumerModelTest, AMessageAtItsLastDeliveryKeepsItsPlaceUntilItsAckWaitIsOver) {
    publish(4);
    config.max_deliver = 1;
    EXPECT_EQ(delivered(0s), "1/1 2/1 3/1");
    EXPECT_EQ(delivered(9s), "");
    EXPECT_EQ(delivered(10s), "4/1");
}

TEST_F(ConsumerModelTest, ALateAcknowledgementCountsForTheRedeliveryToo) {
    publish(1);
    delivered(0s);
    EXPECT_EQ(delivered(10s), "1/2");
    EXPECT_TRUE(consumer().ack(of(1), at(11s))) << "from the first holder";
    EXPECT_FALSE(consumer().ack(of(1), at(12s))) << "from the second";
    EXPECT_EQ(delivered(100s), "");
}

TEST_F(ConsumerModelTest, AnAcknowledgementTakesAMessageOutOfTheRedeliveryQueue) {
    publish(2);
    delivered(0s);
    consumer().nak(of(1), 0s, at(1s));
    consumer().ack(of(1), at(1s));
    consumer().nak(of(2), 0s, at(1s));
    consumer().nak(of(2), 5s, at(1s));
    EXPECT_EQ(delivered(1s), "") << "the second nak replaced the first";
    EXPECT_EQ(delivered(6s), "2/2");
}

TEST_F(ConsumerModelTest, InProgressStartsTheAckWaitAfresh) {
    publish(1);
    delivered(0s);
    EXPECT_TRUE(consumer().in_progress(of(1), at(9s)));
    EXPECT_EQ(delivered(18s), "");
    EXPECT_EQ(delivered(19s), "1/2");
}

TEST_F(ConsumerModelTest, TermEndsItAndUnknownMessagesAreIgnored) {
    publish(1);
    delivered(0s);
    EXPECT_TRUE(consumer().term(of(1), at(1s)));
    EXPECT_FALSE(consumer().term(of(1), at(1s)));
    EXPECT_FALSE(consumer().nak(of(7), 0s, at(1s)));
    EXPECT_FALSE(consumer().in_progress(of(1), at(1s)));
    EXPECT_EQ(delivered(100s), "");
}

TEST_F(ConsumerModelTest, WhatTheStreamHasForgottenIsNotRedelivered) {
    publish(1);
    delivered(0s);
    EXPECT_EQ(delivered(168h), "");
    EXPECT_EQ(consumer().pending(), 0U);
}

TEST_F(ConsumerModelTest, ACleanRestartKeepsWhatIsPendingAndItsCounts) {
    publish(2);
    delivered(0s);
    consumer().ack(of(1), at(1s));
    consumer().nak(of(2), 0s, at(1s));
    jetstream.restart(at(2s), at(3s));
    EXPECT_EQ(delivered(9s), "") << "the redelivery queue is in memory only: the ack wait decides";
    EXPECT_EQ(delivered(10s), "2/2");
}

TEST_F(ConsumerModelTest, AfterARestartNothingIsRedeliveredBeforeTheFirstCheck) {
    publish(1);
    delivered(0s);
    jetstream.restart(at(60s), at(61s));
    EXPECT_EQ(delivered(60500ms), "");
    EXPECT_EQ(delivered(61s), "1/2");
}

TEST_F(ConsumerModelTest, AfterARestartTheAckWaitCountsFromPublishing) {
    publish(1);
    EXPECT_EQ(delivered(30s), "1/1");
    jetstream.restart(at(31s), at(32s));
    EXPECT_EQ(delivered(32s), "1/2") << "two seconds after its delivery";
}

TEST_F(ConsumerModelTest, ANewLeaderDeliversNothingAgainOfWhatIsInHand) {
    publish(3);
    config.max_ack_pending = 10;
    EXPECT_EQ(delivered(0s), "1/1 2/1 3/1");
    consumer().nak(of(2), 0s, at(1s));
    EXPECT_EQ(consumer().change_leader(ConsumerModel::InHand::stuck), 3U);
    consumer().nak(of(1), 0s, at(2s));
    consumer().nak(of(3), 5s, at(2s));
    publish(1);
    EXPECT_EQ(delivered(60s), "4/1") << "whatever was answered";
    EXPECT_TRUE(consumer().ack(of(3), at(61s)));
    EXPECT_EQ(consumer().pending(), 3U);
    jetstream.restart(at(70s), at(71s));
    EXPECT_EQ(delivered(90s), "1/2 2/2 4/2");
}

TEST_F(ConsumerModelTest, ANewLeaderMayTakeWhatIsInHandForDone) {
    publish(3);
    config.max_ack_pending = 10;
    EXPECT_EQ(delivered(0s), "1/1 2/1 3/1");
    EXPECT_EQ(consumer().change_leader(ConsumerModel::InHand::forgotten), 3U);
    EXPECT_EQ(consumer().pending(), 0U);
    EXPECT_EQ(consumer().ack_floor(), 3U);
    consumer().nak(of(1), 0s, at(2s));
    publish(1);
    EXPECT_EQ(delivered(60s), "4/1") << "whatever was answered";
}

TEST_F(ConsumerModelTest, AServerOfAClusterSaysWhoLeads) {
    EXPECT_EQ(jetstream.leader(), "") << "a server on its own";
    jetstream.join_cluster();
    const std::string first = jetstream.leader();
    EXPECT_NE(first, "");
    static_cast<void>(jetstream.change_leaders(ConsumerModel::InHand::stuck));
    EXPECT_NE(jetstream.leader(), first);
    static_cast<void>(jetstream.change_leaders(ConsumerModel::InHand::stuck));
    EXPECT_EQ(jetstream.leader(), first) << "it has come back";
}

TEST_F(ConsumerModelTest, AMessageGivenUpIsPendingOnceMoreAfterARestart) {
    publish(2);
    config.max_deliver = 1;
    config.max_ack_pending = 1;
    EXPECT_EQ(delivered(0s), "1/1");
    EXPECT_EQ(delivered(10s), "2/1");
    consumer().ack(of(2), at(11s));
    jetstream.restart(at(12s), at(13s));
    publish(1);
    EXPECT_EQ(delivered(12s), "");
    EXPECT_EQ(delivered(13s), "3/1");
}

TEST_F(ConsumerModelTest, AnAcknowledgementBelowTheFilesFloorIsForgottenByARestart) {
    publish(4);
    config.max_ack_pending = 10;
    EXPECT_EQ(delivered(0s), "1/1 2/1 3/1 4/1");
    consumer().ack(of(1), at(1s));
    consumer().nak(of(3), 0s, at(1s));
    EXPECT_EQ(delivered(1s), "3/2");
    consumer().ack(of(2), at(2s));
    consumer().ack(of(4), at(2s));
    jetstream.restart(at(20s), at(21s));
    EXPECT_EQ(delivered(21s), "3/3 4/2");
}

TEST_F(ConsumerModelTest, AKilledServerForgetsTheLastVerdicts) {
    publish(3);
    EXPECT_EQ(delivered(50ms), "1/1 2/1 3/1");
    consumer().ack(of(1), at(90ms));
    consumer().ack(of(2), at(110ms));
    jetstream.crash(at(150ms));
    jetstream.restart(at(1s), at(2s));
    EXPECT_EQ(consumer().pending(), 2U);
    EXPECT_EQ(delivered(11s), "2/2 3/2");
}

TEST_F(ConsumerModelTest, APowerCutTakesBackDeliveriesAndVerdictsSinceTheLastSync) {
    publish(2);
    EXPECT_EQ(delivered(900ms), "1/1 2/1");
    consumer().ack(of(1), at(950ms));
    consumer().ack(of(2), at(1100ms));
    stream->publish(make_message("sys.a", "payload"), at(1200ms));
    EXPECT_EQ(delivered(1200ms), "3/1");
    jetstream.power_cut(at(1900ms));
    jetstream.restart(at(3s), at(4s));
    EXPECT_EQ(stream->last_sequence(), 2U);
    stream->publish(make_message("sys.a", "another"), at(3s));
    EXPECT_EQ(delivered(4s), "3/1") << "the number of a lost message names another one now";
    EXPECT_EQ(delivered(11s), "2/2");
}

TEST_F(ConsumerModelTest, AnExistingDurableIsKeptAndADifferenceIsNamed) {
    ASSERT_NE(&consumer(), nullptr);
    EXPECT_EQ(jetstream.ensure_consumer("S", config).consumer, &consumer());
    config.max_ack_pending = 5;
    const auto other = jetstream.ensure_consumer("S", config);
    EXPECT_EQ(other.consumer, nullptr);
    EXPECT_EQ(other.error, "durable d has max ack pending 3, not 5");
    EXPECT_EQ(jetstream.ensure_consumer("none", config).error, "stream not found");
}

}  // namespace
}  // namespace lockstep::fakes
