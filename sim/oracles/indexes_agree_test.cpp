#include "sim/oracles/indexes_agree.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kReplica;
namespace redis = fakes::redis;

constexpr double kDue = 1'767'225'600'000'000;
constexpr const char* kDueText = "1767225600000000";

class IndexesAgreeTest : public ::testing::Test {
protected:
    IndexesAgreeTest() {
        judge.watch(keys);
        keys.add_observer(oracle);
        keys.act_for(kReplica);
    }
    template <class Container>
    redis::Keyspace::Node& at(const std::string& key) {
        auto* node = keys.find(key);
        return node != nullptr ? *node : keys.create<Container>(key);
    }
    void record(const std::string& state) {
        auto& events = at<redis::List>("job:events:J");
        keys.list_insert(events, std::get<redis::List>(events.second.value).size(), "1|" + state);
    }
    /// In the hash, its mirror and its index, and not in its history.
    void write_state(const std::string& state, const std::string& index) {
        for (const char* other : {"pending", "scheduled", "approval_required"})
            if (auto* listed = keys.find(fmt::format("job:index:{}", other))) keys.zset_remove(*listed, "J");
        keys.hash_set(at<redis::Hash>("job:meta:J"), "state", state);
        keys.set_string("job:state:J", state, redis::kNever);
        keys.zset_set(at<redis::SortedSet>("job:index:" + index), "J", 1);
    }
    void go(const std::string& state, const std::string& index) {
        write_state(state, index);
        record(state);
    }
    void grant_deadline(NodeId by, bool listed, double score = kDue) {
        keys.act_for(by);
        keys.hash_set(at<redis::Hash>("job:meta:J"), "deadline_unix", kDueText);
        if (listed) keys.zset_set(at<redis::SortedSet>("job:deadline"), "J", score);
    }
    const std::vector<std::string>& rest() {
        judge.found.clear();
        oracle.at_rest({.redis = keys});
        return judge.found;
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    IndexesAgree oracle{judge, tunables};
    redis::Keyspace keys;
};

TEST_F(IndexesAgreeTest, TheHistoryTellsOfEveryState) {
    go("PENDING", "pending");
    go("APPROVAL_REQUIRED", "approval_required");
    go("PENDING", "pending");
    EXPECT_THAT(rest(), IsEmpty());
}

TEST_F(IndexesAgreeTest, AHistoryThatLeavesOneOutDoesNotAgree) {
    go("PENDING", "pending");
    write_state("APPROVAL_REQUIRED", "approval_required");
    go("PENDING", "pending");
    EXPECT_THAT(rest(), ElementsAre(HasSubstr("it went through PENDING, APPROVAL_REQUIRED, PENDING, and its history "
                                              "tells of PENDING, PENDING")));
}

TEST_F(IndexesAgreeTest, NorDoesOneThatTellsOfAStateTwice) {
    go("PENDING", "pending");
    record("PENDING");
    EXPECT_THAT(rest(), ElementsAre(HasSubstr("its history tells of PENDING, PENDING")));
}

TEST_F(IndexesAgreeTest, AHistoryThatIsKeptShortAgreesFromItsBeginning) {
    go("PENDING", "pending");
    go("APPROVAL_REQUIRED", "approval_required");
    keys.list_remove(*keys.find("job:events:J"), 0);
    EXPECT_THAT(rest(), IsEmpty());
}

TEST_F(IndexesAgreeTest, AHistoryThatWasEvictedAgreesFromThereOn) {
    go("PENDING", "pending");
    keys.remove(*keys.find("job:events:J"), redis::Removal::evicted);
    EXPECT_THAT(rest(), IsEmpty());
    write_state("APPROVAL_REQUIRED", "approval_required");
    EXPECT_THAT(rest(), ElementsAre(HasSubstr("its state is APPROVAL_REQUIRED and its history ends with ")));
    record("APPROVAL_REQUIRED");
    EXPECT_THAT(rest(), IsEmpty());
}

TEST_F(IndexesAgreeTest, AHistoryThatWasEvictedBeforeAFailoverAgreesFromThereOn) {
    go("PENDING", "pending");
    keys.remove(*keys.find("job:events:J"), redis::Removal::evicted);
    keys.restore([] {});
    EXPECT_THAT(rest(), IsEmpty());
    write_state("APPROVAL_REQUIRED", "approval_required");
    EXPECT_THAT(rest(), ElementsAre(HasSubstr("its state is APPROVAL_REQUIRED and its history ends with ")));
}

TEST_F(IndexesAgreeTest, AMirrorIsThereUnlessItsTimeRanOut) {
    go("PENDING", "pending");
    keys.remove(*keys.find("job:state:J"), redis::Removal::expired);
    EXPECT_THAT(rest(), IsEmpty());
    go("APPROVAL_REQUIRED", "approval_required");
    keys.remove(*keys.find("job:state:J"));
    EXPECT_THAT(rest(), ElementsAre(HasSubstr("job:state says nothing")));
}

TEST_F(IndexesAgreeTest, AMirrorThatIsDamagedSaysNothingUntilItIsWrittenAgain) {
    go("PENDING", "pending");
    keys.act_for(NodeId{});
    keys.set_string("job:state:J", "PEN", redis::kNever);
    EXPECT_THAT(rest(), IsEmpty());
    keys.act_for(kReplica);
    keys.set_string("job:state:J", "PEN", redis::kNever);
    EXPECT_THAT(rest(), ElementsAre(HasSubstr("job:state says PEN")));
}

TEST_F(IndexesAgreeTest, ASchedulersDeadlineIsListed) {
    go("PENDING", "pending");
    grant_deadline(kReplica, false);
    EXPECT_THAT(rest(), ElementsAre(HasSubstr("job:deadline does not list it")));
    grant_deadline(kReplica, true, kDue + 1);
    EXPECT_THAT(rest(), ElementsAre(HasSubstr("lists it for 1767225600000001")));
    grant_deadline(kReplica, true);
    EXPECT_THAT(rest(), IsEmpty());
}

TEST_F(IndexesAgreeTest, ADeadlineThatNoLossHasTouchedIsStillJudged) {
    go("PENDING", "pending");
    grant_deadline(kReplica, false);
    testing::take_back(judge, oracle, "another");
    keys.restore([] {});
    EXPECT_THAT(rest(), ElementsAre(HasSubstr("job:deadline does not list it")));
    keys.restore([this] { keys.hash_set(*keys.find("job:meta:J"), "deadline_unix", "17"); });
    EXPECT_THAT(rest(), IsEmpty());
}

TEST_F(IndexesAgreeTest, AGatewayMayHaveDiedBetweenADeadlineAndItsPlaceInTheList) {
    go("PENDING", "pending");
    grant_deadline(Topology::kGateway, false);
    EXPECT_THAT(rest(), IsEmpty());
}

class ForgottenMembersTest : public IndexesAgreeTest {
protected:
    /// A command of a scheduler at this time, by the clock of Redis.
    void command(std::int64_t at_ms) {
        const std::string_view words[] = {"EVALSHA", "sha1"};
        keys.tell_command(kReplica, words, at_ms);
        keys.tell_command(kReplica, {}, at_ms);
    }
    void expire() {
        keys.remove(*keys.find("job:meta:J"), redis::Removal::expired);
        keys.remove(*keys.find("job:state:J"), redis::Removal::expired);
    }
    void pass(Time time) {
        fakes::Event tick = testing::event_of(fakes::EventKind::redis, {});
        tick.node = kReplica;
        tick.key = "cordum:reconciler:default";
        judge.tell(oracle, tick, time);
    }
};

TEST_F(ForgottenMembersTest, NobodyWhoIsKnownIsStruckOff) {
    go("SUCCEEDED", "succeeded");
    command(1);
    keys.zset_remove(*keys.find("job:index:succeeded"), "J");
    command(2);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it is SUCCEEDED and known, and it is struck off")));
}

TEST_F(ForgottenMembersTest, WhoMovesOnOrIsForgottenLeavesItsIndex) {
    go("PENDING", "pending");
    command(1);
    go("SUCCEEDED", "succeeded");
    command(2);
    expire();
    keys.zset_remove(*keys.find("job:index:succeeded"), "J");
    command(3);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ForgottenMembersTest, WhoIsForgottenIsNotListedForEver) {
    using namespace std::chrono_literals;
    go("SUCCEEDED", "succeeded");
    const std::int64_t life = engine::to_millis(tunables.job_meta_ttl);
    command(life);
    expire();
    command(life + 60'000);
    pass(Time{1min});
    EXPECT_THAT(rest(), IsEmpty());
    command(life + 3'600'000);
    pass(Time{1h});
    EXPECT_THAT(rest(), ElementsAre(HasSubstr("nobody has known it any more")));
}

}  // namespace
}  // namespace lockstep::sim
