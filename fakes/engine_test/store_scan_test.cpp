// The mark of an output that is still to be scanned, and dead letters that were left out.
#include <nlohmann/json.hpp>

#include "fakes/engine_test/store_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using enum JobState;
using Json = nlohmann::json;

class StoreScan : public StoreTest {
protected:
    /// A job that has succeeded and whose output is still to be scanned.
    void succeed_with_mark(const std::string& job, Duration hold = 45s) {
        const auto lease = taken_up(job);
        walk(*lease, {scheduled, dispatched, running});
        Commit success;
        success.walk = {succeeded};
        success.release_lock = true;
        success.result_ptr = "redis://res:" + job;
        success.begin_scan = engine::ScanMark{R"({"jobId":")" + job + "\"}", hold};
        ASSERT_EQ(commit(*lease, success).kind, Committed::Kind::ok);
    }
    [[nodiscard]] Lease locked(const std::string& job, const std::string& token = "scanner") {
        auto lease = lease_for(job, token);
        EXPECT_TRUE(loop.wait(store->take_lock(*lease)).value());
        return lease;
    }
    [[nodiscard]] static Commit end_of_scan(const std::string& decision) {
        Commit end;
        end.end_scan = true;
        end.output_record = R"({"checked_at":0,"decision":")" + decision + "\"}";
        return end;
    }
    [[nodiscard]] bool marked(const std::string& job) {
        return !run({"ZSCORE", "lockstep:output:scan_pending", job}).is_nil() && !field(job, "ls_scan_pending").empty();
    }
    [[nodiscard]] std::vector<engine::PendingScan> claim(Duration hold = 45s) {
        return loop.wait(store->claim_scans(hold, 10)).value();
    }
    /// Lets the hold of a mark pass.
    void pass_hold(const std::string& job) { run({"ZADD", "lockstep:output:scan_pending", "1", job}); }
};

// H-41
TEST_F(StoreScan, TheMarkComesWithTheSuccessAndGoesWithTheVerdict) {
    succeed_with_mark("j1");
    EXPECT_TRUE(marked("j1"));
    const auto lease = locked("j1");
    const auto before = server_micros();
    EXPECT_EQ(commit(*lease, end_of_scan("ALLOW")).kind, Committed::Kind::ok);
    EXPECT_FALSE(marked("j1"));
    const Json record = Json::parse(text({"GET", "job:j1:output_decision"}));
    EXPECT_EQ(record.at("decision"), "ALLOW");
    EXPECT_GE(record.at("checked_at").get<std::int64_t>(), before);
    EXPECT_EQ(text({"GET", "job:j1:output_decision"}), field("j1", "output_safety"));
    EXPECT_GT(ttl("job:j1:output_decision"), 100h);
}

TEST_F(StoreScan, OfTwoScansTheFirstVerdictCounts) {
    succeed_with_mark("j1");
    const auto lease = locked("j1");
    commit(*lease, end_of_scan("ALLOW"));
    const auto before = content();
    EXPECT_EQ(commit(*lease, end_of_scan("ALLOW")).kind, Committed::Kind::refused);
    EXPECT_EQ(content(), before);
}

// Another replica could not reach policy and let the output pass; this one has policy's word.
TEST_F(StoreScan, AWordAgainstTheOutputCountsWheneverItComes) {
    for (const char* job : {"withheld", "redacted", "redacted-before"}) {
        succeed_with_mark(job);
        commit(*locked(job, "first"), [] {
            Commit passed;
            passed.end_scan = true;
            passed.release_lock = true;
            return passed;
        }());
    }
    Commit quarantine = end_of_scan("QUARANTINE");
    quarantine.walk = {output_quarantined};
    EXPECT_EQ(commit(*locked("withheld"), quarantine).kind, Committed::Kind::ok);
    EXPECT_EQ(field("withheld", "state"), "OUTPUT_QUARANTINED");

    Commit redaction = end_of_scan("REDACT");
    redaction.result_ptr = "redis://res:redacted:redacted:1";
    redaction.replaces_ptr = "redis://res:redacted";
    EXPECT_EQ(commit(*locked("redacted"), redaction).kind, Committed::Kind::ok);
    EXPECT_EQ(field("redacted", "result_ptr"), "redis://res:redacted:redacted:1");
    EXPECT_EQ(text({"GET", "job:result_ptr:redacted"}), "redis://res:redacted:redacted:1");

    run({"HSET", "job:meta:redacted-before", "result_ptr", "redis://elsewhere"});
    redaction.replaces_ptr = "redis://res:redacted-before";
    EXPECT_EQ(commit(*locked("redacted-before"), redaction).kind, Committed::Kind::refused);
    EXPECT_EQ(field("redacted-before", "result_ptr"), "redis://elsewhere");
}

TEST_F(StoreScan, AMarkIsClaimedOnceItsHoldHasPassedAndByOneOnly) {
    succeed_with_mark("j1");
    EXPECT_TRUE(claim().empty()) << "held by whoever committed it";
    pass_hold("j1");
    const auto claimed = claim();
    ASSERT_EQ(claimed.size(), 1u);
    EXPECT_EQ(claimed[0].job.text(), "j1");
    EXPECT_EQ(claimed[0].result_json, R"({"jobId":"j1"})");
    EXPECT_NE(claimed[0].request_json.find("job.default"), std::string::npos);
    EXPECT_TRUE(claim().empty()) << "held by the one that has claimed it";
}

TEST_F(StoreScan, AMarkThatBelongsToNoSuccessIsRemoved) {
    succeed_with_mark("withheld");
    succeed_with_mark("gone");
    force_state("withheld", "OUTPUT_QUARANTINED");
    run({"DEL", "job:meta:gone"});
    for (const char* job : {"withheld", "gone"}) pass_hold(job);
    EXPECT_TRUE(claim().empty());
    EXPECT_FALSE(exists("lockstep:output:scan_pending"));
    EXPECT_EQ(field("withheld", "ls_scan_pending"), "");
}

class StoreDeadLetterRepair : public StoreTest {
protected:
    bool repair(const std::string& job, JobState state) {
        return loop
            .wait(letters->repair({job, "job.default", cap::JOB_STATUS_FAILED, "left out", "redelivery_dlq_retry"},
                                  state))
            .value();
    }
};

// C-36, H-39
TEST_F(StoreDeadLetterRepair, WritesWhatIsMissingAndChangesNothingElse) {
    const auto lease = taken_up("j1");
    force_state("j1", "FAILED");
    EXPECT_FALSE(repair("j1", denied)) << "it is in another state";
    EXPECT_TRUE(repair("j1", failed));
    EXPECT_EQ(Json::parse(text({"GET", "dlq:entry:j1"})).at("last_state"), "FAILED");
    EXPECT_FALSE(run({"ZSCORE", "lockstep:dead_letter:outbox", "j1"}).is_nil());
    const auto before = content();
    EXPECT_FALSE(repair("j1", failed));
    EXPECT_EQ(content(), before);
    run({"DEL", "dlq:entry:j1"});
    run({"HSET", "job:meta:j1", "ls_retryable", "1"});
    EXPECT_FALSE(repair("j1", failed)) << "it has none on purpose";
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
