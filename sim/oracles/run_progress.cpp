#include "sim/oracles/run_progress.h"

#include <fmt/format.h>

#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/run_documents.h"
#include "sim/oracles/run_steps.h"
#include "sim/scenario/topology.h"
#include "sim/world/virtual_time.h"

namespace lockstep::sim {

using nlohmann::json;

namespace {

/// What is to be sent for a run: of its fields those with this prefix are submissions, by job.
constexpr std::string_view kOutboxPrefix = "lockstep:wf:outbox:";
constexpr std::string_view kSubmissionPrefix = "s:";
/// Who submits the jobs of runs.
constexpr std::string_view kSender = "workflow-engine";
/// The message id of a submission is this and its job.
constexpr std::string_view kSubmitId = "jobreq:";

bool begins(std::string_view status) {
    return status == "running" || status == "waiting" || status == "succeeded" || status == "failed";
}

const json& step_or_nothing(const json& run, const std::string& key) {
    static const json kNothing;
    const auto found = steps_of(run).find(key);
    return found == steps_of(run).end() ? kNothing : *found;
}

/// The first member in which two records of one ended step differ that must not; empty: none does.
std::string_view changed_member(const json& was, const json& now) {
    for (const char* name : {"status", "output", "job_id", "attempts", "completed_at"}) {
        const auto before = was.find(name);
        const auto after = now.find(name);
        const bool same = (before == was.end()) == (after == now.end()) && (before == was.end() || *before == *after);
        if (!same) return name;
    }
    return {};
}

}  // namespace

void RunProgress::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                             std::int64_t, std::int64_t) {
    if (definitions_.note(key, after)) return;
    if (const std::string_view run = run_of_document_key(key); !run.empty())
        on_write(client, std::string(run), json::parse(after, nullptr, false));
}

void RunProgress::on_write(fakes::NodeId client, const std::string& name, const json& after) {
    Run& run = runs_[name];
    for (const auto& [key, step] : steps_of(after).items())
        if (std::string job = member_text(step, "job_id"); !job.empty()) committed_.insert(std::move(job));
    // Of a document that takes steps back their jobs are to be submitted anew, by requests of another time.
    if (by_user(client)) forget_requests_of(name);
    const bool is_judged = !by_user(client) && !run.excused && run.document.is_object();
    if (is_judged) {
        exercise();
        const std::string was = member_text(run.document, "status");
        const std::string is = member_text(after, "status");
        if (is_run_over(was) && was != is)
            violated(client, {}, fmt::format("the run {} had ended {}, and is {} now", name, was, is), run.written);
        for (const auto& [key, step] : steps_of(run.document).items())
            if (!steps_of(after).contains(key))
                violated(client, {},
                         fmt::format("the step {} of the run {} is not in its document any more", key, name),
                         run.written);
        const json& definition = definitions_.of(name, after);
        if (const std::string step = has_too_many_at_work(definition, after);
            !step.empty() && has_too_many_at_work(definition, run.document).empty())
            violated(client, {},
                     fmt::format("more of the step {} of the run {} are at work than max_parallel allows", step, name),
                     run.written);
        if (const std::string why = wrongly_decided(definition, after);
            !is_run_over(is) && !why.empty() && wrongly_decided(definition, run.document).empty())
            violated(client, {}, why, run.written);
        for (const auto& [key, step] : steps_of(after).items()) judge_step(client, name, key, run, after);
    }
    run.document = after;
    run.written = upcoming();
}

void RunProgress::forget_requests_of(const std::string& name) {
    const std::string prefix = name + ":";
    const auto first = requests_.lower_bound(prefix);
    auto last = first;
    while (last != requests_.end() && last->first.starts_with(prefix)) ++last;
    requests_.erase(first, last);
}

void RunProgress::judge_step(fakes::NodeId client, const std::string& name, const std::string& key, const Run& before,
                             const json& now) {
    const json& was = step_or_nothing(before.document, key);
    const json& is = step_or_nothing(now, key);
    const std::string earlier = step_status(was);
    if (is_step_over(earlier)) {
        if (const std::string_view member = changed_member(was, is); !member.empty())
            violated(
                client, member_text(was, "job_id"),
                fmt::format("the step {} of the run {} had ended {}, and its {} is another one now: {} attempts, {}",
                            key, name, earlier, member, attempts_of(is), step_status(is)),
                before.written);
        return;
    }
    judge_attempt(client, name, key, was, is, before.written);
    const json& definition = definitions_.of(name, now);
    if (!definition.is_object()) return;
    judge_change(client, name, {definition, now, key, was, is}, before.written);
    const bool has_begun = earlier == "pending" && attempts_of(was) == 0 && begins(step_status(is));
    if (!has_begun) return;
    if (const std::string why = forbids_to_begin(definition, now, key); !why.empty())
        violated(client, member_text(is, "job_id"),
                 fmt::format("the step {} of the run {} has begun, and {}", key, name, why), before.written);
}

