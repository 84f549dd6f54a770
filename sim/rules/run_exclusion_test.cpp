#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kRunLock = "cordum:wf:run:lock:r";
constexpr const char* kKey = "wf:run:r";
constexpr const char* kDocument = R"({"id":"r","status":"running"})";

struct RunExclusionTest : RuleTest {
    RunExclusionTest() : RuleTest(rules::run_exclusion) {}

    template <class Doing>
    void call(NodeId node, std::vector<std::string_view> words, Doing doing, std::string_view reply = "+OK\r\n") {
        by_command(node, std::move(words), doing);
        observe(EventKind::redis, "", {.payload = reply}, When::applied, node);
    }
    void read(NodeId node, std::string_view token = "") {
        call(node, {"EVALSHA", "sha1", "2", kRunLock, kKey, token}, [] {});
    }
    void take(NodeId node, std::string_view token) {
        call(node, {"EVALSHA", "sha1", "2", kRunLock, kKey, token},
             [&] { keys.set_string(kRunLock, std::string(token), kNever); });
    }
    void commit(NodeId node, std::string_view token, bool applied = true, bool releases = true) {
        call(node, {"EVALSHA", "sha1", "2", kRunLock, kKey, token, kDocument}, [&] {
            if (applied) keys.set_string(kKey, kDocument, kNever);
            if (applied && releases && !token.empty()) keys.remove(*keys.find(kRunLock), Removal::deleted);
        });
    }
    void run_out() { keys.remove(*keys.find(kRunLock), Removal::expired); }
};

TEST_F(RunExclusionTest, HoldersMayFollowEachOther) {
    take(kReplica, "first");
    read(kOther, "second");  // in vain
    commit(kReplica, "first");
    for (const std::string_view token : {"second", "third"}) {
        take(kOther, token);
        commit(kOther, token);
    }
    EXPECT_THAT(found, IsEmpty());
    EXPECT_GT(times_exercised(), 0U);
}

TEST_F(RunExclusionTest, AHolderThatHasLostItsLockMayTryInVainButNotWrite) {
    for (const bool writes : {false, true}) {
        take(kReplica, writes ? "third" : "first");
        run_out();
        take(kReplica, writes ? "fourth" : "second");  // of the same replica, and another holder all the same
        commit(kReplica, writes ? "fourth" : "second");
        EXPECT_THAT(found, IsEmpty());
        commit(kReplica, writes ? "third" : "first", writes, false);
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("the run r was changed by fourth since third has read it")));
}

TEST_F(RunExclusionTest, WithoutALockAReplicaIsAHolderByItself) {
    read(kReplica);
    read(kOther);
    commit(kReplica, "");
    // That the comparison of the document refuses it does not make it the only one at work.
    commit(kOther, "", false);
    EXPECT_THAT(found, ElementsAre(HasSubstr("the run r was changed by node 5 since node 6 has read it")));
}

TEST_F(RunExclusionTest, WhereReplicasMayGoWithoutTheLockNoneOverwrites) {
    model().set_runs_go_unlocked(true);
    for (const bool writes : {false, true}) {
        EXPECT_THAT(found, IsEmpty());
        read(kReplica);
        read(kOther);
        commit(kReplica, "");
        commit(kOther, "", writes);
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("changed by node 5 since node 6 has read it")));
}

TEST_F(RunExclusionTest, AScriptThatTheServerDoesNotKnowHasReadNothing) {
    call(kReplica, {"EVALSHA", "sha1", "2", kRunLock, kKey, "first"}, [] {}, "-NOSCRIPT No matching script.\r\n");
    take(kOther, "second");
    commit(kOther, "second");
    take(kReplica, "first");
    commit(kReplica, "first");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(RunExclusionTest, LooksAtOtherRunsAndWhatGatewaysWriteAreNoHoldersWork) {
    take(kReplica, "first");
    call(kOther, {"MGET", kKey, "wf:run:s"}, [] {});
    call(Topology::kGateway, {"SET", kKey, kDocument}, [&] {
        keys.act_for(Topology::kGateway);
        keys.set_string(kKey, kDocument, kNever);
    });
    commit(kReplica, "first");
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
