// policy_before_dispatch and approval_bound share what they know of policy's word and of an operator's: each story here is told
// to both.
#include "sim/rules/forged_world.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;
using World = ForgedWorld;

constexpr const char* kInvariant = "policy_before_dispatch";

struct PolicyBeforeDispatchTest : ::testing::Test {
    void take_up(NodeId replica = World::kReplica) { world.take_up("a", replica); }
    void dispatch(NodeId replica = World::kReplica) {
        world.commit_dispatch("a", replica);
        world.send("a", replica);
        world.arrive("a");
    }
    /// An earlier handling, which hears this and gives the job back.
    void was_asked(std::string_view decision, NodeId replica = World::kReplica) {
        take_up(replica);
        world.ask_policy("a", decision, 0, replica);
        world.let_go("a", replica);
    }
    /// The same, and as many others of its tenant are on their way as may be.
    void wait_for_tenant(std::string_view decision) {
        take_up();
        world.ask_policy("a", decision);
        world.find_tenant_full("a");
        world.let_go("a");
    }
    [[nodiscard]] bool alarmed(const char* invariant = kInvariant) const {
        return world.violated().contains(invariant);
    }

    World world;
};

// SAFE-01
TEST_F(PolicyBeforeDispatchTest, AnAllowThatItsSenderHasHeardLetsAJobGo) {
    world.submit("a");
    take_up();
    world.ask_policy("a", "ALLOW");
    dispatch();
    EXPECT_THAT(world.violated(), IsEmpty());
}

TEST_F(PolicyBeforeDispatchTest, ALaterRefusalRevokesAnEarlierAllow) {
    world.submit("a");
    was_asked("ALLOW");
    take_up();
    world.ask_policy("a", "THROTTLE");
    dispatch();
    EXPECT_TRUE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, AnAllowAfterARefusalCounts) {
    world.submit("a");
    was_asked("DENY");
    take_up();
    world.ask_policy("a", "ALLOW");
    dispatch();
    EXPECT_THAT(world.violated(), IsEmpty());
}

TEST_F(PolicyBeforeDispatchTest, AnAllowIsGoodForAWhileWhereTheTenantWasFull) {
    world.submit("a");
    wait_for_tenant("ALLOW");
    world.wait(4s);
    take_up();
    dispatch();
    EXPECT_THAT(world.violated(), IsEmpty());
}

TEST_F(PolicyBeforeDispatchTest, WhoFindsTheJobWaitingMeanwhileChangesNothing) {
    world.submit("a");
    wait_for_tenant("ALLOW");
    take_up();
    world.let_go("a");
    take_up();
    dispatch();
    EXPECT_THAT(world.violated(), IsEmpty());
}

// Its lock is evicted before it has gone by the answer, and the next one does.
TEST_F(PolicyBeforeDispatchTest, WhoLosesTheJobMeanwhileLeavesTheAnswerToTheNext) {
    world.submit("a");
    wait_for_tenant("ALLOW");
    take_up();
    world.lose_lock("a");
    take_up();
    dispatch();
    EXPECT_FALSE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, SoDoesWhoLosesItBeforeItCouldBeGivenBack) {
    world.submit("a");
    take_up();
    world.ask_policy("a", "ALLOW");
    world.find_tenant_full("a");
    world.lose_lock("a");
    take_up();
    dispatch();
    EXPECT_FALSE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, WhoLosesTheJobLeavesNoAnswerThatHasGrownOld) {
    world.submit("a");
    wait_for_tenant("ALLOW");
    take_up();
    world.lose_lock("a");
    world.wait(6s);
    take_up();
    dispatch();
    EXPECT_TRUE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, WhoLosesTheJobLeavesNoRefusalAsALeave) {
    world.submit("a");
    wait_for_tenant("ALLOW");
    take_up();
    world.ask_policy("a", "DENY");
    world.lose_lock("a");
    take_up();
    dispatch();
    EXPECT_TRUE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, AfterThatPolicyIsAskedAgain) {
    world.submit("a");
    wait_for_tenant("ALLOW");
    world.wait(6s);
    take_up();
    dispatch();
    EXPECT_TRUE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, ARefusalThatAnyReplicaHasHeardSinceRevokesIt) {
    world.submit("a");
    wait_for_tenant("ALLOW");
    was_asked("DENY", World::kOtherReplica);
    take_up();
    dispatch();
    EXPECT_TRUE(alarmed());
}

