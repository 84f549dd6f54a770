#include "sim/rules/forged_world.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"
#include "sim/model/job_keys.h"
#include "sim/model/listings.h"
#include "sim/model/request_facts.h"
#include "sim/model/snapshot_text.h"
#include "sim/rules/invariants.h"
#include "sim/spec/envelopes.h"
#include "sim/spec/letter_codes.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;
using engine::Duration;
using fakes::EventKind;
using fakes::When;

constexpr std::string_view kReaderDurable = "dur_result-reader__sys_job_result";

std::string meta_key(const std::string& job) { return std::string(kJobHashPrefix) + job; }
std::string lock_key(const std::string& job) { return "cordum:scheduler:job:" + job; }
cap::BusPacket result_packet(const std::string& job, cap::JobStatus status) {
    cap::JobResult result;
    result.set_job_id(job);
    result.set_status(status);
    result.set_worker_id(std::string(ForgedWorld::kWorkerId));
    if (status == cap::JOB_STATUS_SUCCEEDED) result.set_result_ptr("redis://res:" + job);
    if (status == cap::JOB_STATUS_FAILED) result.set_error_code("worker_failed");
    return wire::make_packet(std::move(result), "trace", "worker", {});
}

fakes::Event message_event(EventKind kind, std::uint64_t sequence) {
    return {.kind = kind,
            .outcome = fakes::EventOutcome::applied,
            .node = ForgedWorld::kReplica,
            .subject = wire::kSubjectSubmit,
            .name = kSchedulersSubmissions,
            .stream = wire::kStreamSys,
            .sequence = sequence};
}

}  // namespace

ForgedWorld::ForgedWorld() : keyspace_events_(*this, Topology::kRedis, fakes::redis::default_lock_keys()) {
    keys_.add_observer(keyspace_events_);
    keys_.add_observer(judgement_.model());
    add_rules(judgement_, settings_);
    heartbeat();
}

ForgedWorld::~ForgedWorld() = default;

bool ForgedWorld::emit(const fakes::Event& told) {
    ++events_;
    fakes::Event event = told;
    event.job_number = job_numbers_.number_of(event.job);
    if (Model::kWanted.contains(event.kind)) judgement_.model().on_event(event, now_);
    if (Weather::kWanted.contains(event.kind)) judgement_.model().weather().on_event(event, now_);
    return true;
}

void ForgedWorld::rest() { judgement_.model().at_rest(keys_, true); }

cap::BusPacket ForgedWorld::request_packet(const std::string& job) const {
    cap::JobRequest request;
    request.set_job_id(job);
    request.set_topic("job.default");
    if (spoilt_.contains(job)) request.set_step_index(-1);
    if (const auto input = inputs_.find(job); input != inputs_.end()) request.set_context_ptr(input->second);
    if (const auto tenant = tenants_.find(job); tenant != tenants_.end()) request.set_tenant_id(tenant->second);
    if (const auto labels = labels_.find(job); labels != labels_.end())
        for (const auto& [name, value] : labels->second) (*request.mutable_labels())[name] = value;
    return wire::make_packet(std::move(request), "trace", "gateway", {});
}

template <class Change>
void ForgedWorld::command(NodeId client, std::string_view name, std::string_view key, Change change) {
    // It names the token of the job's lock, where there is one.
    const std::string job(key.substr(key.starts_with(kJobHashPrefix) ? kJobHashPrefix.size() : 0));
    const bool locked = keys_.find(is_job_lock(key) ? std::string(key) : lock_key(job)) != nullptr;
    const std::string token = locked ? fmt::format("token-{}", client.value) : std::string{};
    const std::string_view words[] = {name, "sha1", "1", key, token};
    keys_.act_for(client);
    keys_.tell_command(client, words, redis_now());
    change();
    keys_.tell_command(client, {}, redis_now());
}

std::int64_t ForgedWorld::expiry_of(std::string_view key, std::string_view value) const {
    const spec::Lifetime* life = lifetimes_.of(key, value);
    return life == nullptr || life->for_ever ? fakes::redis::kNever : redis_now() + life->least;
}

