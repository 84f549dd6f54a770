#include "engine/runtime/outcome.h"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>

namespace lockstep::engine {
namespace {

Outcome<int> answer(OutcomeKind kind) {
    switch (kind) {
        case OutcomeKind::applied: return 7;
        case OutcomeKind::not_applied: return NotApplied{{FailureCause::refused, "no"}};
        case OutcomeKind::unknown: return Unknown{{FailureCause::timeout, "late"}, 3};
    }
    return 0;
}

TEST(Outcome, TellsItsThreeKindsApart) {
    for (const auto kind : {OutcomeKind::applied, OutcomeKind::not_applied, OutcomeKind::unknown}) {
        EXPECT_EQ(answer(kind).kind(), kind);
        EXPECT_EQ(answer(kind).applied(), kind == OutcomeKind::applied);
    }
}

TEST(Outcome, CannotBeAskedAsIfItHadTwoKinds) {
    static_assert(!std::is_convertible_v<Outcome<int>, bool>);
    static_assert(!std::is_constructible_v<bool, Outcome<int>>);
}

TEST(Outcome, KeepsTheFailureForAnotherResultType) {
    const Outcome<std::string> unknown = answer(OutcomeKind::unknown).failure_as<std::string>();
    ASSERT_EQ(unknown.kind(), OutcomeKind::unknown);
    EXPECT_EQ(unknown.unknown().connection, 3U);
    EXPECT_EQ(unknown.failure().detail, "late");
    EXPECT_EQ(unknown.failure().cause, FailureCause::timeout);

    const Outcome<std::string> refused = answer(OutcomeKind::not_applied).failure_as<std::string>();
    EXPECT_EQ(refused.kind(), OutcomeKind::not_applied);
    EXPECT_EQ(refused.failure().cause, FailureCause::refused);
}

TEST(Outcome, GivesAwayAValueThatCanOnlyBeMoved) {
    Outcome<std::unique_ptr<int>> made(std::make_unique<int>(5));
    const std::unique_ptr<int> taken = std::move(made).value();
    EXPECT_EQ(*taken, 5);
}

TEST(Outcome, WhoAsksForWhatThereIsNotIsWrong) {
    for (const OutcomeKind kind : {OutcomeKind::not_applied, OutcomeKind::unknown})
        EXPECT_THROW(static_cast<void>(answer(kind).value()), InvariantViolation);
    EXPECT_THROW(static_cast<void>(answer(OutcomeKind::applied).failure()), InvariantViolation);
    EXPECT_THROW(static_cast<void>(answer(OutcomeKind::applied).failure_as<std::string>()), InvariantViolation);
    for (const OutcomeKind kind : {OutcomeKind::applied, OutcomeKind::not_applied})
        EXPECT_THROW(static_cast<void>(answer(kind).unknown()), InvariantViolation);
}

TEST(Outcome, NamesItsKinds) {
    EXPECT_STREQ(to_string(OutcomeKind::applied), "applied");
    EXPECT_STREQ(to_string(OutcomeKind::not_applied), "not_applied");
    EXPECT_STREQ(to_string(OutcomeKind::unknown), "unknown");
}

}  // namespace
}  // namespace lockstep::engine
