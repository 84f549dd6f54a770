#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct MetricsTrueTest : RuleTest {
    MetricsTrueTest() : RuleTest(rules::metrics_true) {
        define({
            {"count", [this](auto& series) { tell_metric(series, 1); }},
            {"gauge", [this](auto& say) { tell_metric(first(say), std::stod(second(say))); }},
            {"topic", [this](auto& topic) { set_field("J", "topic", topic, by); }},
            {"state", [this](auto& to) { move_to(to); }},
            {"lock", [this](auto&) { grant_lock("cordum:scheduler:job:J", by, "J"); }},
            {"unlock",
             [this](auto&) {
                 observe(EventKind::lock_released, "J", {.key = "cordum:scheduler:job:J"}, When::applied, by);
             }},
            {"ask", [this](auto&) { ask_policy("J", by); }},
            {"denied", [this](auto&) { answer_policy(cap::DECISION_TYPE_DENY); }},
            {"allowed", [this](auto&) { answer_policy(cap::DECISION_TYPE_ALLOW); }},
            {"rest", [this](auto&) { rest(); }},
        });
    }

    /// `name,label,label`
    void tell_metric(const std::string& series, double value) {
        const std::vector<std::string> parts = parts_of(series, ',');
        const std::vector<std::string_view> labels(parts.begin() + 1, parts.end());
        model().on_metric(by, "cordum_scheduler_" + parts.front(), value, labels);
    }
    void move_to(const std::string& state) {
        by_command(by, {"EVALSHA"}, [&] { set_field("J", "state", state, by); });
    }
    void answer_policy(cap::DecisionType decision) {
        cap::PolicyCheckResponse response;
        response.set_decision(decision);
        observe(
            EventKind::kernel_check, "J",
            {.to = decision == cap::DECISION_TYPE_ALLOW ? "ALLOW" : "DENY", .payload = response.SerializeAsString()},
            When::answered, by);
    }
};

constexpr Story kMetrics[] = {
    {"AnEndIsCountedByItsTopicAndStatus",
     "topic=job.t state=RUNNING state=SUCCEEDED count=jobs_completed_total,job.t,JOB_STATUS_SUCCEEDED +1min rest"},
    {"AnEndThatIsNotCounted", "topic=job.t state=RUNNING state=TIMEOUT +1min rest",
     "jobs_completed_total{job.t,JOB_STATUS_TIMEOUT} says 0, and it has happened 1 times"},
    {"AnEndThatIsCountedTwice",
     "topic=job.t state=RUNNING state=SUCCEEDED count=jobs_completed_total,job.t,JOB_STATUS_SUCCEEDED ok "
     "count=jobs_completed_total,job.t,JOB_STATUS_SUCCEEDED",
     "JOB_STATUS_SUCCEEDED} says 2, and it has happened 1 times"},
    {"AnEndOfAnotherTopic",
     "topic=job.t state=RUNNING state=SUCCEEDED count=jobs_completed_total,job.u,JOB_STATUS_SUCCEEDED",
     "{job.u,JOB_STATUS_SUCCEEDED} says 1, and it has happened 0 times"},
    {"AnEndOfAnotherStatus",
     "topic=job.t state=RUNNING state=FAILED count=jobs_completed_total,job.t,JOB_STATUS_SUCCEEDED",
     "JOB_STATUS_SUCCEEDED} says 1, and it has happened 0 times"},
    {"AnEndThatAnotherReplicaHasRecorded",
     "topic=job.t state=RUNNING state=SUCCEEDED count=jobs_completed_total,job.t,JOB_STATUS_SUCCEEDED@other",
     "JOB_STATUS_SUCCEEDED} says 1, and it has happened 0 times"},
    {"AReplicaThatIsDisturbedOrDiesMayNotHaveHeard",
     "topic=job.t state=RUNNING state=SUCCEEDED fault=redis.latency +1min heal=redis.latency +1h state=RUNNING "
     "state=SUCCEEDED down +1h rest"},
    {"AUsersEndsAreNotCounted", "topic=job.t state=RUNNING state=FAILED@operator +1min rest"},
    {"ACounterBeginsAnewWithItsProcess",
     "topic=job.t lock count=jobs_received_total,job.t ok down up count=jobs_received_total,job.t",
     "jobs_received_total{job.t} says 1, and it has happened 0 times"},
    {"ARequestIsCountedOnceUnderALock",
     "topic=job.t lock count=jobs_received_total,job.t count=jobs_first_received_total,job.t ask ask unlock lock "
     "count=jobs_received_total,job.t ask ok "
     "count=jobs_received_total,job.t",
     "jobs_received_total{job.t} says 3, and it has happened 2 times"},
    {"ARequestIsCountedBeforePolicyIsAsked", "topic=job.t lock count=jobs_first_received_total,job.t ask",
     "jobs_received_total{job.t} says 0, and it has happened 1 times"},
    {"AndTheFirstTimeByItself", "topic=job.t lock count=jobs_received_total,job.t ask",
     "jobs_first_received_total{job.t} says 0, and it has happened 1 times"},
    {"ADenialIsWhatPolicyHasSaid",
     "topic=job.t ask denied count=safety_denied_total,job.t forget ask allowed count=safety_denied_total,job.t",
     "safety_denied_total{job.t} says 2, and it has happened 1 times"},
    {"WhileNothingIsDisturbedNothingFails", "count=job_cancel_failures_total",
     "job_cancel_failures_total grows, and nothing has failed"},
    {"WhatIsDisturbedMayFail", "fault=redis.latency +1min count=job_cancel_failures_total"},
    {"NothingIsInHandInTheEnd", "gauge=saga_active:1 gauge=saga_active:0 rest ok gauge=saga_active:2 rest",
     "all is quiet, and cordum_scheduler_saga_active says 2"},
    {"AGaugeOfWorkIsNotNegative", "gauge=scheduler_active_goroutines:-1 gauge=scheduler_active_goroutines:0 rest",
     "active_goroutines says -1"},
};
using MetricsTold = Told<MetricsTrueTest>;
TEST_P(MetricsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, MetricsTold, ::testing::ValuesIn(kMetrics), title_of);

}  // namespace
}  // namespace lockstep::sim
