#include "engine/policy/waiting_answers.h"

#include <gtest/gtest.h>

#include "engine/wire/messages.h"

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;

WaitingAnswers::Answer answer_at(MonoTime asked) {
    return {Token("token"), "request", asked, SafetyDecision(Decision::allow, "fine")};
}

TEST(WaitingAnswers, AnAnswerIsGoodOnce) {
    WaitingAnswers answers;
    answers.keep(JobId("j1"), answer_at(MonoTime{10s}), MonoTime{5s});
    const auto taken = answers.take(JobId("j1"), Token("token"), "request", MonoTime{10s});
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->decision.reason, "fine");
    EXPECT_FALSE(answers.take(JobId("j1"), Token("token"), "request", MonoTime{10s}));
}

TEST(WaitingAnswers, AnOldOneIsNotGiven) {
    WaitingAnswers answers;
    answers.keep(JobId("j1"), answer_at(MonoTime{10s}), MonoTime{5s});
    EXPECT_FALSE(answers.take(JobId("j1"), Token("token"), "request", MonoTime{10s} + 1ns));
}

TEST(WaitingAnswers, NoneIsGivenForOtherContentOrAfterAnotherHandling) {
    WaitingAnswers answers;
    answers.keep(JobId("j1"), answer_at(MonoTime{10s}), MonoTime{5s});
    EXPECT_FALSE(answers.take(JobId("j1"), Token("another"), "request", MonoTime{5s}));
    answers.keep(JobId("j1"), answer_at(MonoTime{10s}), MonoTime{5s});
    EXPECT_FALSE(answers.take(JobId("j1"), Token("token"), "another request", MonoTime{5s}));
    EXPECT_FALSE(answers.take(JobId("j1"), Token("token"), "request", MonoTime{5s})) << "it has been revoked";
}

TEST(WaitingAnswers, WhatHasBecomeOldIsForgotten) {
    WaitingAnswers answers;
    for (int i = 0; i < 100; ++i)
        answers.keep(JobId("j" + std::to_string(i)), answer_at(MonoTime{i * 1s}), MonoTime{i * 1s} - 5s);
    EXPECT_EQ(answers.size(), 6U);
    answers.keep(JobId("j99"), answer_at(MonoTime{99s}), MonoTime{94s});
    EXPECT_EQ(answers.size(), 6U);
}

TEST(WaitingAnswers, ABurstIsBounded) {
    WaitingAnswers answers;
    for (int i = 0; i < 10'000; ++i)
        answers.keep(JobId("j" + std::to_string(i)), answer_at(MonoTime{10s}), MonoTime{5s});
    EXPECT_EQ(answers.size(), 4'096U);
}

}  // namespace
}  // namespace lockstep::engine