void RunProgress::judge_change(fakes::NodeId client, const std::string& name, const StepChange& change,
                               EventNumber written) {
    const std::string job = member_text(change.is, "job_id");
    const auto accuse = [&](const std::string& why) {
        if (!why.empty())
            violated(client, job, fmt::format("the step {} of the run {} {}", change.key, name, why), written);
    };
    accuse(against_its_condition(change));
    accuse(wrongly_transformed(change));
    accuse(tried_too_often(change));
    const std::string ended = job_that_ended(change);
    if (ended.empty() || loss_of(ended).any()) return;
    // Nobody judges by a record that is not there.
    const std::string state = recorded_state(ended);
    if (!state.empty() && !is_final(state))
        accuse(fmt::format("is {}, and its job {} is {}", step_status(change.is), ended, state));
}

void RunProgress::judge_attempt(fakes::NodeId client, const std::string& name, const std::string& key, const json& was,
                                const json& now, EventNumber written) {
    const std::int64_t before = attempts_of(was);
    const std::int64_t after = attempts_of(now);
    if (after < before || after > before + 1)
        violated(client, member_text(was, "job_id"),
                 fmt::format("the step {} of the run {} had {} attempts, and has {} now", key, name, before, after),
                 written);
    const std::string job = member_text(now, "job_id");
    if (job.empty() || job == member_text(was, "job_id")) return;
    if (const std::string wanted = fmt::format("{}:{}@{}", name, key, after); job != wanted)
        violated(client, job, fmt::format("the job of the step {} should be {}", key, wanted), written);
}

void RunProgress::on_event(const fakes::Event& event, Time) {
    if (event.kind == fakes::EventKind::stored && event.subject == engine::wire::kSubjectSubmit) on_submission(event);
    if (event.kind == fakes::EventKind::fault && event.name == "nats.power_cut") excuse_all();
}

void RunProgress::on_submission(const fakes::Event& event) {
    if (!event.message_id.starts_with(kSubmitId)) return;
    // Bytes that were garbled on their way may name anything: the message id is a header.
    const std::string_view meant = event.message_id.substr(kSubmitId.size());
    const auto sent = requests_.find(meant);
    if (sent != requests_.end() && event.payload != sent->second) garbled_.emplace(meant);
    if (event.packet == nullptr || !event.packet->has_job_request() || event.packet->job_request().job_id() != meant) {
        garbled_.emplace(meant);
        return;
    }
    if (event.packet->sender_id() != kSender) return;
    const cap::JobRequest& request = event.packet->job_request();
    const auto run = runs_.find(run_of_job(request.job_id()));
    if (run == runs_.end() || run->second.excused) return;
    if (!committed_.contains(request.job_id()))
        violated(event.node, request.job_id(), "it is submitted, and no document of its run has named it",
                 run->second.written);
}

void RunProgress::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                           std::string_view after) {
    if (!key.starts_with(kOutboxPrefix) || !field.starts_with(kSubmissionPrefix)) return;
    const std::string_view job = field.substr(kSubmissionPrefix.size());
    const auto run = runs_.find(run_of_job(job));
    if (run == runs_.end() || run->second.excused) return;
    const auto [first, is_new] = requests_.try_emplace(std::string(job), after);
    if (is_new || first->second == after) return;
    violated(client, job, "it is to be submitted a second time, and as another request", run->second.written);
}

void RunProgress::at_rest(const RestView& view) {
    const auto state_of = [&view](std::string_view job) { return job_state(view.redis, job); };
    for (const auto& [name, run] : runs_) {
        if (run.excused || view.redis.find("wf:run:" + name) == nullptr) continue;
        const RunWaits waits = run_waits(run.document, state_of);
        if (waits.over) continue;
        if (!waits.otherwise.empty()) {
            const json& step = step_or_nothing(run.document, waits.otherwise);
            const std::string job = member_text(step, "job_id");
            if (!job.empty() && loss_of(job).any()) continue;
            if (job.empty() && !view.quiet && is_to_come(step)) continue;
            const std::string state = state_of(job);
            if (state.empty() && garbled_.contains(job)) continue;
            violated({}, job,
                     fmt::format("at the end the run {} is {}: its step {} is {}, {}", name,
                                 member_text(run.document, "status"), waits.otherwise, step_status(step),
                                 job.empty()     ? "due " + member_text(step, "next_attempt_at")
                                 : state.empty() ? "and its job is not known to Redis"
                                                 : "and its job " + state),
                     run.written);
            continue;
        }
        const auto begun = runs_.upper_bound(name + ".");
        const bool has_begun_another = begun != runs_.end() && begun->first.starts_with(name + ".");
        if (!waits.for_a_human && !has_begun_another)
            violated({}, {},
                     fmt::format("at the end the run {} is {}, and none of its steps waits for anything", name,
                                 member_text(run.document, "status")),
                     run.written);
    }
}

bool RunProgress::is_to_come(const json& step) const {
    const auto due = time_of(step, "next_attempt_at");
    return due && *due > perfect_wall(told_at());
}

void RunProgress::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why,
                              const fakes::redis::Value&, std::int64_t) {
    if (why != fakes::redis::Removal::evicted) return;
    // What stands in the keys that all runs share is nobody's in particular.
    const bool of_runs = key.starts_with("wf:") || key.starts_with("lockstep:wf:") || key.starts_with("cordum:wf:");
    if (of_runs) excuse_all();
}

void RunProgress::excuse_all() {
    for (auto& [name, run] : runs_) run.excused = true;
}

void RunProgress::restored(const fakes::redis::Keyspace&) { excuse_all(); }

}  // namespace lockstep::sim