void ForgedWorld::renew(std::string_view key) {
    if (auto* node = keys_.find(key)) keys_.set_expiry(*node, expiry_of(key));
}

template <class Change>
void ForgedWorld::script(NodeId client, std::string_view name, std::string_view key, std::string_view job,
                         std::string_view reply, Change change) {
    fakes::Event event{.kind = EventKind::redis,
                       .when = When::before,
                       .node = client,
                       .peer = Topology::kRedis,
                       .job = job,
                       .command = name.empty() ? "SET" : "EVALSHA",
                       .script = name,
                       .key = key};
    emit(event);
    command(client, event.command, key, change);
    event.when = When::applied;
    event.outcome = fakes::EventOutcome::applied;
    event.payload = reply;
    emit(event);
    event.when = When::answered;
    emit(event);
}

void ForgedWorld::tell(EventKind kind, When when, NodeId node, std::string_view job, std::string_view subject,
                       const cap::BusPacket* packet, std::string_view message_id) {
    cap::BusPacket enveloped;
    if (packet != nullptr) {
        enveloped = *packet;
        enveloped.set_protocol_version(version_);
        enveloped.mutable_created_at()->set_seconds(redis_now() / 1000);
        if (const auto envelope = spec::envelope_of(subject, *packet)) {
            if (packet->sender_id() != kSagaSender) enveloped.set_sender_id(std::string(envelope->sender));
            enveloped.set_trace_id(envelope->trace.value_or(std::string(job)));
        }
        packet = &enveloped;
    }
    emit({.kind = kind,
          .when = when,
          .outcome = fakes::EventOutcome::applied,
          .node = node,
          .subject = subject,
          .job = job,
          .message_id = message_id,
          .sequence = kind == EventKind::stored ? ++stream_sequence_ : 0,
          .packet = packet});
}

void ForgedWorld::tell_of_result(EventKind kind, When when, NodeId node, std::string_view durable,
                                 const std::string& job, const cap::BusPacket& packet) {
    emit({.kind = kind,
          .when = when,
          .outcome = fakes::EventOutcome::applied,
          .node = node,
          .subject = wire::kSubjectResult,
          .job = job,
          .name = durable,
          .stream = wire::kStreamSys,
          .sequence = stream_sequence_,
          .packet = &packet});
}

void ForgedWorld::on_every_call(EventKind kind, NodeId node, std::string_view job, std::string_view to,
                                std::string_view question, std::string_view answer) {
    emit({.kind = kind, .when = When::before, .node = node, .job = job, .payload = question});
    for (const When when : {When::applied, When::answered})
        emit({.kind = kind,
              .when = when,
              .outcome = fakes::EventOutcome::applied,
              .node = node,
              .job = job,
              .to = to,
              .payload = answer});
}

void ForgedWorld::ask_in_vain(EventKind kind, std::string_view job, std::string_view to) {
    emit({.kind = kind, .when = When::before, .node = kReplica, .job = job});
    emit({.kind = kind,
          .when = When::answered,
          .outcome = fakes::EventOutcome::unknown,
          .node = kReplica,
          .job = job,
          .to = to});
}

template <class Container>
fakes::redis::Keyspace::Node& ForgedWorld::at(std::string_view key) {
    auto* node = keys_.find(key);
    return node != nullptr ? *node : keys_.create<Container>(key);
}

// The way of a job -----------------------------------------------------------------------------------------------------

void ForgedWorld::submit(const std::string& job, const std::string& tenant) {
    tenants_[job] = tenant;
    const cap::BusPacket packet = request_packet(job);
    tell(EventKind::submit, When::before, Topology::kGateway, job, {}, nullptr);
    set_field(Topology::kGateway, meta_key(job), "tenant", tenant);
    command(Topology::kGateway, "EXEC", meta_key(job), [&] { enter(job, "PENDING"); });
    tell(EventKind::publish, When::before, Topology::kGateway, job, wire::kSubjectSubmit, &packet, "jobreq:" + job);
    tell(EventKind::stored, When::applied, Topology::kGateway, job, wire::kSubjectSubmit, &packet, "jobreq:" + job);
    emit({.kind = EventKind::submit,
          .when = When::answered,
          .outcome = fakes::EventOutcome::applied,
          .flag = true,
          .node = Topology::kGateway,
          .job = job});
}

