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
            {"deliver", [this](auto& number) { about_submission(EventKind::deliver, When::applied, number); }},
            {"ack", [this](auto& number) { about_submission(EventKind::ack, When::before, number); }},
            {"nameless",
             [this](auto& how) { tell_nameless(how == "read" ? EventKind::read_back : EventKind::deliver); }},
            {"withhold", [this](auto&) { withhold(); }},
            {"send", [this](auto&) { send(); }},
            {"latency",
             [this](auto& seconds) { tell_metric("scheduler_dispatch_latency_seconds,job.t", std::stod(seconds)); }},
            {"timeout",
             [this](auto& of) { time_out(of == "unheard" ? "RUNNING, and a result has not been heard" : "RUNNING"); }},
            {"worker", [this](auto& worker) { set_field("J", "ls_worker", worker, by); }},
            {"result", [this](auto& worker) { tell_result(EventKind::deliver, When::applied, worker); }},
            {"store", [this](auto& worker) { store_result("J", {.worker = worker}); }},
            {"settle", [this](auto& worker) { tell_result(EventKind::ack, When::before, worker); }},
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
    void about_submission(EventKind kind, When when, const std::string& number) {
        observe(kind, "J", {.name = kSchedulersSubmissions, .sequence = std::stoull(number)}, when, by);
    }
    void tell_nameless(EventKind how) {
        cap::BusPacket packet;
        packet.mutable_job_request()->set_topic("job.t");
        observe(how, "", {.subject = engine::wire::kSubjectSubmit, .name = kSchedulersSubmissions, .packet = &packet},
                When::applied, by);
    }
    void withhold() {
        by_command(by, {"EVALSHA"}, [&] {
            set_field("J", "state", "OUTPUT_QUARANTINED", by);
            keys.set_string("job:J:output_decision", "{}", kNever);
        });
    }
    void tell_result(EventKind kind, When when, const std::string& worker) {
        if (kind == EventKind::deliver) store_result("J", {.worker = worker});
        about_result(kind, when, "J", {.worker = worker}, by);
    }
    void send() {
        set_field("J", "ls_worker", "w", by);
        observe(EventKind::redis, "J", {}, When::answered, by);
        observe(EventKind::publish, "J", {.subject = "worker.w.jobs"}, When::before, by);
    }
    void time_out(std::string_view reason) {
        by_command(by, {"EVALSHA"}, [&] {
            set_field("J", "failure_reason", reason, by);
            set_field("J", "state", "TIMEOUT", by);
        });
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
    {"ATimeoutBesideAResultIsCountedByItsReason",
     "topic=job.t state=RUNNING timeout=unheard count=jobs_completed_total,job.t,JOB_STATUS_TIMEOUT +1min rest",
     "timeouts_unheard_total{job.t} says 0, and it has happened 1 times"},
    {"AndNoOtherIs",
     "topic=job.t state=RUNNING timeout=unheard count=timeouts_unheard_total,job.t ok state=RUNNING timeout "
     "count=timeouts_unheard_total,job.t",
     "timeouts_unheard_total{job.t} says 2, and it has happened 1 times"},
    // It may be at the first of two deliveries still.
    {"TheLatencyOfADispatchIsSinceItsMessageCame",
     "topic=job.t deliver=1 +2s deliver=1 +1s send latency=2.9 ok ack=1 ack=1 +2min deliver=2 +1s send latency=3",
     "says 3 s, which is the time of no dispatch"},
    {"AHandlerMayHaveNoMessage",
     "topic=job.t lock deliver=1 +1s send latency=1.1 ok unlock ack=1 +2min lock deliver=1 +1s send latency=6",
     "says 6 s, which is the time of no dispatch"},
    {"ARequestWithoutAnIdFailsAndHasNoRecord",
     "nameless nameless=read count=jobs_completed_total,job.t,JOB_STATUS_FAILED "
     "count=jobs_completed_total,job.t,JOB_STATUS_FAILED ok count=jobs_completed_total,job.t,JOB_STATUS_FAILED",
     "JOB_STATUS_FAILED} says 3, and it has happened 2 times"},
    {"AnOutputMayBeWithheldUnasked",
     "topic=job.t state=SUCCEEDED withhold count=output_evaluations_total,job.t ok "
     "count=output_evaluations_total,job.t",
     "output_evaluations_total{job.t} says 2, and it has happened 1 times"},
    {"AResultIsRefusedForOneReason",
     "result=w lock count=results_refused_total,unknown_job ok count=results_refused_total,unknown_job_known_worker",
     "unknown_job_known_worker} says 1, and it has happened 0 times"},
    {"AndIsCountedEachTime",
     "hear=w result=w lock count=results_refused_total,unknown_job_known_worker settle=w ok unlock +1s result=w lock "
     "settle=w",
     "unknown_job_known_worker} says 1, and it has happened 2 times"},
    {"OneAboutAJobThatIsNotOutOrIsAnothers",
     "state=PENDING result=w lock count=results_refused_total,not_dispatched settle=w unlock worker=v state=DISPATCHED "
     "result=w lock count=results_refused_total,other_worker settle=w ok unlock state=SUCCEEDED result=w lock settle=w "
     "count=results_refused_total,other_worker",
     "other_worker} says 2, and it has happened 1 times"},
    // The reconciler reads it, settled or not.
    {"OneMayBeRefusedThatStandsInTheStream",
     "worker=v state=DISPATCHED store=w lock count=results_refused_total,other_worker ok "
     "count=results_refused_total,other_worker",
     "other_worker} says 2, and it has happened 1 times"},
    {"AHeartbeatOutsideSenseIsRefused",
     "count=heartbeats_refused_total,too_many_workers hear=a.b count=heartbeats_refused_total,worker_id +1min hear=w "
     "rest ok hear=a.b +1min rest",
     "heartbeats_refused_total{worker_id} says 1, and it has happened 2 times"},
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
