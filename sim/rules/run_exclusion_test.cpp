#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kRunLock = "cordum:wf:run:lock:r";
constexpr const char* kKey = "wf:run:r";
constexpr const char* kDocument = R"({"id":"r","status":"running"})";

struct RunExclusionTest : RuleTest {
    RunExclusionTest() : RuleTest(rules::run_exclusion) {
        define({
            {"read", [this](auto& token) { read(by, token); }},
            {"take", [this](auto& token) { take(by, token); }},
            {"commit", [this](auto& token) { commit(by, token); }},
            {"vain", [this](auto& token) { commit(by, token, false); }},
            {"late", [this](auto& token) { commit(by, token, true, false); }},
            {"run_out", [this](auto&) { run_out(); }},
            {"unlocked", [this](auto&) { model().set_runs_go_unlocked(true); }},
        });
    }

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

constexpr Story kHolders[] = {
    // The second one reads in vain at first.
    {"HoldersMayFollowEachOther",
     "take=first read=second@other commit=first take=second@other commit=second@other take=third@other "
     "commit=third@other"},
    // Of the same replica, and another holder all the same.
    {"AHolderThatHasLostItsLockMayTryInVainButNotWrite",
     "take=first run_out take=second commit=second vain=first ok take=third run_out take=fourth commit=fourth ok "
     "late=third",
     "the run r was changed by fourth since third has read it"},
    // That the comparison of the document refuses it does not make it the only one at work.
    {"WithoutALockAReplicaIsAHolderByItself", "read read@other commit vain@other",
     "the run r was changed by node 5 since node 6 has read it"},
    {"WhereReplicasMayGoWithoutTheLockNoneOverwrites",
     "unlocked read read@other commit vain@other ok read read@other commit commit@other",
     "changed by node 5 since node 6 has read it"},
};
using HoldersTold = Told<RunExclusionTest>;
TEST_P(HoldersTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, HoldersTold, ::testing::ValuesIn(kHolders), title_of);

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
