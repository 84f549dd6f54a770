#include "engine/bus/connection_policy.h"

#include <gtest/gtest.h>

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;

constexpr auto kHighest = [](std::uint64_t bound) { return bound - 1; };
constexpr auto kLowest = [](std::uint64_t) { return std::uint64_t{0}; };

TEST(ConnectionPolicy, WaitsBeforeEveryAttemptAndSpreadsTheClients) {
    ConnectionPolicy policy({.reconnect_wait = 2s, .reconnect_jitter = 100ms});
    EXPECT_EQ(policy.next_attempt(ConnectionEnd::lost, kLowest), 2s);
    EXPECT_EQ(policy.next_attempt(ConnectionEnd::unreachable, kHighest), 2s + 100ms - 1ns);
}

TEST(ConnectionPolicy, DrawsNothingWithoutJitter) {
    ConnectionPolicy policy({.reconnect_wait = 1s, .reconnect_jitter = 0s});
    const auto never = [](std::uint64_t) -> std::uint64_t { throw std::logic_error("drawn"); };
    EXPECT_EQ(policy.next_attempt(ConnectionEnd::lost, never), 1s);
}

TEST(ConnectionPolicy, GoesOnForEverWhereNobodyAnswers) {
    ConnectionPolicy policy({});
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(policy.next_attempt(ConnectionEnd::unreachable, kLowest));
}

TEST(ConnectionPolicy, GivesUpWhenRefusedTwiceInARow) {
    ConnectionPolicy policy({});
    EXPECT_TRUE(policy.next_attempt(ConnectionEnd::lost, kLowest));
    EXPECT_TRUE(policy.next_attempt(ConnectionEnd::refused, kLowest));
    EXPECT_FALSE(policy.next_attempt(ConnectionEnd::refused, kLowest));
}

TEST(ConnectionPolicy, AnythingElseBetweenTwoRefusalsStartsTheCountAfresh) {
    ConnectionPolicy policy({});
    EXPECT_TRUE(policy.next_attempt(ConnectionEnd::refused, kLowest));
    EXPECT_TRUE(policy.next_attempt(ConnectionEnd::unreachable, kLowest));
    EXPECT_TRUE(policy.next_attempt(ConnectionEnd::refused, kLowest));
    policy.established();
    EXPECT_TRUE(policy.next_attempt(ConnectionEnd::refused, kLowest));
    EXPECT_FALSE(policy.next_attempt(ConnectionEnd::refused, kLowest));
}

TEST(ConnectionPolicy, TakesAConnectionForDeadAfterTwoUnansweredPings) {
    ConnectionPolicy policy({.pings_out_max = 2});
    EXPECT_TRUE(policy.ping());
    EXPECT_TRUE(policy.ping());
    policy.heard();
    EXPECT_TRUE(policy.ping());
    EXPECT_TRUE(policy.ping());
    EXPECT_FALSE(policy.ping());
    policy.established();
    EXPECT_TRUE(policy.ping()) << "the silence of one connection is not the next one's";
}

TEST(ConnectionPolicy, RefusesLimitsThatLimitNothingAndDrawsThatAreTooHigh) {
    EXPECT_THROW(ConnectionPolicy({.reconnect_wait = -1s}), InvariantViolation);
    EXPECT_THROW(ConnectionPolicy({.refusals_max = 0}), InvariantViolation);
    EXPECT_THROW(ConnectionPolicy({.pings_out_max = 0}), InvariantViolation);
    ConnectionPolicy policy({.reconnect_jitter = 100ms});
    const auto too_high = [](std::uint64_t bound) { return bound; };
    EXPECT_THROW(static_cast<void>(policy.next_attempt(ConnectionEnd::lost, too_high)), InvariantViolation);
}

}  // namespace
}  // namespace lockstep::engine