void ForgedWorld::take_up(const std::string& job, NodeId replica) {
    script(replica, "take_up", lock_key(job), job, "*2\r\n$4\r\nheld\r\n", [&] {
        const std::string lock = lock_key(job);
        keys_.set_string(lock, fmt::format("token-{}", replica.value), expiry_of(lock));
    });
}

void ForgedWorld::fail_to_read(const std::string& job) {
    emit({.kind = EventKind::redis,
          .when = When::answered,
          .outcome = fakes::EventOutcome::unknown,
          .node = kReplica,
          .job = job,
          .command = "EVALSHA",
          .key = lock_key(job)});
}

void ForgedWorld::let_go(const std::string& job, NodeId replica) {
    script(replica, "release_lock", lock_key(job), job, ":1\r\n", [&] {
        if (auto* lock = keys_.find(lock_key(job))) keys_.remove(*lock);
    });
}

std::string ForgedWorld::question_about(const std::string& job) const {
    const cap::BusPacket packet = request_packet(job);
    const cap::JobRequest& request = packet.job_request();
    cap::PolicyCheckRequest question;
    question.set_job_id(job);
    question.set_topic(request.topic());
    question.set_tenant(std::string(wire::tenant_of(request)));
    *question.mutable_labels() = request.labels();
    if (const auto* entry = keys_.find(kSettingsKey); entry != nullptr)
        question.set_effective_config(nlohmann::json::parse(std::get<std::string>(entry->value))["data"].dump());
    if (!request.context_ptr().empty() && !hidden_.contains(job)) question.set_input_content("what to do");
    return question.SerializeAsString();
}

void ForgedWorld::ask_policy(const std::string& job, std::string_view decision, int limit, NodeId replica) {
    cap::PolicyCheckResponse answer;
    if (limit > 0) {
        answer.mutable_constraints()->mutable_budgets()->set_max_concurrent_jobs(limit);
        limits_[job] = limit;
    }
    on_every_call(EventKind::kernel_check, replica, job, decision, question_about(job), answer.SerializeAsString());
}

void ForgedWorld::ask_policy_and_wait(const std::string& job) {
    const std::string question = question_about(job);
    emit({.kind = EventKind::kernel_check, .when = When::before, .node = kReplica, .job = job, .payload = question});
}

void ForgedWorld::hear_policy(const std::string& job, std::string_view decision) {
    emit({.kind = EventKind::kernel_check,
          .when = When::answered,
          .outcome = fakes::EventOutcome::applied,
          .node = kReplica,
          .job = job,
          .to = decision});
}

void ForgedWorld::lose_lock(const std::string& job) {
    keys_.act_for({});
    keys_.remove(*keys_.find(lock_key(job)), fakes::redis::Removal::evicted);
}

void ForgedWorld::ask_policy_in_vain(const std::string& job) { ask_in_vain(EventKind::kernel_check, job, "status:4"); }

std::string ForgedWorld::line_of(const std::string& job) const {
    const auto tenant = tenants_.find(job);
    return "lockstep:tenant:waiting:" + (tenant == tenants_.end() ? std::string("default") : tenant->second);
}

void ForgedWorld::leave_index(const std::string& job, std::string_view state) {
    if (state.empty()) return;
    if (auto* index = keys_.find(index_of(state_of(state)))) keys_.zset_remove(*index, job);
}

void ForgedWorld::list_in_index(const std::string& job, std::string_view state) {
    keys_.zset_set(at<fakes::redis::SortedSet>(std::string(index_of(state_of(state)))), job,
                   static_cast<double>(redis_micros()));
}

