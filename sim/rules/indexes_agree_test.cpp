// Which disagreements of a job's records are noticed, and which a loss of data explains.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;
namespace redis = fakes::redis;

constexpr double kDue = 1'767'225'600'000'000;
constexpr const char* kDueText = "1767225600000000";

struct IndexesAgreeTest : RuleTest {
    IndexesAgreeTest() : RuleTest(rules::indexes_agree) {
        keys.act_for(kReplica);
        define({
            {"go", [this](auto& state) { go(state); }},
            {"write", [this](auto& state) { write_state(state); }},
            {"record", [this](auto& state) { record(state); }},
            {"list", [this](auto& index) { keys.zset_set(at<SortedSet>(index), "J", 1); }},
            {"unlist", [this](auto& index) { keys.zset_remove(*keys.find(index), "J"); }},
            {"remove", [this](auto& key) { keys.remove(*keys.find(key)); }},
            {"expire", [this](auto& key) { keys.remove(*keys.find(key), Removal::expired); }},
            {"shorten", [this](auto&) { keys.list_remove(*keys.find("job:events:J"), 0); }},
            {"mirror", [this](auto& state) { keys.act_for(by), keys.set_string("job:state:J", state, redis::kNever); }},
            {"deadline", [this](auto&) { grant_deadline(by, false); }},
            {"listed_deadline", [this](auto& more) { grant_deadline(by, true, kDue + std::stod(more)); }},
            {"tenant", [this](auto&) { set_field("J", "tenant", "t"); }},
            {"active", [this](auto&) { count_for_tenant(); }},
            {"rest", [this](auto&) { at_rest(); }},
        });
    }

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

constexpr Story kIndexes[] = {
    {"TheHistoryRecordsEveryState", "go=PENDING go=APPROVAL_REQUIRED go=PENDING rest times=1"},
    {"AHistoryThatLeavesOneOutDoesNotAgree", "go=PENDING write=APPROVAL_REQUIRED go=PENDING rest",
     "it went through PENDING, APPROVAL_REQUIRED, PENDING, and its history records PENDING, PENDING"},
    {"NorDoesOneThatRecordsAStateTwice", "go=PENDING record=PENDING rest", "its history records PENDING, PENDING"},
    {"AHistoryThatIsKeptShortAgreesFromItsBeginning", "go=PENDING go=APPROVAL_REQUIRED shorten rest"},
    {"AHistoryThatWasEvictedAgreesFromThereOn", "go=PENDING evict=job:events:J rest ok write=APPROVAL_REQUIRED rest",
     "its state is APPROVAL_REQUIRED and its history ends with"},
    {"AlsoAfterAFailover",
     "go=PENDING evict=job:events:J failover rest ok write=APPROVAL_REQUIRED rest found=1 record=APPROVAL_REQUIRED "
     "rest"},
    {"AJobIsListedInNoOtherIndex", "go=PENDING list=job:index:failed rest",
     "J: its state is PENDING and it is listed in job:index:failed"},
    {"AJobIsListedInTheIndexOfItsState", "go=PENDING unlist=job:index:pending rest",
     "J: its state is PENDING and it is missing from job:index:pending"},
    {"UnlessItIsTorn", "go=PENDING unlist=job:index:pending evict=job:meta:J rest"},
    {"WhatAnIndexListsHasAHash", "list=job:index:failed rest", "J: job:index:failed lists it and it has no hash"},
    {"OrHadOne", "go=FAILED failover remove=job:meta:J rest", "J: job:index:failed lists it and it has no hash"},
    {"AMirrorIsThereUnlessItExpired",
     "go=PENDING expire=job:state:J rest ok go=APPROVAL_REQUIRED remove=job:state:J rest", "job:state says nothing"},
    {"AMirrorThatIsDamagedSaysNothingUntilItIsWrittenAgain", "go=PENDING mirror=PEN@nobody rest ok mirror=RUNNING rest",
     "job:state says RUNNING"},
    {"ASchedulersDeadlineIsListed", "go=PENDING deadline rest", "job:deadline does not list it"},
    {"AsOfThen", "go=PENDING listed_deadline=1 rest", "lists it for 1767225600000001"},
    {"AndUntilTheJobEnds", "go=PENDING listed_deadline=0 rest ok go=SUCCEEDED rest",
     "it ended SUCCEEDED and its deadline is still listed"},
    {"AGatewayMayHaveDiedBetweenADeadlineAndItsPlaceInTheList", "go=PENDING deadline@gateway rest"},
    {"AJobIsActiveForItsTenant", "go=RUNNING tenant rest", "J: it is RUNNING and does not count as active for t"},
    {"UntilItEnds", "go=RUNNING active rest ok go=FAILED rest", "J: it ended FAILED and still counts as active for t"},
};
using IndexesTold = Told<IndexesAgreeTest>;
TEST_P(IndexesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, IndexesTold, ::testing::ValuesIn(kIndexes), title_of);

TEST_F(IndexesAgreeTest, ADeadlineThatNoLossHasTouchedIsStillJudged) {
    go("PENDING");
    grant_deadline(kReplica, false);
    keys.restore([this] { keys.set_string("job:state:another", "PENDING", redis::kNever); });
    EXPECT_THAT(at_rest(), ElementsAre(HasSubstr("job:deadline does not list it")));
    keys.restore([this] { keys.hash_set(*keys.find("job:meta:J"), "deadline_unix", "17"); });
    EXPECT_THAT(at_rest(), IsEmpty());
}

TEST_F(IndexesAgreeTest, AJobThatHasEndedWaitsNowhere) {
    go("SUCCEEDED");
    EXPECT_THAT(at_rest(), IsEmpty());
    keys.zset_set(at<SortedSet>("lockstep:tenant:waiting:t"), "J", 1);
    keys.zset_set(at<SortedSet>("lockstep:capacity:waiting"), "K", 1);
    set_field("J", "ls_queue", "q");
    keys.list_insert(at<List>("lockstep:capacity:slots:w"), 0, "J");
    EXPECT_THAT(at_rest(), ElementsAre("J: it ended SUCCEEDED, and its record still has ls_queue = q",
                                       HasSubstr("lockstep:capacity:slots:w still lists it"),
                                       HasSubstr("lockstep:tenant:waiting:t still lists it")));
    for (const char* tenant : {"t", "u"})
        set_text("job:req:J", fmt::format(R"({{"jobId": "J", "topic": "job.a", "tenantId": "{}"}})", tenant),
                 Topology::kGateway);
    EXPECT_THAT(at_rest(), Not(Contains(HasSubstr("lockstep:tenant:waiting:t")))) << "it is another tenant's since";
}

TEST_F(IndexesAgreeTest, OneCommandWritesWhatBelongsTogether) {
    using Written = std::vector<std::pair<const char*, const char*>>;
    const auto write = [this](const char* state, const Written& fields) {
        found.clear();
        command(kReplica, [&] {
            for (const auto& [field, value] : fields) set_field("J", field, value);
            for (const char* field : {"updated_at", "attempts"}) set_field("J", field, "1");
            set_field("J", "state", state);
            for (const std::string_view index : {index_of(state_of(state)), std::string_view("job:recent")})
                keys.zset_set(at<SortedSet>(index), "J", 1);
        });
        return found;
    };
    const auto left_out = [](const char* what) { return ElementsAre(AllOf(HasSubstr("leaves out"), HasSubstr(what))); };
    EXPECT_THAT(write("PENDING", {}), IsEmpty());
    Written dispatch{{"ls_dispatch", "1"}, {"ls_dispatches", "1"}, {"ls_stream_floor", "0"}};
    EXPECT_THAT(write("DISPATCHED", dispatch), IsEmpty());
    dispatch.pop_back();
    EXPECT_THAT(write("DISPATCHED", dispatch), left_out("ls_stream_floor"));
    EXPECT_THAT(write("RUNNING", {}), left_out("ls_published"));
    EXPECT_THAT(write("SUCCEEDED", {}), left_out("worker_id"));
    EXPECT_THAT(write("DENIED", {}), left_out("a dead letter"));
    EXPECT_THAT(write("FAILED", {}), left_out("ls_retryable"));
    EXPECT_THAT(write("FAILED", {{"ls_retryable", "1"}}), IsEmpty());
    EXPECT_THAT(write("PENDING", {{"safety_decision", "ALLOW"}}), left_out("the decision"));
    EXPECT_THAT(write("PENDING", {{"result_ptr", "p"}}), left_out("the result pointer"));
    EXPECT_THAT(write("PENDING", {{"worker_id", "w"}}), left_out("worker:jobs:w"));
    EXPECT_THAT(write("PENDING", {{"ls_waits_limit", "2"}}), left_out("ls_waits_since"));
    found.clear();
    command(kReplica, [this] { set_field("J", "state", "PENDING"); });
    EXPECT_THAT(found, left_out("updated_at"));
}

TEST_F(IndexesAgreeTest, WhatAGatewayListedUnderTheSameMicrosecondStandsThere) {
    command(Topology::kGateway, [this] { keys.zset_set(at<SortedSet>("job:recent"), "J", 7); });
    const auto moved_at = [this](const char* date) {
        found.clear();
        command(kReplica, [&] {
            for (const auto& [field, value] : {std::pair{"updated_at", date}, {"attempts", "1"}, {"state", "PENDING"}})
                set_field("J", field, value);
            keys.zset_set(at<SortedSet>("job:index:pending"), "J", 7);
        });
        return found;
    };
    EXPECT_THAT(moved_at("7"), IsEmpty());
    EXPECT_THAT(moved_at("8"), ElementsAre(HasSubstr("leaves out job:recent")));
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
