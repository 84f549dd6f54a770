// Where a search in the stream begins and what its answer is worth, on streams of every shape.
#include "engine/scheduler/jobs_stream.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "engine/testing/recorders.h"
#include "engine/testing/scripted_bus.h"

namespace lockstep::engine {
namespace {

using engine::testing::ScriptedBus;

constexpr StreamSequence kBeforeTheFirst(100);  // the number that the scripted stream counts on from
constexpr const char* kSubject = "worker.w1.jobs";

class JobsStreamTest : public ::testing::Test {
protected:
    JobsStreamTest() {
        bus.on_read = [this](const std::string& subject, StreamSequence from) -> Outcome<std::optional<StoredMessage>> {
            ++reads;
            if (before_read) before_read();
            for (const StoredMessage& message : held)
                if (message.sequence >= from && (subject.empty() || message.subject == subject))
                    return std::optional<StoredMessage>(message);
            return std::optional<StoredMessage>();
        };
    }

    /// Stores a message now, and lets a second pass.
    StreamSequence store(const std::string& id, const std::string& subject = kSubject) {
        const PublishAck ack = bus.store({.subject = subject, .payload = "", .message_id = id, .when = {}});
        held.push_back({ack.sequence, id, "", subject, clock.now()});
        loop.run_for(1s);
        return ack.sequence;
    }
    void another_server() {
        bus.state.server = "server-2";
        ++bus.state.id;
    }
    StreamPlace end() { return loop.wait(stream.end(clock.in(1s))).value(); }
    std::optional<Sighting> look_for(const std::string& id, StreamPlace floor, WallTime not_before) {
        return loop.wait(stream.look_for({kSubject, id, std::move(floor), not_before}));
    }

    engine::testing::VirtualLoop loop;
    engine::testing::VirtualClock clock{loop};
    engine::testing::LogRecorder log;
    ScriptedBus bus{clock};
    Tunables tunables = [] {
        Tunables made;
        made.stream_clock_margin = 5s;
        return made;
    }();
    Mechanisms mechanisms;
    JobsStream stream{bus, clock, log, tunables, mechanisms};
    std::vector<StoredMessage> held;
    std::function<void()> before_read;
    int reads = 0;
};

TEST_F(JobsStreamTest, TheEndIsLearntOnceFromEachServer) {
    EXPECT_EQ(end().sequence, kBeforeTheFirst);
    EXPECT_EQ(end().server, "server-1");
    store("a");
    EXPECT_EQ(end().sequence, kBeforeTheFirst) << "an earlier place will do";
    stream.note_stored(kBeforeTheFirst.next(), "server-1");
    EXPECT_EQ(end().sequence, kBeforeTheFirst.next());
    ++bus.state.id;
    EXPECT_EQ(log.times_reached("stream_end_learnt_anew"), 0);
    bus.stream_error = "not asked";
    EXPECT_EQ(end().sequence, kBeforeTheFirst.next()) << "another connection to the same server";
    bus.stream_error = "";
    another_server();
    EXPECT_EQ(end().server, "server-2");
    EXPECT_EQ(log.times_reached("stream_end_learnt_anew"), 1);
}

TEST_F(JobsStreamTest, WhatAnotherServerHasGivenOutDoesNotMoveTheEnd) {
    const StreamPlace before = end();
    stream.note_stored(StreamSequence(7000), "server-2");
    stream.note_stored(StreamSequence(7000), "");
    EXPECT_EQ(end().sequence, before.sequence);
    stream.note_stored(StreamSequence(before.sequence.value() - 1), "server-1");
    EXPECT_EQ(end().sequence, before.sequence) << "answers overtake each other";
}

TEST_F(JobsStreamTest, ASearchBeginsAboveANumberOfTheServerThatAnswers) {
    store("before");
    const StreamPlace floor = end();
    store("other");
    store("mine");
    const auto found = look_for("mine", floor, {});
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->found);
    EXPECT_EQ(reads, 2) << "one for each message above the number";
    const auto missed = look_for("none", floor, {});
    ASSERT_TRUE(missed);
    EXPECT_FALSE(missed->found);
    EXPECT_TRUE(missed->certain);
    EXPECT_EQ(missed->server, "server-1");
}

TEST_F(JobsStreamTest, WhatAStreamWithALimitDoesNotHoldMayHaveBeenSent) {
    bus.stream_limited = true;
    const StreamPlace floor = end();
    const auto missed = look_for("none", floor, {});
    ASSERT_TRUE(missed);
    EXPECT_FALSE(missed->found);
    EXPECT_FALSE(missed->certain);
}

TEST_F(JobsStreamTest, SoMayWhatTheStreamOfAClusterDoesNotHold) {
    bus.stream_clustered = true;
    const StreamPlace floor = end();
    const auto missed = look_for("none", floor, {});
    ASSERT_TRUE(missed);
    EXPECT_FALSE(missed->found);
    EXPECT_FALSE(missed->certain);
}

TEST_F(JobsStreamTest, WhoseLimitsCannotBeLearntSaysNothing) {
    const StreamPlace floor = end();
    bus.stream_error = "not now";
    EXPECT_FALSE(look_for("none", floor, {}));
}

TEST_F(JobsStreamTest, ANumberOfAnotherServerIsNotUsed) {
    for (int i = 0; i < 30; ++i) store("old" + std::to_string(i));
    const StreamPlace floor{held.back().sequence, "server-1"};
    // The server has lost its power, and gives the last numbers out again.
    another_server();
    held.erase(held.end() - 10, held.end());
    const WallTime committed = clock.now();
    held.push_back({held.back().sequence.next(), "mine", "", kSubject, committed + 1s});
    const auto found = look_for("mine", floor, committed);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->found);
    EXPECT_EQ(found->server, "server-2");
    EXPECT_EQ(log.times_reached("stream_searched_by_time"), 1);
    const auto missed = look_for("none", floor, committed);
    ASSERT_TRUE(missed);
    EXPECT_FALSE(missed->certain) << "clocks prove nothing";
}

