#include "fakes/nats/stream_model.h"

#include <gtest/gtest.h>

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;
using engine::MonoTime;

MonoTime since_start(engine::Duration span) { return MonoTime(span); }

class StreamModelTest : public ::testing::Test {
protected:
    StreamModel::Ack publish(std::string subject, std::string id, engine::Duration when) {
        return stream.publish(make_message(std::move(subject), "payload", std::move(id)), since_start(when));
    }

    StreamConfig config{.name = "S", .subjects = {"sys.>", "worker.*.jobs"}, .max_age = 1h, .max_messages = 5};
    StreamModel stream{config};
};

TEST_F(StreamModelTest, BindsWhatAnyOfItsPatternsMatches) {
    EXPECT_TRUE(stream.binds("sys.job.submit"));
    EXPECT_TRUE(stream.binds("worker.w.jobs"));
    EXPECT_FALSE(stream.binds("job.default"));
}

TEST_F(StreamModelTest, AMessageIdIsStoredOnceWithinTheWindow) {
    EXPECT_EQ(publish("sys.a", "id", 0s).sequence, 1U);
    EXPECT_EQ(publish("sys.b", "", 1s).sequence, 2U);
    const auto again = publish("sys.c", "id", 119s);
    EXPECT_TRUE(again.duplicate);
    EXPECT_FALSE(again.stored());
    EXPECT_EQ(again.sequence, 1U);
    EXPECT_EQ(publish("sys.a", "id", 120s).sequence, 3U);
}

TEST_F(StreamModelTest, AFullStreamRefusesNewMessagesAndStillKnowsDuplicates) {
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(publish("sys.a", "id" + std::to_string(i), 0s).stored());
    const auto refused = publish("sys.a", "new", 1s);
    EXPECT_EQ(refused.error, "maximum messages exceeded");
    EXPECT_TRUE(publish("sys.a", "id2", 1s).duplicate);
    EXPECT_EQ(stream.last_sequence(), 5U);
}

TEST_F(StreamModelTest, MessagesLeaveByAgeAndMakeRoom) {
    publish("sys.a", "", 0s);
    publish("sys.a", "", 30min);
    EXPECT_EQ(stream.find(1, since_start(59min))->sequence, 1U);
    EXPECT_EQ(stream.find(1, since_start(60min)), nullptr);
    EXPECT_EQ(stream.first_sequence(), 2U);
    EXPECT_EQ(stream.next(stream.filter("sys.a"), 1, since_start(60min))->sequence, 2U);
    EXPECT_EQ(stream.next(stream.filter("sys.a"), 1, since_start(91min)), nullptr);
    EXPECT_EQ(stream.last_sequence(), 2U);
}

TEST_F(StreamModelTest, LooksUpTheNextMessageOfASubjectFromASequence) {
    publish("worker.a.jobs", "", 0s);
    publish("worker.b.jobs", "", 0s);
    publish("worker.a.jobs", "", 0s);
    const auto a = stream.filter("worker.a.jobs");
    EXPECT_EQ(stream.next(a, 1, since_start(1s))->sequence, 1U);
    EXPECT_EQ(stream.next(a, 2, since_start(1s))->sequence, 3U);
    EXPECT_EQ(stream.next(a, 4, since_start(1s)), nullptr);
    EXPECT_EQ(stream.next(stream.filter("worker.*.jobs"), 2, since_start(1s))->sequence, 2U);
    EXPECT_EQ(stream.next(stream.filter("worker.nobody.jobs"), 1, since_start(1s)), nullptr);
}

TEST_F(StreamModelTest, KnownMessageIdsSurviveARestart) {
    publish("sys.a", "old", 0s);
    publish("sys.a", "young", 60s);
    stream.restart(since_start(125s));
    EXPECT_TRUE(publish("sys.a", "young", 130s).duplicate);
    EXPECT_TRUE(publish("sys.a", "old", 130s).stored());
    EXPECT_TRUE(publish("sys.a", "young", 249s).duplicate) << "a whole window more";
    EXPECT_TRUE(publish("sys.a", "young", 250s).stored());
}

TEST_F(StreamModelTest, APowerCutTakesBackWhatWasNotSyncedMessageIdsIncluded) {
    publish("sys.a", "kept", 500ms);
    publish("sys.a", "lost", 1500ms);
    stream.power_cut(since_start(1s));
    stream.restart(since_start(2s));
    EXPECT_EQ(stream.last_sequence(), 1U);
    EXPECT_TRUE(publish("sys.a", "kept", 2s).duplicate);
    const auto again = publish("sys.b", "lost", 2s);
    EXPECT_TRUE(again.stored());
    EXPECT_EQ(again.sequence, 2U);
    EXPECT_EQ(stream.next(stream.filter("sys.a"), 2, since_start(2s)), nullptr);
}

}  // namespace
}  // namespace lockstep::fakes
