#include <map>

#include "engine/wire/json.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

cap::JobRequest request_of(const std::string& job) {
    cap::JobRequest request;
    request.set_job_id(job);
    request.set_topic("job.t");
    return request;
}

struct ValidRequests : RuleTest {
    ValidRequests() : RuleTest(rules::valid_requests) {}

    void message(EventKind kind, When when, const cap::JobRequest* request, std::uint64_t sequence,
                 const std::string& job) {
        cap::BusPacket packet;
        if (request != nullptr) *packet.mutable_job_request() = *request;
        observe(kind, job,
                {.subject = engine::wire::kSubjectSubmit,
                 .name = kSchedulersSubmissions,
                 .sequence = sequence,
                 .packet = request != nullptr ? &packet : nullptr},
                when);
    }
    void deliver(const cap::JobRequest& request, std::uint64_t sequence = 1) {
        jobs[sequence] = request.job_id();
        message(EventKind::deliver, When::applied, &request, sequence, request.job_id());
    }
    void acknowledge(std::uint64_t sequence = 1) { acknowledge(sequence, jobs[sequence]); }
    void acknowledge(std::uint64_t sequence, const std::string& job) {
        message(EventKind::ack, When::before, nullptr, sequence, job);
    }
    void look_at(const std::string& job) { tell(event_of(EventKind::redis, job)); }
    void store(const cap::JobRequest& request, fakes::NodeId by = kReplica) {
        set_text("job:req:" + request.job_id(), engine::wire::to_json(request), by);
    }
    std::string point(const std::string& job, const std::string& tenant, const std::string& pointer) {
        cap::JobRequest request = request_of(job);
        request.set_tenant_id(tenant);
        request.set_context_ptr(pointer);
        befall(EventKind::timer, {});
        store(request, Topology::kGateway);
        return job;
    }
    void call_invalid(const std::string& job) {
        set_text("dlq:entry:" + job,
                 R"({"job_id":")" + job + R"(","reason_code":"invalid_request","created_at":"1970-01-01T00:01:00Z"})");
    }
    void send(const std::string& job, const cap::BusPacket* packet = nullptr,
              std::string_view subject = "worker.w.jobs") {
        observe(EventKind::publish, job, {.subject = subject, .packet = packet}, When::before);
    }
    void send(const cap::JobRequest& request, std::string_view subject = "worker.w.jobs") {
        cap::BusPacket packet;
        *packet.mutable_job_request() = request;
        send(request.job_id(), &packet, subject);
    }

    std::map<std::uint64_t, std::string> jobs;  // of what was delivered last under each number
};

