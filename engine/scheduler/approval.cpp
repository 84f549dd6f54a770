#include "engine/scheduler/approval.h"

#include "engine/runtime/invariant.h"
#include "engine/saga/effect.h"
#include "engine/store/keys.h"
#include "engine/wire/json.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

namespace {

/// What the question was asked with still binds: a human allows the job, not more than policy would have.
void carry_over(const RedisValue& rule, const RedisValue& snapshot, const RedisValue& constraints,
                SafetyDecision& decision) {
    decision.rule_id = rule.text();
    decision.snapshot = snapshot.text();
    if (constraints.text().empty()) return;
    auto parsed = wire::from_json<cap::PolicyConstraints>(constraints.text());
    if (!parsed) return;
    decision.answer = std::make_unique<cap::PolicyCheckResponse>();
    *decision.answer->mutable_constraints() = std::move(*parsed);
}

/// As it was submitted: a compensation is a job like any other, which gets the settings of its own time.
cap::JobRequest without_settings(cap::JobRequest request) {
    request.mutable_env()->erase("CORDUM_EFFECTIVE_CONFIG");
    return request;
}

}  // namespace

Task<Outcome<Grant>> read_grant(Replica& replica, const cap::JobRequest& request, std::string hash,
                                GrantEvidence evidence) {
    PRECONDITION(!hash.empty(), "what job {} was approved for has no hash", request.job_id());
    RedisCommand read{"HMGET",
                      keys::job_meta(JobId(request.job_id())),
                      "safety_job_hash",
                      "approval_job_hash",
                      kFieldLabelBeforeQuestion,
                      "safety_rule_id",
                      "safety_snapshot",
                      "safety_constraints",
                      kFieldInputHash};
    const auto record = co_await replica.ports.redis.command(std::move(read),
                                                             replica.ports.clock.in(replica.tunables.store_op_timeout));
    if (!record.applied()) co_return record.failure_as<Grant>();
    const RedisValue& facts = record.value();
    const bool hash_asked = facts.at(0).text() == hash;
    const bool hash_approved = facts.at(1).text() == hash;
    // A label that was there before the question is no answer to it, nor is one that nobody knows the age of.
    const bool label_is_older = !facts.at(2).text().empty();
    if (!replica.mechanisms.on(Mechanism::approval_evidence)) evidence = {};
    const bool label_counts = !label_is_older && evidence.request_kept;
    const bool bound = label_counts ? hash_approved || hash_asked : hash_approved && evidence.moved_on;
    if (!evidence.request_kept && !bound) replica.ports.log.reached("approval_without_evidence");
    if (!bound && replica.mechanisms.on(Mechanism::approval_hash)) {
        replica.ports.log.reached("approval_label_ignored");
        replica.ports.log.event(LogLevel::warn, "approval label ignored: it does not match what was to be approved",
                                {{"job_id", request.job_id()}});
        co_return Grant{std::nullopt, {}, hash_asked};
    }
    SafetyDecision decision(Decision::allow, "approval granted");
    decision.granted = true;
    decision.job_hash = hash;
    carry_over(facts.at(3), facts.at(4), facts.at(5), decision);
    co_return Grant{std::move(decision), std::string(facts.at(6).text()), hash_asked};
}

Task<Disposition> complete_gate(Replica& replica, JobLease& lease, std::string trace_id, SafetyDecision decision,
                                const cap::JobRequest& request) {
    PRECONDITION(decision.granted && wire::is_approval_gate(request.topic()), "job {} on {} opens as a gate, {}",
                 lease.job(), request.topic(), decision.granted ? "granted" : "and nobody has granted it");
    cap::JobResult result;
    result.set_job_id(lease.job().text());
    result.set_status(cap::JOB_STATUS_SUCCEEDED);
    result.set_worker_id(wire::kSchedulerSender);
    const std::string subject(wire::kSubjectResult);
    const auto packet =
        wire::make_packet(std::move(result), std::move(trace_id), wire::kSchedulerSender, replica.ports.clock.now());
    const auto published =
        co_await replica.ports.bus.publish(subject, wire::serialise(packet), wire::message_id(packet, subject),
                                           replica.ports.clock.in(replica.tunables.publish_timeout));
    // Also where nobody knows whether it is in the stream: its id is the job's, so saying it again adds nothing.
    if (!published.applied()) co_return Disposition::hand_back(replica.tunables.retry_delay_publish);
    replica.ports.log.reached("gate_opened");

    Commit commit;
    commit.walk = {JobState::succeeded};
    commit.release_lock = true;
    commit.settles_message = true;
    commit.decision_json = decision_record(decision);
    commit.fields = decision_fields(decision);
    const SagaPlan saga = plan_saga(cap::JOB_STATUS_SUCCEEDED, without_settings(request));
    if (saga.effect) {
        const auto included = co_await replica.sagas.include(*saga.effect, commit);
        if (!included.applied()) co_return Disposition::hand_back(replica.tunables.retry_delay_store);
    }
    const auto ended = co_await replica.store.commit(lease, std::move(commit));
    if (!ended.applied()) co_return Disposition::hand_back(replica.tunables.retry_delay_store);
    switch (ended.value().kind) {
        case Committed::Kind::lost: co_return Disposition::hand_back(replica.tunables.retry_delay_busy);
        case Committed::Kind::refused: co_return Disposition::done();  // it ended otherwise meanwhile
        case Committed::Kind::ok: break;
    }
    if (saga.effect) replica.ports.metrics.add(Metric::saga_recorded);
    replica.ports.metrics.add(Metric::jobs_completed,
                              {request.topic(), cap::JobStatus_Name(cap::JOB_STATUS_SUCCEEDED)});
    co_return Disposition::done();
}

}  // namespace lockstep::engine
