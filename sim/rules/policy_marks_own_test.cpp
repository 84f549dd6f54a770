#include "engine/wire/json.h"
#include "engine/wire/packet.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct PolicyMarksOwnTest : RuleTest {
    PolicyMarksOwnTest() : RuleTest(rules::policy_marks_own) {}

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
    void store(const cap::JobRequest& stored) { keys.set_string("job:req:a", engine::wire::to_json(stored), kNever); }
    void send(const cap::JobRequest& sent, const char* subject = "worker.w.jobs") {
        cap::BusPacket packet;
        *packet.mutable_job_request() = sent;
        observe(EventKind::publish, "a", {.subject = subject, .packet = &packet}, When::before);
    }
    void record(const std::string& key, const cap::JobRequest& compensation) {
        keys.list_insert(keys.create<List>(key), 0, engine::wire::serialise(compensation));
    }
    void answer(int max_retries) {
        cap::PolicyCheckResponse response;
        response.mutable_constraints()->mutable_budgets()->set_max_retries(max_retries);
        RuleTest::answer("a", response);
    }
};

TEST_F(PolicyMarksOwnTest, WhatWasTakenOffIsNowhere) {
    store(request("safety_bypassed", "true"));
    send(request("team", "x"));
    EXPECT_THAT(found, IsEmpty());
    EXPECT_GT(times_exercised(), 0u);
}

TEST_F(PolicyMarksOwnTest, ASubmittersLabelReachesNoWorkerHoweverItIsSent) {
    send(request("safety_bypassed", "true"), "sys.job.submit");
    send(request("safety_bypassed", "true"));
    send(request("safety_bypassed", "true"), "job.default");
    EXPECT_EQ(found.size(), 2u);
}

TEST_F(PolicyMarksOwnTest, ASubmittersVariableReachesNoWorker) {
    store(with_variable("CORDUM_MAX_RETRIES", "99"));
    send(with_variable("CORDUM_MAX_RETRIES", "99"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("CORDUM_MAX_RETRIES=\"99\"")));
}

TEST_F(PolicyMarksOwnTest, WhatPolicyItselfSaysIsPolicys) {
    store(with_variable("CORDUM_MAX_RETRIES", "99"));
    answer(3);
    send(with_variable("CORDUM_MAX_RETRIES", "3"));
    EXPECT_THAT(found, IsEmpty());
    answer(99);
    send(with_variable("CORDUM_MAX_RETRIES", "99"));
    EXPECT_THAT(found, IsEmpty()) << "by chance the same";
}

TEST_F(PolicyMarksOwnTest, ALabelOfTheFailModeIsTheSchedulersWhereTheModeIsOpen) {
    keys.set_string("cfg:system:default", R"({"data":{"scheduler":{"input_fail_mode":"open"}}})", kNever);
    auto forged = request("safety_bypassed", "true");
    (*forged.mutable_labels())["safety_bypass_reason"] = "trust me";
    store(forged);
    auto sent = request("safety_bypassed", "true");
    (*sent.mutable_labels())["safety_bypass_reason"] = "safety kernel circuit open";
    send(sent);
    EXPECT_THAT(found, IsEmpty());
    send(forged);
    EXPECT_THAT(found, ElementsAre(HasSubstr("trust me")));
}

TEST_F(PolicyMarksOwnTest, PolicyIsNotToldBySubmitters) {
    store(with_variable("CORDUM_EFFECTIVE_CONFIG", "{}"));
    cap::PolicyCheckRequest question;
    question.set_effective_config("{}");
    observe(EventKind::kernel_check, "a", {.payload = question.SerializeAsString()}, When::before);
    EXPECT_THAT(found, ElementsAre(HasSubstr("the question to policy")));
}

TEST_F(PolicyMarksOwnTest, ARecordedCompensationCarriesNone) {
    record("lockstep:saga:1:t:run", request("team", "x"));
    EXPECT_THAT(found, IsEmpty());
    record("saga:wf:stack", request("safety_bypassed", "true"));
    EXPECT_EQ(found.size(), 1u);
}

}  // namespace
}  // namespace lockstep::sim