TEST_F(JobsStreamTest, ANumberOfWhichNobodyKnowsTheServerIsNotUsed) {
    store("mine");
    const auto found = look_for("mine", {held.back().sequence, ""}, {});
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->found);
}

TEST_F(JobsStreamTest, WithoutTheMechanismAnyNumberIsTaken) {
    mechanisms.switch_off(Mechanism::floor_same_server);
    store("mine");
    const auto missed = look_for("mine", {held.back().sequence, "server-0"}, {});
    ASSERT_TRUE(missed);
    EXPECT_FALSE(missed->found);
    EXPECT_TRUE(missed->certain);
}

// The beginning by time is the first message that is not older, to the message, in streams of every length and with gaps.
TEST_F(JobsStreamTest, ASearchByTimeReadsNothingThatIsOlderAndMissesNothing) {
    for (int length = 0; length <= 40; ++length) {
        for (const int gap : {0, 1, 3, 7}) {
            held.clear();
            const WallTime began = clock.now();
            std::vector<std::string> ids;
            for (int i = 0; i < length; ++i) {
                ids.push_back(fmt::format("m{}-{}-{}", length, gap, i));
                store(ids.back());
            }
            // Somebody has purged, or a limit of the subject has: the numbers stay away.
            if (gap > 0)
                std::erase_if(held, [gap](const StoredMessage& m) { return m.sequence.value() % (gap + 1) != 0; });
            for (const StoredMessage& message : held) {
                const auto found = look_for(message.message_id, {}, message.stored_at + tunables.stream_clock_margin);
                ASSERT_TRUE(found);
                EXPECT_TRUE(found->found) << length << " with gaps of " << gap;
                const auto later =
                    look_for(message.message_id, {}, message.stored_at + tunables.stream_clock_margin + 1ns);
                ASSERT_TRUE(later);
                EXPECT_FALSE(later->found) << length << " with gaps of " << gap;
            }
            const auto all = look_for("none", {}, began);
            ASSERT_TRUE(all);
        }
    }
}

TEST_F(JobsStreamTest, ASearchByTimeTakesAsManyReadsAsTheStreamHasDigits) {
    for (int i = 0; i < 1000; ++i) store("m" + std::to_string(i));
    reads = 0;
    const auto found = look_for("m999", {}, held.back().stored_at + tunables.stream_clock_margin);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->found);
    EXPECT_LE(reads, 11 + 1);
}

TEST_F(JobsStreamTest, AnAnswerOfTwoServersIsNone) {
    for (int i = 0; i < 20; ++i) store("m" + std::to_string(i));
    for (int at = 1; at <= 5; ++at) {
        bus.state.server = "server-1";
        reads = 0;
        before_read = [this, at] {
            if (reads == at) another_server();
        };
        EXPECT_FALSE(look_for("m19", {}, held.back().stored_at)) << "it changed during read " << at;
        bus.state.server = "server-1";
        reads = 0;
        EXPECT_FALSE(look_for("m19", {held.front().sequence, "server-1"}, {})) << "it changed during read " << at;
    }
}

TEST_F(JobsStreamTest, AReadThatFailsIsNoAnswer) {
    store("m");
    bus.stream_error = "no responders";
    EXPECT_FALSE(look_for("m", {}, clock.now()));
    bus.stream_error = "";
    bus.on_read = [](const std::string&, StreamSequence) -> Outcome<std::optional<StoredMessage>> {
        return Unknown{{FailureCause::timeout, "no answer"}, 1};
    };
    EXPECT_FALSE(look_for("m", {}, clock.now()));
    EXPECT_FALSE(look_for("m", {kBeforeTheFirst, "server-1"}, {}));
}

}  // namespace
}  // namespace lockstep::engine
