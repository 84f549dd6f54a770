#include "sim/oracles/policy_marks_own.h"

#include <gmock/gmock.h>

#include "engine/wire/json.h"
#include "engine/wire/packet.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PolicyMarksOwnTest : public ::testing::Test {
protected:
    static cap::JobRequest request(const char* label, const char* value) {
        cap::JobRequest made;
        made.set_job_id("a");
        (*made.mutable_labels())[label] = value;
        return made;
    }
    static cap::JobRequest with_variable(const char* name, const char* value) {
        cap::JobRequest made;
        made.set_job_id("a");
        (*made.mutable_env())[name] = value;
        return made;
    }
    void store(const cap::JobRequest& stored) {
        oracle.string_set(Topology::kGateway, "job:req:a", nullptr, engine::wire::to_json(stored), -1, -1);
    }
    void send(const cap::JobRequest& sent, const char* subject = "worker.w.jobs") {
        cap::BusPacket packet;
        *packet.mutable_job_request() = sent;
        fakes::Event event = testing::event_of(fakes::EventKind::publish, "a", fakes::When::before);
        event.subject = subject;
        event.packet = &packet;
        judge.tell(oracle, event, {});
    }
    void answer(int max_retries) {
        cap::PolicyCheckResponse response;
        response.mutable_constraints()->mutable_budgets()->set_max_retries(max_retries);
        const std::string bytes = response.SerializeAsString();
        fakes::Event event = testing::event_of(fakes::EventKind::kernel_check, "a");
        event.payload = bytes;
        judge.tell(oracle, event, {});
    }

    engine::Tunables tunables;
    testing::KeepingJudge judge;
    PolicyMarksOwn oracle{judge, tunables};
};

TEST_F(PolicyMarksOwnTest, WhatWasTakenOffIsNowhere) {
    store(request("safety_bypassed", "true"));
    send(request("team", "x"));
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_GT(oracle.exercised(), 0u);
}

TEST_F(PolicyMarksOwnTest, ASubmittersLabelReachesNoWorkerHoweverItIsSent) {
    send(request("safety_bypassed", "true"), "sys.job.submit");
    send(request("safety_bypassed", "true"));
    send(request("safety_bypassed", "true"), "job.default");
    EXPECT_EQ(judge.found.size(), 2u);
}

TEST_F(PolicyMarksOwnTest, ASubmittersVariableReachesNoWorker) {
    store(with_variable("CORDUM_MAX_RETRIES", "99"));
    send(with_variable("CORDUM_MAX_RETRIES", "99"));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("CORDUM_MAX_RETRIES=\"99\"")));
}

TEST_F(PolicyMarksOwnTest, WhatPolicyItselfSaysIsPolicys) {
    store(with_variable("CORDUM_MAX_RETRIES", "99"));
    answer(3);
    send(with_variable("CORDUM_MAX_RETRIES", "3"));
    EXPECT_THAT(judge.found, IsEmpty());
    answer(99);
    send(with_variable("CORDUM_MAX_RETRIES", "99"));
    EXPECT_THAT(judge.found, IsEmpty()) << "by chance the same";
}

TEST_F(PolicyMarksOwnTest, ALabelOfTheFailModeIsTheSchedulersWhereTheModeIsOpen) {
    oracle.string_set(Topology::kOperator, "cfg:system:default", nullptr,
                      R"({"data":{"scheduler":{"input_fail_mode":"open"}}})", -1, -1);
    auto forged = request("safety_bypassed", "true");
    (*forged.mutable_labels())["safety_bypass_reason"] = "trust me";
    store(forged);
    auto sent = request("safety_bypassed", "true");
    (*sent.mutable_labels())["safety_bypass_reason"] = "safety kernel circuit open";
    send(sent);
    EXPECT_THAT(judge.found, IsEmpty());
    send(forged);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("trust me")));
}

TEST_F(PolicyMarksOwnTest, PolicyIsNotToldBySubmitters) {
    store(with_variable("CORDUM_EFFECTIVE_CONFIG", "{}"));
    cap::PolicyCheckRequest question;
    question.set_effective_config("{}");
    const std::string bytes = question.SerializeAsString();
    fakes::Event event = testing::event_of(fakes::EventKind::kernel_check, "a", fakes::When::before);
    event.payload = bytes;
    judge.tell(oracle, event, {});
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the question to policy")));
}

TEST_F(PolicyMarksOwnTest, ARecordedCompensationCarriesNone) {
    oracle.list_inserted({}, "lockstep:saga:1:t:run", 0, engine::wire::serialise(request("team", "x")));
    EXPECT_THAT(judge.found, IsEmpty());
    oracle.list_inserted({}, "saga:wf:stack", 0, engine::wire::serialise(request("safety_bypassed", "true")));
    EXPECT_EQ(judge.found.size(), 1u);
}

}  // namespace
}  // namespace lockstep::sim
