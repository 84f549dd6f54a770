#include "sim/oracles/run_exclusion.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <memory>
#include <utility>
#include <vector>

#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using fakes::redis::Removal;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOther;

constexpr NodeId kOne{5};
constexpr std::string_view kRunLock = "cordum:wf:run:lock:r";
constexpr std::string_view kKey = "wf:run:r";
constexpr std::string_view kDocument = R"({"id":"r","status":"running"})";

class RunExclusionTest : public ::testing::Test {
protected:
    void command(NodeId node, std::vector<std::string_view> words) {
        words_ = std::move(words);
        oracle().command(node, words_, 0);
    }
    void end(NodeId node, std::string_view reply = "+OK\r\n") {
        oracle().command(node, {}, 0);
        fakes::Event event = testing::event_of(fakes::EventKind::redis, "");
        event.node = node;
        event.payload = reply;
        judge.tell(oracle(), event, {});
    }
    void take(NodeId node, std::string_view token) {
        command(node, {"EVALSHA", "sha1", "2", kRunLock, kKey, token});
        oracle().string_set(node, kRunLock, nullptr, token, 0, 0);
        end(node);
    }
    void take_in_vain(NodeId node, std::string_view token) {
        command(node, {"EVALSHA", "sha1", "2", kRunLock, kKey, token});
        end(node);
    }
    void read_without_a_lock(NodeId node) {
        command(node, {"EVALSHA", "sha1", "2", kRunLock, kKey});
        end(node);
    }
    void commit(NodeId node, std::string_view token, bool applied = true, bool releases = true) {
        command(node, {"EVALSHA", "sha1", "2", kRunLock, kKey, token, kDocument});
        if (applied) oracle().string_set(node, kKey, nullptr, kDocument, 0, 0);
        if (applied && releases && !token.empty()) oracle().key_removed(node, kRunLock, Removal::deleted, {}, 0);
        end(node);
    }
    void run_out() { oracle().key_removed({}, kRunLock, Removal::expired, {}, 0); }
    RunExclusion& oracle() {
        if (!oracle_) oracle_ = std::make_unique<RunExclusion>(judge, tunables);
        return *oracle_;
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;

private:
    std::vector<std::string_view> words_;
    std::unique_ptr<RunExclusion> oracle_;
};

TEST_F(RunExclusionTest, HoldersMayFollowEachOther) {
    take(kOne, "first");
    take_in_vain(kOther, "second");
    commit(kOne, "first");
    take(kOther, "second");
    commit(kOther, "second");
    take(kOther, "third");
    commit(kOther, "third");
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_GT(oracle().exercised(), 0U);
}

TEST_F(RunExclusionTest, WhoHasLostItsLockMayTryInVainButNotWrite) {
    take(kOne, "first");
    run_out();
    take(kOther, "second");
    commit(kOther, "second");
    commit(kOne, "first", false);
    EXPECT_THAT(judge.found, IsEmpty());
    take(kOne, "third");
    run_out();
    take(kOther, "fourth");
    commit(kOther, "fourth");
    commit(kOne, "third", true, false);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the run r was changed by fourth since third has read it")));
}

TEST_F(RunExclusionTest, TwoHandlersOfOneReplicaAreTwoHolders) {
    take(kOne, "first");
    run_out();
    take(kOne, "second");
    commit(kOne, "second");
    commit(kOne, "first", true, false);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("changed by second since first has read it")));
}

TEST_F(RunExclusionTest, WhoTakesNoLockIsAHolderByItself) {
    read_without_a_lock(kOne);
    read_without_a_lock(kOther);
    commit(kOne, "");
    // That the comparison of the document refuses it does not make it the only one at work.
    commit(kOther, "", false);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the run r was changed by node 5 since node 6 has read it")));
}

TEST_F(RunExclusionTest, WhereReplicasMayGoWithoutTheLockNobodyOverwrites) {
    tunables.wf_on_redis_error = "local";
    read_without_a_lock(kOne);
    read_without_a_lock(kOther);
    commit(kOne, "");
    commit(kOther, "", false);
    EXPECT_THAT(judge.found, IsEmpty());
    read_without_a_lock(kOne);
    read_without_a_lock(kOther);
    commit(kOne, "");
    commit(kOther, "");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("changed by node 5 since node 6 has read it")));
}

TEST_F(RunExclusionTest, AScriptThatTheServerDoesNotKnowHasReadNothing) {
    command(kOne, {"EVALSHA", "sha1", "2", kRunLock, kKey, "first"});
    end(kOne, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    take(kOther, "second");
    commit(kOther, "second");
    take(kOne, "first");
    commit(kOne, "first");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RunExclusionTest, LooksAtOtherRunsAndWhatGatewaysWriteAreNoHoldersWork) {
    take(kOne, "first");
    command(kOther, {"MGET", kKey, "wf:run:s"});
    end(kOther);
    command(Topology::kGateway, {"SET", kKey, kDocument});
    oracle().string_set(Topology::kGateway, kKey, nullptr, kDocument, 0, 0);
    end(Topology::kGateway);
    commit(kOne, "first");
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
