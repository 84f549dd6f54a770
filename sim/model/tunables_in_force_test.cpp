#include "sim/model/tunables_in_force.h"

#include <gtest/gtest.h>

namespace lockstep::sim {
namespace {

using engine::Tunables;
using namespace std::chrono_literals;

class TunablesInForceTest : public ::testing::Test {
protected:
    Tunables first;
    TunablesInForce settings{first};
};

TEST_F(TunablesInForceTest, WhileNobodyHasOthersTheyAreWhatTheyAre) {
    EXPECT_EQ(settings.as_read_by("a", {exactly(&Tunables::job_lock_ttl), most(&Tunables::worker_ttl)}), &first);
    EXPECT_TRUE(settings.unjudged().empty());
}

TEST_F(TunablesInForceTest, EachReaderGetsTheMostLenient) {
    settings.add("job_lock_ttl", "30s");
    settings.add("job_lock_ttl", "90s");
    settings.add("max_in_flight", "3");
    settings.add("cancel_on_timeout", "false");
    settings.add("policy_check_fail_mode", "open");
    const Tunables* lenient =
        settings.as_read_by("a", {most(&Tunables::job_lock_ttl), most(&Tunables::max_in_flight),
                                  least(&Tunables::cancel_on_timeout), most(&Tunables::policy_check_fail_mode)});
    ASSERT_NE(lenient, nullptr);
    EXPECT_EQ(lenient->job_lock_ttl, 90s);
    EXPECT_EQ(lenient->max_in_flight, first.max_in_flight);
    EXPECT_FALSE(lenient->cancel_on_timeout);
    EXPECT_EQ(lenient->policy_check_fail_mode, "open");
    const Tunables* other = settings.as_read_by("b", {least(&Tunables::job_lock_ttl), least(&Tunables::max_in_flight)});
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->job_lock_ttl, 30s);
    EXPECT_EQ(other->max_in_flight, 3);
    EXPECT_TRUE(other->cancel_on_timeout) << "it does not read that";
    EXPECT_EQ(lenient->job_lock_ttl, 90s) << "of the one before";
    EXPECT_EQ(settings.most_of(&Tunables::job_lock_ttl), 90s);
    EXPECT_EQ(settings.least_of(&Tunables::job_lock_ttl), 30s);
}

TEST_F(TunablesInForceTest, WhereNoneOfThemIsRightForAllThereIsNone) {
    settings.add("backoff_base", "2s");
    EXPECT_EQ(settings.as_read_by("a", {most(&Tunables::worker_ttl), exactly(&Tunables::backoff_base)}), nullptr);
    EXPECT_NE(settings.as_read_by("b", {exactly(&Tunables::backoff_max)}), nullptr);
    ASSERT_EQ(settings.unjudged().size(), 1U);
    EXPECT_EQ(settings.unjudged()[0].invariant, "a");
    EXPECT_EQ(settings.unjudged()[0].tunable, "backoff_base");
}

}  // namespace
}  // namespace lockstep::sim
