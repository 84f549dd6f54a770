// Which jobs take a slot of their tenant where Redis has lost something.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct TenantLimitWithLoss : RuleTest {
    TenantLimitWithLoss() : RuleTest(rules::tenant_limit) {}

    /// Policy allows the tenant of the job one job at a time.
    void submit(const std::string& job) {
        cap::PolicyCheckResponse answer;
        answer.mutable_constraints()->mutable_budgets()->set_max_concurrent_jobs(1);
        RuleTest::answer(job, answer);
        set_field(job, "tenant", "acme");
        move(job, "PENDING");
    }
};

TEST_F(TenantLimitWithLoss, CountsWhatAFailoverHasKept) {
    submit("a");
    submit("b");
    submit("c");
    move("a", "SCHEDULED");
    keys.restore([this] { move("a", "PENDING"); });
    move("b", "SCHEDULED");
    EXPECT_THAT(found, IsEmpty());
    move("c", "SCHEDULED");
    EXPECT_THAT(found, SizeIs(1));
}

TEST_F(TenantLimitWithLoss, DoesNotCountAJobThatIsNotKnownAnyMore) {
    submit("a");
    submit("b");
    move("a", "RUNNING");
    evict_all_of("a");
    move("b", "SCHEDULED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(TenantLimitWithLoss, CountsOnlyJobsThatBecomeActiveWhereThereIsALimit) {
    for (const std::string job : {"x", "y"}) {
        set_field(job, "tenant", "acme");
        for (const char* state : {"PENDING", "SCHEDULED", "RUNNING"}) move(job, state);
    }
    EXPECT_THAT(found, IsEmpty()) << "policy has set no limit";
    submit("a");
    move("a", "DENIED");
    move("x", "SUCCEEDED");
    move("y", "SUCCEEDED");
    submit("b");
    for (const char* state : {"SCHEDULED", "DISPATCHED", "SCHEDULED"}) move("b", state);
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