void ForgedWorld::enter(const std::string& job, std::string_view state) {
    const std::string before = job_state(keys_, job);
    auto& meta = at<fakes::redis::Hash>(meta_key(job));
    keys_.hash_set(meta, "state", state);
    keys_.hash_set(meta, "attempts", hash_field(keys_, meta.first, "attempts").value_or("0"));
    auto& history = at<fakes::redis::List>("job:events:" + job);
    keys_.list_insert(history, std::get<fakes::redis::List>(history.second.value).size(),
                      fmt::format("{}|{}", redis_micros(), state));
    keys_.set_string("job:state:" + job, std::string(state), expiry_of("job:state:"));
    renew(meta.first);
    renew("job:req:" + job);
    renew("job:events:" + job);
    leave_index(job, before);
    list_in_index(job, state);
    const std::string active = "job:tenant:active:" + hash_field(keys_, meta_key(job), "tenant").value_or("");
    if (!is_final(state)) keys_.set_add(at<fakes::redis::Set>(active), job);
    if (auto* members = keys_.find(active); members != nullptr && is_final(state)) keys_.set_remove(*members, job);
}

void ForgedWorld::fail_over_to(const std::string& job, std::string_view state) {
    keys_.restore([&] { keys_.hash_set(at<fakes::redis::Hash>(meta_key(job)), "state", state); });
}

void ForgedWorld::move(const std::string& job, std::string_view state, NodeId replica) {
    const std::string_view name = state == "TIMEOUT" ? "time_out" : "commit";
    script(replica, name, meta_key(job), job, "*1\r\n$2\r\nok\r\n", [&] { enter(job, state); });
}

void ForgedWorld::commit_dispatch(const std::string& job, NodeId replica) {
    script(replica, "commit", meta_key(job), job, "*1\r\n$2\r\nok\r\n", [&] {
        if (auto* line = keys_.find(line_of(job))) keys_.zset_remove(*line, job);
        keys_.hash_set(at<fakes::redis::Hash>(meta_key(job)), "ls_worker", kWorkerId);
        enter(job, "SCHEDULED");
        enter(job, "DISPATCHED");
    });
}

void ForgedWorld::find_tenant_full(const std::string& job, NodeId replica) {
    script(replica, "commit", meta_key(job), job, "*5\r\n$7\r\nrefused\r\n$12\r\ntenant_limit\r\n", [&] {
        keys_.zset_set(at<fakes::redis::SortedSet>(line_of(job)), job, 1);
        renew(line_of(job));
    });
}

void ForgedWorld::send(const std::string& job, NodeId replica) {
    cap::BusPacket packet = request_packet(job);
    if (const auto limit = limits_.find(job); limit != limits_.end()) {
        cap::PolicyConstraints constraints;
        constraints.mutable_budgets()->set_max_concurrent_jobs(limit->second);
        auto& env = *packet.mutable_job_request()->mutable_env();
        env[wire::kEnvConstraints] = wire::to_json(constraints);
        env[wire::kEnvMaxConcurrentJobs] = fmt::format("{}", limit->second);
    }
    const std::string subject = wire::worker_subject(engine::WorkerId(kWorkerId));
    tell(EventKind::publish, When::before, replica, job, subject, &packet, "dispatch:" + job);
    tell(EventKind::stored, When::applied, replica, job, subject, &packet, "dispatch:" + job);
}

void ForgedWorld::arrive(const std::string& job) {
    const cap::BusPacket packet = request_packet(job);
    tell(EventKind::core_deliver, When::applied, kWorker, job, wire::worker_subject(engine::WorkerId(kWorkerId)),
         &packet, "dispatch:" + job);
}

void ForgedWorld::run(const std::string& job) {
    submit(job);
    take_up(job);
    ask_policy(job, "ALLOW");
    commit_dispatch(job);
    send(job);
    arrive(job);
    move(job, "RUNNING");
    let_go(job);
}