// What that replica has written down of it is gone, so nobody else can know.
TEST_F(PolicyBeforeDispatchTest, WhatRedisHasLostOfAnotherWordRevokesNothing) {
    world.submit("a");
    wait_for_tenant("ALLOW");
    was_asked("DENY", World::kOtherReplica);
    world.fail_over();
    take_up();
    world.let_go("a");
    take_up();
    dispatch();
    EXPECT_FALSE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, OfAJobThatDidNotWaitForItsTenantNothingIsKept) {
    world.submit("a");
    was_asked("ALLOW");
    take_up();
    dispatch();
    EXPECT_TRUE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, WhatAnotherReplicaIsToldMeanwhileChangesNothing) {
    world.submit("a");
    take_up();
    world.ask_policy("a", "ALLOW");
    world.ask_policy("a", "DENY", 0, World::kOtherReplica);
    dispatch();
    EXPECT_FALSE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, NobodySendsOnWhatOnlyAnotherReplicaHasHeard) {
    world.submit("a");
    was_asked("ALLOW", World::kOtherReplica);
    take_up();
    dispatch();
    EXPECT_TRUE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, AnAllowIsForTheContentThatWasAskedAbout) {
    world.submit("a");
    take_up();
    world.ask_policy("a", "ALLOW");
    world.label("a", "amount", "1000000");
    dispatch();
    EXPECT_TRUE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, ALabelOfABypassIsNoBypassWhileTheModeIsClosed) {
    world.label("a", "safety_bypassed", "true");
    world.submit("a");
    take_up();
    world.ask_policy_in_vain("a");
    dispatch();
    EXPECT_TRUE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, WithAnOpenModeAQuestionThatNobodyAnsweredLetsAJobGo) {
    world.open_fail_mode();
    world.submit("a");
    take_up();
    world.ask_policy_in_vain("a");
    world.label("a", "safety_bypassed", "true");
    world.label("a", "safety_bypass_reason", "safety kernel unavailable");
    dispatch();
    EXPECT_THAT(world.violated(), IsEmpty());
}

TEST_F(PolicyBeforeDispatchTest, AnAnswerIsNotBypassedWhateverTheMode) {
    world.open_fail_mode();
    world.submit("a");
    take_up();
    world.ask_policy("a", "DENY");
    world.label("a", "safety_bypassed", "true");
    dispatch();
    EXPECT_TRUE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, AnOperatorsApprovalLetsAJobGo) {
    world.submit("a");
    was_asked("REQUIRE_APPROVAL");
    world.approve("a");
    take_up();
    dispatch();
    EXPECT_THAT(world.violated(), IsEmpty());
}

TEST_F(PolicyBeforeDispatchTest, ARejectionIsNoApprovalEvenBesideALabelOfOne) {
    world.label("a", "approval_granted", "true");
    world.submit("a");
    world.set_text(Topology::kGateway, "job:req:a", R"({"jobId":"a","labels":{"approval_granted":"true"}})");
    was_asked("REQUIRE_APPROVAL");
    world.reject("a");
    take_up();
    dispatch();
    EXPECT_THAT(world.violated(), Contains(kInvariant));
    EXPECT_TRUE(alarmed("approval_bound"));
}

// A submitter's own label of a bypass must not excuse his own label of an approval.
TEST_F(PolicyBeforeDispatchTest, TwoLabelsOfASubmitterReleaseNothing) {
    world.label("a", "approval_granted", "true");
    world.label("a", "safety_bypassed", "true");
    world.submit("a");
    take_up();
    dispatch();
    EXPECT_THAT(world.violated(), Contains(kInvariant));
    EXPECT_TRUE(alarmed("approval_bound"));
}

// The lock is lost under a handler, and another one of the same replica takes the job up.
TEST_F(PolicyBeforeDispatchTest, WhatAnEarlierHandlerHasAskedIsNoWordForALaterOne) {
    world.submit("a");
    take_up();
    world.ask_policy_and_wait("a");
    world.lose_lock("a");
    take_up();
    world.hear_policy("a", "ALLOW");
    dispatch();
    EXPECT_TRUE(alarmed());
}

TEST_F(PolicyBeforeDispatchTest, ALaterHandlerOfTheSameReplicaGoesByItsOwnQuestion) {
    world.submit("a");
    take_up();
    world.ask_policy_and_wait("a");
    world.lose_lock("a");
    take_up();
    world.ask_policy_and_wait("a");
    world.hear_policy("a", "ALLOW");
    world.hear_policy("a", "ALLOW");
    dispatch();
    EXPECT_FALSE(alarmed());
}

class ForgottenQuestion : public PolicyBeforeDispatchTest, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(OrKept, ForgottenQuestion, ::testing::Bool());

TEST_P(ForgottenQuestion, IsTheFailModesAndNoHumans) {
    world.open_fail_mode();
    world.submit("a");
    take_up();
    world.ask_policy("a", "REQUIRE_APPROVAL");
    world.move("a", "APPROVAL_REQUIRED");
    world.let_go("a");
    const bool forgotten = GetParam();
    if (forgotten) world.fail_over_to("a", "PENDING");
    take_up();
    world.ask_policy_in_vain("a");
    world.label("a", "safety_bypassed", "true");
    dispatch();
    EXPECT_EQ(alarmed("approval_bound"), !forgotten);
}

struct ApprovalBoundTest : RuleTest {
    ApprovalBoundTest() : RuleTest(rules::approval_bound) {}
};

TEST_F(ApprovalBoundTest, WhatIsAllowedIfItIsApprovedWaitsForAHuman) {
    cap::PolicyCheckResponse answer;
    answer.set_approval_required(true);
    observe(EventKind::kernel_check, "a", {.to = "ALLOW", .payload = answer.SerializeAsString()});
    cap::BusPacket packet;
    packet.mutable_job_request()->set_job_id("a");
    fakes::Event send = event_of(EventKind::publish, "a", When::before);
    send.subject = "worker.w.jobs";
    send.packet = &packet;
    tell(send);
    send.kind = EventKind::core_deliver;
    tell(send);
    EXPECT_THAT(found, ElementsAre(HasSubstr("nobody approved")));
}

}  // namespace
}  // namespace lockstep::sim
