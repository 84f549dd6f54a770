// Which disagreements of a job's records are noticed, and which a loss of data explains.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;
namespace redis = fakes::redis;

constexpr double kDue = 1'767'225'600'000'000;
constexpr const char* kDueText = "1767225600000000";

struct IndexesAgreeTest : RuleTest {
    IndexesAgreeTest() : RuleTest(rules::indexes_agree) { keys.act_for(kReplica); }

    void record(const std::string& state) {
        auto& events = at<List>("job:events:J");
        keys.list_insert(events, std::get<List>(events.second.value).size(), "1|" + state);
    }
    /// In the hash, its mirror and its index, and not in its history.
    void write_state(const std::string& state) {
        for (const State other : {State::pending, State::scheduled, State::approval_required, State::running})
            if (auto* listed = keys.find(index_of(other))) keys.zset_remove(*listed, "J");
        move("J", state);
        keys.zset_set(at<SortedSet>(index_of(state_of(state))), "J", 1);
    }
    void go(const std::string& state) {
        write_state(state);
        record(state);
    }
    void grant_deadline(fakes::NodeId by, bool listed, double score = kDue) {
        set_field("J", "deadline_unix", kDueText, by);
        if (listed) keys.zset_set(at<SortedSet>("job:deadline"), "J", score);
    }
    void count_for_tenant() {
        set_field("J", "tenant", "t");
        keys.set_add(at<redis::Set>("job:tenant:active:t"), "J");
    }
    const std::vector<std::string>& at_rest() {
        found.clear();
        rest(false);
        return found;
    }
};