void ForgedWorld::finish(const std::string& job) {
    const cap::BusPacket packet = result_packet(job, cap::JOB_STATUS_SUCCEEDED);
    tell(EventKind::core_publish, When::before, kWorker, job, wire::kSubjectResult, &packet);
    tell(EventKind::stored, When::applied, kWorker, job, wire::kSubjectResult, &packet);
    tell_of_result(EventKind::deliver, When::applied, kReplica, kSchedulersResults, job, packet);
    take_up(job);
    set_field(kReplica, meta_key(job), "result_ptr", packet.job_result().result_ptr());
    set_field(kReplica, meta_key(job), "worker_id", kWorkerId);
    move(job, "SUCCEEDED");
    let_go(job);
    tell_of_result(EventKind::ack, When::before, kReplica, kSchedulersResults, job, packet);
}

void ForgedWorld::report(const std::string& job) {
    const cap::BusPacket packet = result_packet(job, cap::JOB_STATUS_SUCCEEDED);
    tell(EventKind::stored, When::applied, kWorker, job, wire::kSubjectResult, &packet);
}

void ForgedWorld::date(const std::string& job, NodeId replica) {
    command(replica, "HSET", meta_key(job), [&] { write_date(job); });
}

void ForgedWorld::write_date(const std::string& job) {
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now_.time_since_epoch());
    keys_.hash_set(at<fakes::redis::Hash>(meta_key(job)), "updated_at", fmt::format("{}", micros.count()));
}

void ForgedWorld::time_out(const std::string& job) {
    script(kReplica, "time_out", meta_key(job), job, "*1\r\n$2\r\nok\r\n", [&] {
        enter(job, "TIMEOUT");
        write_date(job);
    });
}

void ForgedWorld::report_failure(const std::string& job) {
    const cap::BusPacket packet = result_packet(job, cap::JOB_STATUS_FAILED);
    tell(EventKind::stored, When::applied, kWorker, job, wire::kSubjectResult, &packet);
    tell_of_result(EventKind::deliver, When::applied, kReplica, kSchedulersResults, job, packet);
}

void ForgedWorld::read_result(const std::string& job, bool heard) {
    const cap::BusPacket packet = result_packet(job, cap::JOB_STATUS_SUCCEEDED);
    tell_of_result(EventKind::deliver, When::applied, kReader, kReaderDurable, job, packet);
    if (heard) {
        const std::string list = read_results_key(job);
        script(kReader, {}, list, {}, ":1\r\n",
               [&] { keys_.list_insert(at<fakes::redis::List>(list), 0, "JOB_STATUS_SUCCEEDED w"); });
        set_text(kReader, fmt::format("cordum:bus:processed:CORDUM_SYS:{}:{}", stream_sequence_, kReaderDurable), "1");
    }
    tell_of_result(EventKind::ack, When::before, kReader, kReaderDurable, job, packet);
}

void ForgedWorld::serve(const std::string& job) {
    run(job);
    wait(std::chrono::seconds{1});
    finish(job);
}

void ForgedWorld::turn_away(const std::string& job, NodeId replica, Duration delay) {
    const cap::BusPacket packet = request_packet(job);
    tell(EventKind::deliver, When::applied, replica, job, wire::kSubjectSubmit, &packet);
    take_up(job, replica);
    script(replica, "commit", meta_key(job), job, "*1\r\n$2\r\nok\r\n", [&] {
        keys_.hash_set(at<fakes::redis::Hash>(meta_key(job)), "attempts", "1");
        keys_.remove(*keys_.find(lock_key(job)));
    });
    emit({.kind = EventKind::nak,
          .when = When::before,
          .node = replica,
          .job = job,
          .number = delay.count(),
          .packet = &packet});
}

