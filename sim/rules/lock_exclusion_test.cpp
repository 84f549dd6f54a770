#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr std::string_view kJobLock = "cordum:scheduler:job:J";

struct LockExclusionTest : RuleTest {
    static constexpr NodeId kHolder = kReplica;
    LockExclusionTest() : RuleTest(rules::lock_exclusion) {
        define({
            {"take", [this](auto& token) { take(by, token.empty() ? "token" : token); }},
            {"expire",
             [this](auto& token) {
                 lock(EventKind::lock_expired, Topology::kRedis, kHolder, kJobLock, token.empty() ? "token" : token);
             }},
            {"renew", [this](auto& token) { renew(by, token); }},
            {"named", [this](auto& of) { state_by(by, second(of), first(of)); }},
            {"state", [this](auto& to) { state(by, to); }},
            {"back", [this](auto& of) { give_back(by, first(of), second(of)); }},
            {"released", [this](auto&) { lock(EventKind::lock_released, kHolder, kHolder); }},
            {"stolen",
             [this](auto& key) { lock(EventKind::lock_released, kHolder, kOther, key.empty() ? kJobLock : key); }},
            {"unknown", [this](auto& key) { lock(EventKind::lock_released, kHolder, NodeId{}, key); }},
            {"short_lived", [this](auto&) { tunables.job_lock_ttl = 8s; }},
            {"publish",
             [this](auto&) { observe(EventKind::publish, "J", {.subject = "worker.w.jobs"}, When::before); }},
            {"ack", [this](auto&) { observe(EventKind::ack, "J", {}, When::before, by); }},
        });
    }

    void lock(EventKind kind, NodeId node, NodeId holder, std::string_view key = kJobLock,
              std::string_view token = "token") {
        observe(kind, key == kJobLock ? "J" : "", {.peer = holder, .key = key, .name = token}, When::applied, node);
    }
    void take(NodeId node, std::string_view token = "token") {
        lock(EventKind::lock_acquired, node, node, kJobLock, token);
    }
    void state(NodeId node, std::string_view to) { set_field("J", "state", to, node); }
    /// By a command that names this token, or none.
    void state_by(NodeId node, std::string_view token, std::string_view to) {
        by_command(node, {"EVALSHA", "sha1", "2", kJobLock, "job:meta:J", "J", token}, [&] { state(node, to); });
    }
    void renew(NodeId node, std::string_view names) {
        by_command(node, {"EVALSHA", "sha1", "1", kJobLock, names},
                   [&] { lock(EventKind::lock_renewed, node, kHolder); });
    }
    void give_back(NodeId node, std::string_view names, std::string_view held) {
        by_command(node, {"EVALSHA", "sha1", "1", kJobLock, names},
                   [&] { lock(EventKind::lock_released, node, node, kJobLock, held); });
    }
};

constexpr Story kExclusions[] = {
    {"NobodyRenewsALockThatAnotherOneHolds", "take renew=token ok renew=lost@other",
     "it renewed cordum:scheduler:job:J, which another one holds"},
    {"WhoeverGoesByALockThatItHasLostMayNotEvenTimeItOut", "take expire take=later@other named=TIMEOUT:token",
     "made TIMEOUT by a replica that does not hold its lock"},
    {"TwoHandlersOfOneReplicaAreTwoHolders",
     "take=first expire=first take=second named=SCHEDULED:second ok named=DISPATCHED:first back=first:second "
     "back=second:second",
     "has lost its lock to another one of the same replica|another handler of the same replica holds"},
    {"TheHolderItselfNamesItsLock", "take named=SCHEDULED:", "names no lock"},
    {"WithoutTheWordsOfACommandReplicasAreToldApart", "take state=SCHEDULED ok state=DISPATCHED@other",
     "does not hold its lock"},
    {"ALockThatRanOutIsNobodys", "take expire state=DENIED", "made DENIED by a replica that does not hold its lock"},
    {"AGatewaysOwnWritesAreItsOwnAffair", "take state=FAILED@gateway state=CANCELLED@operator"},
    {"NobodyGivesBackTheLockOfAnother", "take released ok take@other stolen", "gave back cordum:scheduler:job:J"},
    {"ThatHoldsForEveryLock", "stolen=saga:trip:lock", "gave back saga:trip:lock"},
    // After a loss of data.
    {"UnlessItIsNotKnownWhoHadIt", "unknown=saga:trip:lock"},
    // The replica's clock may be an eighth slow.
    {"AJobIsPublishedOnlyWhileTheLockMayLive", "short_lived take +9s publish ok +1ms publish",
     "whose lock on it ran out 1001 ms ago"},
    {"IsPutToTheTestWhereWhoeverHeldALockGoesOn", "take expire ack@other times=0 ack ack times=1"},
};
using ExclusionsTold = Told<LockExclusionTest>;
TEST_P(ExclusionsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, ExclusionsTold, ::testing::ValuesIn(kExclusions), title_of);

// LOCK-10
TEST_F(LockExclusionTest, NoStateIsWrittenWithoutTheLock) {
    take(kHolder);
    for (const std::string_view to : {"APPROVAL_REQUIRED", "SCHEDULED", "RUNNING", "SUCCEEDED", "FAILED", "DENIED",
                                      "TIMEOUT", "CANCELLED", "OUTPUT_QUARANTINED"}) {
        found.clear();
        state_by(kOther, "", to);
        const bool needs_none = to == std::string_view("TIMEOUT") || to == std::string_view("CANCELLED");
        EXPECT_EQ(found.empty(), needs_none) << to;
        found.clear();
        state_by(kHolder, "token", to);
        EXPECT_THAT(found, IsEmpty()) << to;
    }
}

TEST_F(LockExclusionTest, WhoeverTakesALockMarksTheJobWithIt) {
    state_by(kHolder, "", "CANCELLED");
    found.clear();
    state(kHolder, "PENDING");
    found.clear();
    for (const char* mark : {"token 0 0 beside", "another 0 0 beside"})
        by_command(kHolder, {"EVALSHA"}, [&] {
            take(kHolder);
            set_field("J", "ls_in_hand", mark, kHolder);
        });
    EXPECT_THAT(found, ElementsAre(HasSubstr("its lock is taken, and it is marked as in flight with 'another'")));
}

TEST_F(LockExclusionTest, ARunIsMarkedAsLongAsThereIsOne) {
    const auto take_run = [this] {
        by_command(kHolder, {"EVALSHA"},
                   [this] { lock(EventKind::lock_acquired, kHolder, kHolder, "cordum:wf:run:lock:r"); });
    };
    set_text("wf:run:r", R"({"status": "running"})", kHolder);
    take_run();
    EXPECT_THAT(found, ElementsAre(HasSubstr("the lock of run r is taken, and it is marked as in flight with ''")));
    keys.remove(*keys.find("wf:run:r"));
    take_run();
    EXPECT_THAT(found, SizeIs(1));
}

}  // namespace
}  // namespace lockstep::sim