TEST_F(IndexesAgreeTest, TheHistoryRecordsEveryState) {
    go("PENDING");
    go("APPROVAL_REQUIRED");
    go("PENDING");
    EXPECT_THAT(at_rest(), IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(IndexesAgreeTest, AHistoryThatLeavesOneOutDoesNotAgree) {
    go("PENDING");
    write_state("APPROVAL_REQUIRED");
    go("PENDING");
    EXPECT_THAT(at_rest(), ElementsAre(HasSubstr("it went through PENDING, APPROVAL_REQUIRED, PENDING, and its history "
                                                 "records PENDING, PENDING")));
}

TEST_F(IndexesAgreeTest, NorDoesOneThatRecordsAStateTwice) {
    go("PENDING");
    record("PENDING");
    EXPECT_THAT(at_rest(), ElementsAre(HasSubstr("its history records PENDING, PENDING")));
}

TEST_F(IndexesAgreeTest, AHistoryThatIsKeptShortAgreesFromItsBeginning) {
    go("PENDING");
    go("APPROVAL_REQUIRED");
    keys.list_remove(*keys.find("job:events:J"), 0);
    EXPECT_THAT(at_rest(), IsEmpty());
}

TEST_F(IndexesAgreeTest, AHistoryThatWasEvictedAgreesFromThereOn) {
    for (const bool restored : {false, true}) {
        go("PENDING");
        evict("job:events:J");
        if (restored) keys.restore([] {});
        EXPECT_THAT(at_rest(), IsEmpty());
        write_state("APPROVAL_REQUIRED");
        EXPECT_THAT(at_rest(), ElementsAre(HasSubstr("its state is APPROVAL_REQUIRED and its history ends with ")));
        record("APPROVAL_REQUIRED");
        EXPECT_THAT(at_rest(), IsEmpty());
    }
}

TEST_F(IndexesAgreeTest, AJobIsListedInTheIndexOfItsStateAndInNoOther) {
    go("PENDING");
    keys.zset_set(at<SortedSet>("job:index:failed"), "J", 1);
    EXPECT_THAT(at_rest(), ElementsAre("J: its state is PENDING and it is listed in job:index:failed"));
    keys.zset_remove(*keys.find("job:index:failed"), "J");
    keys.zset_remove(*keys.find("job:index:pending"), "J");
    EXPECT_THAT(at_rest(), ElementsAre("J: its state is PENDING and it is missing from job:index:pending"));
    evict("job:meta:J");
    EXPECT_THAT(at_rest(), IsEmpty()) << "it is torn";
}

TEST_F(IndexesAgreeTest, WhatAnIndexListsHasOrHadAHash) {
    keys.zset_set(at<SortedSet>("job:index:failed"), "J", 1);
    EXPECT_THAT(at_rest(), ElementsAre("J: job:index:failed lists it and it has no hash"));
    keys.remove(*keys.find("job:index:failed"));
    EXPECT_THAT(at_rest(), IsEmpty());
    go("FAILED");
    keys.restore([] {});
    keys.remove(*keys.find("job:meta:J"));
    EXPECT_THAT(at_rest(), ElementsAre("J: job:index:failed lists it and it has no hash"));
}

TEST_F(IndexesAgreeTest, AMirrorIsThereUnlessItExpired) {
    go("PENDING");
    keys.remove(*keys.find("job:state:J"), Removal::expired);
    EXPECT_THAT(at_rest(), IsEmpty());
    go("APPROVAL_REQUIRED");
    keys.remove(*keys.find("job:state:J"));
    EXPECT_THAT(at_rest(), ElementsAre(HasSubstr("job:state says nothing")));
}

TEST_F(IndexesAgreeTest, AMirrorThatIsDamagedSaysNothingUntilItIsWrittenAgain) {
    go("PENDING");
    keys.act_for({});
    keys.set_string("job:state:J", "PEN", redis::kNever);
    EXPECT_THAT(at_rest(), IsEmpty());
    keys.act_for(kReplica);
    keys.set_string("job:state:J", "RUNNING", redis::kNever);
    EXPECT_THAT(at_rest(), ElementsAre(HasSubstr("job:state says RUNNING")));
}

TEST_F(IndexesAgreeTest, ASchedulersDeadlineIsListed) {
    go("PENDING");
    grant_deadline(kReplica, false);
    EXPECT_THAT(at_rest(), ElementsAre(HasSubstr("job:deadline does not list it")));
    grant_deadline(kReplica, true, kDue + 1);
    EXPECT_THAT(at_rest(), ElementsAre(HasSubstr("lists it for 1767225600000001")));
    grant_deadline(kReplica, true);
    EXPECT_THAT(at_rest(), IsEmpty());
    go("SUCCEEDED");
    EXPECT_THAT(at_rest(), ElementsAre(HasSubstr("it ended SUCCEEDED and its deadline is still listed")));
}

TEST_F(IndexesAgreeTest, ADeadlineThatNoLossHasTouchedIsStillJudged) {
    go("PENDING");
    grant_deadline(kReplica, false);
    keys.restore([this] { keys.set_string("job:state:another", "PENDING", redis::kNever); });
    EXPECT_THAT(at_rest(), ElementsAre(HasSubstr("job:deadline does not list it")));
    keys.restore([this] { keys.hash_set(*keys.find("job:meta:J"), "deadline_unix", "17"); });
    EXPECT_THAT(at_rest(), IsEmpty());
}

TEST_F(IndexesAgreeTest, AGatewayMayHaveDiedBetweenADeadlineAndItsPlaceInTheList) {
    go("PENDING");
    grant_deadline(Topology::kGateway, false);
    EXPECT_THAT(at_rest(), IsEmpty());
}

TEST_F(IndexesAgreeTest, AJobIsActiveForItsTenantUntilItEnds) {
    go("RUNNING");
    set_field("J", "tenant", "t");
    EXPECT_THAT(at_rest(), ElementsAre("J: it is RUNNING and does not count as active for t"));
    count_for_tenant();
    EXPECT_THAT(at_rest(), IsEmpty());
    go("FAILED");
    EXPECT_THAT(at_rest(), ElementsAre("J: it ended FAILED and still counts as active for t"));
}

struct ForgottenMembersTest : IndexesAgreeTest {
    void unlist() {
        command(kReplica, [this] { keys.zset_remove(*keys.find("job:index:succeeded"), "J"); });
    }
    void expire() {
        keys.remove(*keys.find("job:meta:J"), Removal::expired);
        keys.remove(*keys.find("job:state:J"), Removal::expired);
    }
    void pass(engine::Duration time) {
        now += time;
        observe(EventKind::redis, {}, {.key = "cordum:reconciler:default"});
        command(kReplica, [] {});
    }
};

TEST_F(ForgottenMembersTest, NoJobThatIsKnownIsRemoved) {
    go("SUCCEEDED");
    unlist();
    EXPECT_THAT(found, ElementsAre(HasSubstr("it is SUCCEEDED and known, and it is removed from job:index:succeeded")));
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(ForgottenMembersTest, UnlessTheSameCommandListsItAgain) {
    go("SUCCEEDED");
    command(kReplica, [this] {
        keys.zset_remove(*keys.find("job:index:succeeded"), "J");
        keys.zset_set(at<SortedSet>("job:index:succeeded"), "J", 2);
    });
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ForgottenMembersTest, OneThatMovesOnOrIsForgottenLeavesItsIndex) {
    go("PENDING");
    go("SUCCEEDED");
    expire();
    unlist();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ForgottenMembersTest, OneThatIsForgottenIsNotListedForEver) {
    using namespace std::chrono_literals;
    go("SUCCEEDED");
    pass(tunables.job_meta_ttl);
    expire();
    pass(1min);
    EXPECT_THAT(at_rest(), IsEmpty());
    pass(1h);
    EXPECT_THAT(at_rest(), ElementsAre(HasSubstr("it has not been known for")));
}

}  // namespace
}  // namespace lockstep::sim
