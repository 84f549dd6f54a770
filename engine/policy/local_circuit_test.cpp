#include "engine/policy/local_circuit.h"

#include <gtest/gtest.h>

namespace lockstep::engine {
namespace {

class LocalCircuitTest : public ::testing::Test {
protected:
    void fail(int times) {
        for (int i = 0; i < times; ++i) circuit.failed(circuit.ticket(), now);
    }
    void open() { fail(3); }
    void half_open() {
        open();
        now += 30s;
    }

    Tunables tunables;
    LocalCircuit circuit{tunables};
    MonoTime now{std::chrono::hours{1}};
};

// FAIL-06, FAIL-11
TEST_F(LocalCircuitTest, TheThirdFailureInARowOpensIt) {
    fail(2);
    EXPECT_TRUE(circuit.admit(now));
    fail(1);
    EXPECT_EQ(circuit.failures(), 3);
    EXPECT_FALSE(circuit.admit(now));
    EXPECT_TRUE(circuit.is_open(now + 29s));
}

TEST_F(LocalCircuitTest, TheBudgetIsASetting) {
    tunables.circuit_fail_budget = 2;
    fail(2);
    EXPECT_FALSE(circuit.admit(now));
}

// FAIL-07
TEST_F(LocalCircuitTest, ASuccessForgetsTheFailuresBeforeIt) {
    fail(2);
    circuit.succeeded(circuit.ticket());
    EXPECT_EQ(circuit.failures(), 0);
    fail(2);
    EXPECT_TRUE(circuit.admit(now));
}

// FAIL-09, C-35
TEST_F(LocalCircuitTest, AfterItsTimeItLetsAFewProbesThrough) {
    half_open();
    for (int i = 0; i < 3; ++i) {
        const auto probe = circuit.admit(now);
        ASSERT_TRUE(probe);
        EXPECT_TRUE(probe->probe);
    }
    EXPECT_FALSE(circuit.admit(now));
}

TEST_F(LocalCircuitTest, TwoSuccessfulProbesCloseIt) {
    half_open();
    const auto first = circuit.admit(now);
    const auto second = circuit.admit(now);
    circuit.succeeded(*first);
    const auto third = circuit.admit(now);
    EXPECT_TRUE(third);
    EXPECT_FALSE(circuit.admit(now)) << "two under way and one done: three in all";
    circuit.succeeded(*second);
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(circuit.admit(now)->probe);
    EXPECT_EQ(circuit.failures(), 0);
}

TEST_F(LocalCircuitTest, AFailedProbeOpensItForTheWholeTimeAgain) {
    half_open();
    const auto good = circuit.admit(now);
    const auto bad = circuit.admit(now);
    circuit.succeeded(*good);
    circuit.failed(*bad, now);
    EXPECT_FALSE(circuit.admit(now + 29s));
    EXPECT_TRUE(circuit.admit(now + 30s));
}

TEST_F(LocalCircuitTest, ATripOfTheOthersLeavesItHalfOpen) {
    circuit.join_half_open(now);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(circuit.admit(now)->probe);
    EXPECT_FALSE(circuit.admit(now));
}

TEST_F(LocalCircuitTest, CallsThatBeganBeforeTheTripAreNotProbes) {
    const auto slow = circuit.ticket();
    half_open();
    circuit.succeeded(slow);
    circuit.failed(slow, now);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(circuit.admit(now)) << "still half-open, with all its places";
    EXPECT_FALSE(circuit.admit(now));
}

}  // namespace
}  // namespace lockstep::engine
