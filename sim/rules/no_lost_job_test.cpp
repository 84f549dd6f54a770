// Which acknowledged submissions may be gone where data was lost.
#include "engine/wire/packet.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;
using ::testing::StartsWith;

struct NoLostJobTest : RuleTest {
    NoLostJobTest() : RuleTest(rules::no_lost_job) {}

    void submit(const std::string& job, const std::string& arrives_as = "") {
        cap::JobRequest request;
        request.set_job_id(job);
        request.set_topic("job.default");
        const cap::BusPacket packet = engine::wire::make_packet(std::move(request), "trace", "gateway", {});
        observe(EventKind::stored, arrives_as.empty() ? job : arrives_as,
                {.subject = engine::wire::kSubjectSubmit, .message_id = "jobreq:" + job, .packet = &packet});
        observe(EventKind::submit, job, {.flag = true}, When::answered);
    }
    std::vector<std::string> verdicts() {
        found.clear();
        rest();
        return found;
    }
};

TEST_F(NoLostJobTest, AtTheEndAJobIsOverOrWaitsForAnApproval) {
    submit("a");
    EXPECT_THAT(verdicts(), ElementsAre(HasSubstr("it is not known to Redis")));
    for (const std::string state : {"PENDING", "SCHEDULED", "DISPATCHED", "RUNNING"}) {
        set_field("a", "state", state);
        EXPECT_THAT(verdicts(), ElementsAre(HasSubstr("at the end it is " + state)));
    }
    for (const std::string state : {"APPROVAL_REQUIRED", "SUCCEEDED", "TIMEOUT"}) {
        set_field("a", "state", state);
        EXPECT_THAT(verdicts(), IsEmpty()) << state;
    }
}

TEST_F(NoLostJobTest, ALeaderThatGoesBeforeAnyTickHasNotedItMayTakeAlongWhatItHad) {
    submit("a");
    fault("nats.new_leader");
    EXPECT_THAT(verdicts(), IsEmpty());
    submit("b");
    keys.hash_set(keys.create<Hash>("lockstep:durable:dur_cordum-scheduler__sys_job_submit"), "leader", "n1");
    fault("nats.new_leader");
    EXPECT_THAT(verdicts(), ElementsAre(StartsWith("b: ")));
    EXPECT_EQ(times_exercised(), 2U);
}

TEST_F(NoLostJobTest, ExcusesOnlyTheJobThatWasForgotten) {
    for (const char* job : {"a", "b"}) {
        submit(job);
        set_field(job, "state", "PENDING");
    }
    EXPECT_EQ(verdicts().size(), 2U);
    keys.restore([this] { keys.remove(*keys.find("job:meta:a")); });
    EXPECT_THAT(verdicts(), ElementsAre(StartsWith("b: ")));
}

TEST_F(NoLostJobTest, APowerCutExcusesWhatOnlyTheStreamKnew) {
    submit("known");
    set_field("known", "state", "PENDING");
    submit("stored");
    fault("nats.power_cut");
    submit("later");
    EXPECT_THAT(verdicts(), ElementsAre(StartsWith("known: "), StartsWith("later: ")));
}

TEST_F(NoLostJobTest, WhatWasGarbledOrHasEndedLongAgoMayBeGone) {
    submit("garbled", "other");
    submit("ended");
    set_field("ended", "state", "SUCCEEDED");
    keys.remove(*keys.find("job:meta:ended"), Removal::expired);
    EXPECT_THAT(verdicts(), IsEmpty());
}

TEST_F(NoLostJobTest, ARecordMayRunOutBeforeAStoredResultComes) {
    for (const char* job : {"a", "b"}) {
        submit(job);
        set_field(job, "state", "RUNNING");
    }
    store_result("a", {});
    for (const char* hash : {"job:meta:a", "job:meta:b"}) keys.remove(*keys.find(hash), Removal::expired);
    EXPECT_THAT(verdicts(), ElementsAre(StartsWith("b: ")));
}

}  // namespace
}  // namespace lockstep::sim