TEST_F(ValidRequests, AValidOneIsLookedAtAndRuns) {
    cap::JobRequest request = request_of("a");
    request.set_priority(cap::JOB_PRIORITY_CRITICAL);
    request.mutable_budget()->set_max_total_tokens(10'000'000'000);
    (*request.mutable_env())["tenant_id"] = " default ";
    deliver(request);
    look_at("a");
    store(request);
    send("a");
    acknowledge();
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(ValidRequests, WhatIsSentIsWhatIsStored) {
    store(request_of("a"));
    cap::JobRequest marked = request_of("a");
    (*marked.mutable_labels())["safety_bypassed"] = "true";
    (*marked.mutable_labels())["Approval_granted"] = "true";
    (*marked.mutable_env())["CORDUM_MAX_RETRIES"] = "2";
    marked.mutable_budget()->set_deadline_ms(1000);
    send(marked);
    EXPECT_THAT(found, IsEmpty());
    cap::JobRequest other = request_of("a");
    (*other.mutable_env())["COLOUR"] = "red";
    send(other);
    EXPECT_THAT(found, ElementsAre(HasSubstr("a: what is sent to be run has never been stored")));
    send(other, "job.t");
    EXPECT_THAT(found, SizeIs(2)) << "nor has what is sent on its topic";
    cap::JobRequest undone = request_of("a");
    undone.mutable_compensation()->set_topic("job.undo");
    send(undone);
    EXPECT_THAT(found, SizeIs(3)) << "nor has its compensation";
}

TEST_F(ValidRequests, WhileTheStoredOneCannotBeReadWhatIsDeliveredIsSent) {
    cap::JobRequest other = request_of("a");
    (*other.mutable_env())["COLOUR"] = "red";
    store(request_of("a"));
    set_text("job:req:a", R"({"jobId":)", fakes::NodeId{});
    send(other);
    EXPECT_THAT(found, IsEmpty());
    store(request_of("a"));
    send(other);
    EXPECT_THAT(found, ElementsAre(HasSubstr("a: what is sent to be run has never been stored")));
}

TEST_F(ValidRequests, OneMayPointToDataOfItsTenantOrOfNone) {
    point("theirs", "t", "redis://ctx:theirs");
    for (const char* allowed : {"ctx:theirs", "s3://bucket", "art:1", "res:nobody"})
        send(point(std::string("of-t-") + allowed, "t", allowed));
    send(point("other", "u", "redis://ctx:other"));
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ValidRequests, OneThatPointsToDataOfAnotherTenantIsInvalidAndNotSent) {
    point("theirs", "t", "redis://ctx:theirs");
    for (const char* refused : {"ctx:theirs", "res:theirs:redacted:1", "job:req:theirs"}) {
        const std::string job = point(std::string("of-u-") + refused, "u", refused);
        send(job);
        EXPECT_THAT(found, ElementsAre(HasSubstr("its input would be"))) << refused;
        found.clear();
        call_invalid(job);
        EXPECT_THAT(found, IsEmpty()) << refused;
    }
}

TEST_F(ValidRequests, OneMayBeCheckedBeforeTheOtherJobIsRecordedAndAfter) {
    point("late", "v", "ctx:later");
    point("later", "w", "ctx:later");
    send("late");
    call_invalid("late");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ValidRequests, OneThatIsHalfRecordedMayBeAnotherTenants) {
    call_invalid(point("before", "v", "ctx:half"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("before: its dead letter calls it invalid")));
    set_field("half", "state", "PENDING");
    call_invalid(point("after", "v", "ctx:half"));
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(ValidRequests, WithoutARecordTheDataIsNoOthers) {
    point("theirs", "t", "redis://ctx:theirs");
    set_field("theirs", "topic", "job.t");
    evict("job:meta:theirs");
    send(point("after-an-eviction", "u", "ctx:theirs"));
    EXPECT_THAT(found, IsEmpty());
    call_invalid(point("of-their-tenant", "t", "ctx:theirs"));
    EXPECT_THAT(found, IsEmpty()) << "what is left of the record may name no tenant";
}

TEST_F(ValidRequests, WhatOthersHaveStoredInItsPlaceMayBeSent) {
    store(request_of("a"));
    cap::JobRequest other = request_of("a");
    (*other.mutable_env())["COLOUR"] = "red";
    store(other, Topology::kGateway);
    send(other);
    send(request_of("a"));
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 2U);
}

TEST_F(ValidRequests, AValidOneIsNotDropped) {
    look_at("a");
    deliver(request_of("a"));
    acknowledge();
    EXPECT_THAT(found, ElementsAre(HasSubstr("a: its submission is valid, and is taken off")));
}

TEST_F(ValidRequests, ANumberThatAServerGivesOnceMoreIsOfAnotherMessage) {
    deliver(request_of("a"), 4);
    look_at("a");
    deliver(request_of("b"), 4);
    acknowledge(4, "a");
    EXPECT_THAT(found, IsEmpty());
    acknowledge(4, "b");
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: its submission is valid, and is taken off")));
}

TEST_F(ValidRequests, OneThatComesAgainHasBeenLookedAt) {
    deliver(request_of("a"));
    look_at("a");
    deliver(request_of("a"));
    acknowledge();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ValidRequests, WhatIsToBeDroppedIsNeitherKeptNorSent) {
    std::vector<cap::JobRequest> rejected;
    for (int i = 0; i < 8; ++i) rejected.push_back(request_of("a" + std::to_string(i)));
    rejected[0].clear_topic();
    rejected[1].set_priority(static_cast<cap::JobPriority>(4));
    rejected[2].set_step_index(-1);
    rejected[3].mutable_budget()->set_max_input_tokens(10'000'000'001);
    rejected[4].mutable_budget()->set_deadline_ms(-1);
    for (int i = 0; i <= 1000; ++i) rejected[5].mutable_meta()->add_risk_tags("r");
    rejected[6].set_tenant_id("acme");
    (*rejected[6].mutable_env())["tenant_id"] = "initech";
    rejected[7].mutable_meta()->set_tenant_id("initech");
    std::uint64_t sequence = 0;
    for (const cap::JobRequest& request : rejected) {
        found.clear();
        deliver(request, ++sequence);
        acknowledge(sequence);
        EXPECT_THAT(found, IsEmpty()) << request.ShortDebugString();
        store(request);
        EXPECT_THAT(found, ElementsAre(HasSubstr("a scheduler stores its request"))) << request.ShortDebugString();
        send(request.job_id());
        EXPECT_THAT(found.back(), HasSubstr("published on worker.w.jobs"));
    }
    EXPECT_EQ(times_exercised(), rejected.size());
}

TEST_F(ValidRequests, WhatOthersHaveStoredRuns) {
    cap::JobRequest request = request_of("a");
    request.set_step_index(-1);
    store(request, Topology::kGateway);
    deliver(request);
    acknowledge();
    send("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ValidRequests, ARejectedOneTakesNothingFromAValidOne) {
    cap::JobRequest bad = request_of("a");
    bad.set_step_index(-1);
    deliver(bad, 1);
    deliver(request_of("a"), 2);
    look_at("a");
    send("a");
    acknowledge(1);
    acknowledge(2);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ValidRequests, OnlyOneThatTheRulesRejectIsCalledInvalid) {
    cap::JobRequest request = request_of("a");
    request.mutable_meta()->set_tenant_id("initech");
    store(request, Topology::kGateway);
    call_invalid("a");
    cap::JobRequest flawed = request_of("c");
    flawed.set_step_index(-1);
    store(flawed, Topology::kGateway);
    call_invalid("c");
    EXPECT_THAT(found, IsEmpty());
    store(request_of("b"), Topology::kGateway);
    call_invalid("b");
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: its dead letter calls it invalid")));
}

}  // namespace
}  // namespace lockstep::sim
