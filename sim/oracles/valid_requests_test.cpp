#include "sim/oracles/valid_requests.h"

#include <gmock/gmock.h>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kReplica;

cap::JobRequest request_of(const std::string& job) {
    cap::JobRequest request;
    request.set_job_id(job);
    request.set_topic("job.t");
    return request;
}

class ValidRequestsTest : public ::testing::Test {
protected:
    void tell_of_message(fakes::EventKind kind, fakes::When when, const cap::JobRequest* request,
                         std::uint64_t sequence, const std::string& job) {
        cap::BusPacket packet;
        if (request != nullptr) *packet.mutable_job_request() = *request;
        fakes::Event event = testing::event_of(kind, "", when);
        event.node = kReplica;
        event.subject = "sys.job.submit";
        event.name = "dur_cordum-scheduler__sys_job_submit";
        event.sequence = sequence;
        if (request != nullptr) event.packet = &packet;
        event.job = job;
        tell(event);
    }
    void deliver(const cap::JobRequest& request, std::uint64_t sequence = 1) {
        jobs[sequence] = request.job_id();
        tell_of_message(fakes::EventKind::deliver, fakes::When::applied, &request, sequence, request.job_id());
    }
    void acknowledge(std::uint64_t sequence = 1) { acknowledge(sequence, jobs[sequence]); }
    void acknowledge(std::uint64_t sequence, const std::string& job) {
        tell_of_message(fakes::EventKind::ack, fakes::When::before, nullptr, sequence, job);
    }
    void look_at(const std::string& job) {
        fakes::Event event = testing::event_of(fakes::EventKind::redis, job);
        event.node = kReplica;
        tell(event);
    }
    void store(const cap::JobRequest& request, fakes::NodeId by = kReplica) {
        oracle.string_set(by, "job:req:" + request.job_id(), nullptr, engine::wire::to_json(request), -1, -1);
    }
    void send(const std::string& job) {
        fakes::Event event = testing::event_of(fakes::EventKind::publish, job, fakes::When::before);
        event.node = kReplica;
        event.subject = "worker.w.jobs";
        tell(event);
    }
    void send(const cap::JobRequest& request) {
        cap::BusPacket packet;
        *packet.mutable_job_request() = request;
        fakes::Event event = testing::event_of(fakes::EventKind::publish, request.job_id(), fakes::When::before);
        event.node = kReplica;
        event.subject = "worker.w.jobs";
        event.packet = &packet;
        tell(event);
    }
    void tell(const fakes::Event& event) {
        ++judge.number;
        judge.tell(oracle, event, Time{});
    }

    std::map<std::uint64_t, std::string> jobs;  // of what was delivered last under each number
    testing::KeepingJudge judge;
    engine::Tunables tunables;
    ValidRequests oracle{judge, tunables};
};

TEST_F(ValidRequestsTest, AValidOneIsLookedAtAndRuns) {
    cap::JobRequest request = request_of("a");
    request.set_priority(cap::JOB_PRIORITY_CRITICAL);
    request.mutable_budget()->set_max_total_tokens(10'000'000'000);
    (*request.mutable_env())["tenant_id"] = " default ";
    deliver(request);
    look_at("a");
    store(request);
    send("a");
    acknowledge();
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_GT(oracle.exercised(), 0u);
}

TEST_F(ValidRequestsTest, WhatIsSentIsWhatIsStored) {
    store(request_of("a"));
    cap::JobRequest marked = request_of("a");
    (*marked.mutable_labels())["safety_bypassed"] = "true";
    (*marked.mutable_labels())["Approval_granted"] = "true";
    (*marked.mutable_env())["CORDUM_MAX_RETRIES"] = "2";
    marked.mutable_budget()->set_deadline_ms(1000);
    send(marked);
    EXPECT_THAT(judge.found, IsEmpty());
    cap::JobRequest other = request_of("a");
    (*other.mutable_env())["COLOUR"] = "red";
    send(other);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("a: what its worker is sent has never been stored")));
}

