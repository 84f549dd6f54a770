#include "engine/bus/stream_search.h"

#include <gtest/gtest.h>

#include <limits>

#include "engine/testing/virtual_loop.h"

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;

/// A stream that holds every third message, number n stored at second n.
class StreamSearch : public ::testing::Test {
protected:
    std::optional<StreamSequence> search(StreamState stream, WallTime time) {
        return loop.wait(first_since(stream, time, [this](StreamSequence from) { return read(from); }));
    }
    Task<Outcome<std::optional<StoredMessage>>> read(StreamSequence from) {
        ++reads;
        if (!answers) co_return NotApplied{{FailureCause::disconnected, "not connected"}};
        const std::uint64_t number = (from.value() + 2) / 3 * 3;
        if (number > 3000) co_return std::optional<StoredMessage>();
        co_return std::optional(StoredMessage{StreamSequence(number), {}, {}, {}, WallTime{number * 1s}});
    }

    engine::testing::VirtualLoop loop;
    int reads = 0;
    bool answers = true;
};

TEST_F(StreamSearch, FindsTheFirstNumberWhoseMessageIsNotOlder) {
    const StreamState stream{StreamSequence(3), StreamSequence(3000)};
    EXPECT_EQ(search(stream, WallTime{600s}), StreamSequence(598)) << "597 is older, and up to 600 nothing is held";
    EXPECT_LE(reads, 12) << "as many as 2,998 has binary digits";
    EXPECT_EQ(search(stream, WallTime{0s}), StreamSequence(3));
    EXPECT_EQ(search(stream, WallTime{3001s}), StreamSequence(3001)) << "behind the last";
}

TEST_F(StreamSearch, WithoutAnAnswerNothingIsFoundAndNonsenseEnds) {
    EXPECT_TRUE(search({StreamSequence(3), StreamSequence(std::numeric_limits<std::uint64_t>::max())}, WallTime{600s}));
    answers = false;
    EXPECT_FALSE(search({StreamSequence(3), StreamSequence(3000)}, WallTime{600s}));
}

}  // namespace
}  // namespace lockstep::engine