std::string ForgedWorld::utc() const {
    const std::int64_t seconds = redis_now() / 1000;
    return fmt::format("1970-01-01T{:02}:{:02}:{:02}Z", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string ForgedWorld::letter_about(const std::string& job, std::string_view code) const {
    const spec::CodeMeaning* meaning = spec::meaning_of(code);
    const std::string tries = hash_field(keys_, meta_key(job), "attempts").value_or("0");
    return fmt::format(R"({{"job_id":"{}","created_at":"{}","status":"{}","reason_code":"{}","last_state":"{}"{}{}}})",
                       job, utc(), meaning == nullptr ? "JOB_STATUS_FAILED" : meaning->status, code,
                       job_state(keys_, job), tries == "0" ? "" : fmt::format(R"(,"attempts":{})", tries),
                       code == "timeout" ? R"(,"reason":"timeout: RUNNING >15m")" : "");
}

void ForgedWorld::bury(const std::string& job, std::string_view code) {
    script(kReplica, "put_dead_letter", "dlq:entry:" + job, job, ":1\r\n", [&] {
        const std::string letter = "dlq:entry:" + job;
        keys_.set_string(letter, letter_about(job, code), expiry_of(letter));
        keys_.zset_set(at<fakes::redis::SortedSet>("dlq:index"), job, static_cast<double>(redis_now() / 1000));
    });
    cap::BusPacket packet = result_packet(job, cap::JOB_STATUS_FAILED);
    packet.mutable_job_result()->set_error_code(std::string(code));
    tell(EventKind::stored, When::applied, kReplica, job, wire::kSubjectDlq, &packet);
}

void ForgedWorld::audit_withheld(const std::string& job) {
    cap::JobProgress progress;
    progress.set_job_id(job);
    progress.set_step_id("output_policy");
    progress.set_status(cap::JOB_STATUS_DENIED);
    const cap::BusPacket packet = wire::make_packet(std::move(progress), "trace", "cordum-scheduler", {});
    tell(EventKind::core_publish, When::before, kReplica, job, wire::kSubjectAuditOutputPolicy, &packet);
}

void ForgedWorld::deliver_message(std::uint64_t sequence, bool readable, std::string_view payload) {
    const cap::BusPacket packet = request_packet({});
    fakes::Event event = message_event(EventKind::deliver, sequence);
    event.number = 1;
    event.payload = payload;
    if (readable) event.packet = &packet;
    emit(event);
}

void ForgedWorld::answer_message(std::uint64_t sequence, EventKind verdict) {
    for (const When when : {When::before, When::applied}) {
        fakes::Event event = message_event(verdict, sequence);
        event.when = when;
        if (verdict == EventKind::nak) event.number = engine::Duration{std::chrono::seconds{5}}.count();
        emit(event);
    }
}

// What else there is ---------------------------------------------------------------------------------------------------

void ForgedWorld::heartbeat() { heartbeat_of(kWorkerId, 0); }

void ForgedWorld::heartbeat_of(std::string_view worker, int active_jobs) {
    cap::Heartbeat beat;
    beat.set_worker_id(std::string(worker));
    beat.set_pool("default");
    beat.set_active_jobs(active_jobs);
    beat.set_max_parallel_jobs(4);
    const cap::BusPacket packet = wire::make_packet(std::move(beat), {}, std::string(worker), {});
    for (const NodeId replica : {kReplica, kOtherReplica})
        tell(EventKind::core_deliver, When::applied, replica, {}, wire::kSubjectHeartbeat, &packet);
}

void ForgedWorld::beat() { emit({.kind = EventKind::heartbeat, .node = kWorker, .name = kWorkerId}); }

void ForgedWorld::call_off(const std::string& job, NodeId replica) {
    cap::JobCancel cancel;
    cancel.set_job_id(job);
    cancel.set_requested_by("cordum-scheduler");
    const cap::BusPacket packet = wire::make_packet(std::move(cancel), job, "cordum-scheduler", {});
    tell(EventKind::core_publish, When::before, replica, job, wire::kSubjectCancel, &packet);
}

void ForgedWorld::expire_lock(const std::string& job) {
    keys_.act_for(Topology::kRedis);
    keys_.remove(*keys_.find(lock_key(job)), fakes::redis::Removal::expired);
}

void ForgedWorld::read_settings() {
    for (const NodeId replica : {kReplica, kOtherReplica})
        for (const When when : {When::applied, When::answered})
            emit({.kind = EventKind::redis,
                  .when = when,
                  .outcome = fakes::EventOutcome::applied,
                  .node = replica,
                  .peer = Topology::kRedis,
                  .command = "GET",
                  .key = kSettingsKey});
}

void ForgedWorld::keep_request(const std::string& job) {
    const cap::BusPacket packet = request_packet(job);
    fakes::Event event = message_event(EventKind::deliver, ++stream_sequence_);
    event.job = job;
    event.packet = &packet;
    emit(event);
    const std::string key = "job:req:" + job;
    script(kReplica, "take_up", lock_key(job), job, "*2\r\n$4\r\nheld\r\n", [&] {
        keys_.set_string(key, wire::to_json(packet.job_request()), expiry_of(key));
        auto& meta = at<fakes::redis::Hash>(meta_key(job));
        for (const auto& [field, value] : fields_of(packet.job_request()))
            if (!value.empty()) keys_.hash_set(meta, field, value);
        renew(meta.first);
        renew("job:state:" + job);
    });
}

void ForgedWorld::judge_output_in_vain(const std::string& job) { ask_in_vain(EventKind::output_check, job, {}); }

void ForgedWorld::withhold(const std::string& job) {
    const std::string key = meta_key(job);
    const std::string record =
        fmt::format(R"({{"decision":"QUARANTINE","checked_at":{},"phase":"async"}})", redis_micros());
    command(kReplica, "EXEC", key, [&] {
        keys_.set_string("job:" + job + ":output_decision", record, expiry_of(key));
        keys_.hash_set(at<fakes::redis::Hash>(key), "output_safety", record);
        renew(key);
        renew("job:state:" + job);
        renew("job:req:" + job);
    });
    take_up(job);
    move(job, "OUTPUT_QUARANTINED");
    bury(job, "output_quarantined");
    if (!unaudited_) audit_withheld(job);
    let_go(job);
}

void ForgedWorld::start(NodeId replica) {
    tell(EventKind::node_down, When::applied, replica, {}, {}, nullptr);
    tell(EventKind::node_up, When::applied, replica, {}, {}, nullptr);
}

void ForgedWorld::tick(NodeId replica) {
    const std::string key = "cordum:reconciler:default";
    if (keys_.find(key) == nullptr) set_text(replica, key, "ticker");
    script(replica, "stale_jobs", key, {}, "*1\r\n$4\r\npage\r\n",
           [this] { keys_.tell_listed("job:index:DISPATCHED"); });
}

void ForgedWorld::open_fail_mode() {
    set_text(Topology::kOperator, "cfg:system:default",
             R"({"revision":2,"data":{"scheduler":{"input_fail_mode":"open"}}})");
    read_settings();
}

void ForgedWorld::approve(const std::string& job) {
    tell(EventKind::approve, When::before, Topology::kOperator, job, {}, nullptr);
    label(job, "approval_granted", "true");
    set_text(Topology::kOperator, "job:req:" + job, wire::to_json(request_packet(job).job_request()));
    set_field(Topology::kOperator, meta_key(job), "approval_job_hash",
              wire::job_hash(request_packet(job).job_request()));
}

void ForgedWorld::reject(const std::string& job) {
    emit({.kind = EventKind::approve, .when = When::before, .node = Topology::kOperator, .job = job, .to = "DENIED"});
    set_field(Topology::kOperator, meta_key(job), "approval_job_hash",
              wire::job_hash(request_packet(job).job_request()));
}

void ForgedWorld::store_request(const std::string& job) {
    set_text(Topology::kGateway, "job:req:" + job, wire::to_json(request_packet(job).job_request()));
}

void ForgedWorld::hold_slot(const std::string& job, const std::string& tenant) {
    script(kReplica, "commit", meta_key(job), job, "*1\r\n$2\r\nok\r\n", [&] {
        const std::string slots = "lockstep:tenant:slots:" + tenant;
        keys_.zset_set(at<fakes::redis::SortedSet>(slots), job, static_cast<double>(redis_micros()));
        renew(slots);
    });
}

void ForgedWorld::judge_output(const std::string& job, std::string_view decision) {
    on_every_call(EventKind::output_check, kReplica, job, decision);
}

void ForgedWorld::undo(const std::string& job, const std::string& by) {
    cap::JobRequest request;
    request.set_job_id(by);
    request.set_topic("job.undo");
    request.set_parent_job_id(job);
    request.set_workflow_id("travel");
    const cap::BusPacket packet = wire::make_packet(std::move(request), "trace", "cordum-scheduler-saga", {});
    tell(EventKind::publish, When::before, kReplica, by, wire::kSubjectSubmit, &packet, "jobreq:" + by);
    tell(EventKind::stored, When::applied, kReplica, by, wire::kSubjectSubmit, &packet, "jobreq:" + by);
}

void ForgedWorld::write_snapshot(bool whole, NodeId replica) {
    const std::string text =
        fmt::format(R"({{"captured_at":"{}","topics":{{"job.default":{{"pool":"default"}}}},"workers":[)"
                    R"({{"worker_id":"w","pool":"default","active_jobs":0,"max_parallel_jobs":4}}]}})",
                    utc());
    script(replica, "write_snapshot", kWorkerSnapshot, {}, ":1\r\n", [&] {
        keys_.set_string(kWorkerSnapshot, text.substr(0, whole ? text.size() : text.size() / 2),
                         expiry_of(kWorkerSnapshot));
    });
}

void ForgedWorld::take_run(const std::string& run, std::string_view token, NodeId replica) {
    const std::string lock = fmt::format("{}{}", kRunLockPrefix, run), document = "wf:run:" + run;
    const std::string_view words[] = {"EVALSHA", "sha1", "2", lock, document, token};
    keys_.act_for(replica);
    keys_.tell_command(replica, words, redis_now());
    if (keys_.find(lock) == nullptr)
        keys_.set_string(lock, std::string(token), redis_now() + engine::to_millis(tunables_.run_lock_ttl));
    keys_.tell_command(replica, {}, redis_now());
}

void ForgedWorld::change_run(const std::string& run, std::string_view token, std::string document, NodeId replica) {
    const std::string lock = fmt::format("{}{}", kRunLockPrefix, run), key = "wf:run:" + run;
    const std::string_view words[] = {"EVALSHA", "sha1", "2", lock, key, token, document};
    keys_.act_for(replica);
    keys_.tell_command(replica, words, redis_now());
    keys_.set_string(key, document, fakes::redis::kNever);
    const auto read = nlohmann::json::parse(document);
    const std::string status = "wf:runs:status:" + read.value("status", "");
    for (const std::string& list : {std::string("wf:runs:all"), "wf:runs:" + read.value("workflow_id", ""), status})
        keys_.zset_set(at<fakes::redis::SortedSet>(list), run, static_cast<double>(redis_now() / 1000));
    if (auto* former = keys_.find(run_listed_); former != nullptr && run_listed_ != status)
        keys_.zset_remove(*former, run);
    run_listed_ = status;
    if (auto* held = keys_.find(lock); held != nullptr && std::get<std::string>(held->second.value) == token)
        keys_.remove(*held);
    keys_.tell_command(replica, {}, redis_now());
}

void ForgedWorld::lose_run_lock(const std::string& run) {
    keys_.act_for({});
    keys_.remove(*keys_.find(fmt::format("{}{}", kRunLockPrefix, run)), fakes::redis::Removal::evicted);
}

void ForgedWorld::set_text(NodeId client, std::string_view key, std::string text) {
    const std::int64_t expires_at = expiry_of(key, text);
    script(client, {}, key, {}, "+OK\r\n", [&] { keys_.set_string(key, std::move(text), expires_at); });
}

void ForgedWorld::set_field(NodeId client, std::string_view key, std::string_view field, std::string_view value) {
    command(client, "EXEC", key, [&] {
        keys_.hash_set(at<fakes::redis::Hash>(key), field, value);
        renew(key);
    });
}

void ForgedWorld::persist(std::string_view key) {
    command(kReplica, "PERSIST", key, [&] { keys_.set_expiry(*keys_.find(key), fakes::redis::kNever); });
}

}  // namespace lockstep::sim