TEST_F(ValidRequestsTest, OneThatPointsToDataOfAnotherTenantIsInvalidAndNotSent) {
    const auto pointing = [this](const std::string& job, const std::string& tenant, const std::string& pointer) {
        cap::JobRequest request = request_of(job);
        request.set_tenant_id(tenant);
        request.set_context_ptr(pointer);
        ++judge.number;
        store(request, Topology::kGateway);
        return request;
    };
    pointing("theirs", "t", "redis://ctx:theirs");
    for (const char* allowed : {"ctx:theirs", "s3://bucket", "art:1", "res:nobody"})
        send(pointing(std::string("of-t-") + allowed, "t", allowed).job_id());
    send(pointing("other", "u", "redis://ctx:other").job_id());
    pointing("late", "v", "ctx:later");
    pointing("later", "w", "ctx:later");
    send("late");
    oracle.string_set(kReplica, "dlq:entry:late", nullptr, R"({"reason_code":"invalid_request"})", -1, -1);
    EXPECT_THAT(judge.found, IsEmpty()) << "it may be looked at before the other one is recorded, and after";
    for (const char* refused : {"ctx:theirs", "res:theirs:redacted:1", "job:req:theirs"}) {
        const std::string job = std::string("of-u-") + refused;
        pointing(job, "u", refused);
        send(job);
        EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its input would be"))) << refused;
        judge.found.clear();
        oracle.string_set(kReplica, "dlq:entry:" + job, nullptr, R"({"reason_code":"invalid_request"})", -1, -1);
        EXPECT_THAT(judge.found, IsEmpty()) << refused;
    }
    judge.key_removed(oracle, kReplica, "job:meta:theirs", fakes::redis::Removal::evicted, {}, -1);
    pointing("after-a-loss", "u", "ctx:theirs");
    send("after-a-loss");
    EXPECT_THAT(judge.found, IsEmpty()) << "no record says whose it is";
}

TEST_F(ValidRequestsTest, WhatOthersHaveStoredInItsPlaceMayBeSent) {
    store(request_of("a"));
    cap::JobRequest other = request_of("a");
    (*other.mutable_env())["COLOUR"] = "red";
    store(other, Topology::kGateway);
    send(other);
    send(request_of("a"));
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ValidRequestsTest, AValidOneIsNotDropped) {
    look_at("a");
    deliver(request_of("a"));
    acknowledge();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("a: its submission is valid, and is taken off")));
}

TEST_F(ValidRequestsTest, ANumberThatAServerGivesOnceMoreIsOfAnotherMessage) {
    deliver(request_of("a"), 4);
    look_at("a");
    deliver(request_of("b"), 4);
    acknowledge(4, "a");
    EXPECT_THAT(judge.found, IsEmpty());
    acknowledge(4, "b");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("b: its submission is valid, and is taken off")));
}

TEST_F(ValidRequestsTest, OneThatComesAgainHasBeenLookedAt) {
    deliver(request_of("a"));
    look_at("a");
    deliver(request_of("a"));
    acknowledge();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ValidRequestsTest, WhatIsToBeDroppedIsNeitherKeptNorSent) {
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
        judge.found.clear();
        deliver(request, ++sequence);
        acknowledge(sequence);
        EXPECT_THAT(judge.found, IsEmpty()) << request.ShortDebugString();
        store(request);
        EXPECT_THAT(judge.found, ElementsAre(HasSubstr("a scheduler stores its request")))
            << request.ShortDebugString();
        send(request.job_id());
        EXPECT_THAT(judge.found.back(), HasSubstr("published on worker.w.jobs"));
    }
}

TEST_F(ValidRequestsTest, WhatOthersHaveStoredRuns) {
    cap::JobRequest request = request_of("a");
    request.set_step_index(-1);
    store(request, Topology::kGateway);
    deliver(request);
    acknowledge();
    send("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ValidRequestsTest, ARejectedOneTakesNothingFromAValidOne) {
    cap::JobRequest bad = request_of("a");
    bad.set_step_index(-1);
    deliver(bad, 1);
    deliver(request_of("a"), 2);
    look_at("a");
    send("a");
    acknowledge(1);
    acknowledge(2);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ValidRequestsTest, OnlyOneThatTheRulesRejectIsCalledInvalid) {
    cap::JobRequest request = request_of("a");
    request.mutable_meta()->set_tenant_id("initech");
    store(request, Topology::kGateway);
    oracle.string_set(kReplica, "dlq:entry:a", nullptr, R"({"reason_code":"invalid_request"})", -1, -1);
    cap::JobRequest flawed = request_of("c");
    flawed.set_step_index(-1);
    store(flawed, Topology::kGateway);
    oracle.string_set(kReplica, "dlq:entry:c", nullptr, R"({"reason_code":"invalid_request"})", -1, -1);
    EXPECT_THAT(judge.found, IsEmpty());
    store(request_of("b"), Topology::kGateway);
    oracle.string_set(kReplica, "dlq:entry:b", nullptr, R"({"reason_code":"invalid_request"})", -1, -1);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("b: its dead letter calls it invalid")));
}

}  // namespace
}  // namespace lockstep::sim
