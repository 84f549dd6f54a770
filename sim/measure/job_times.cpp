#include "sim/measure/job_times.h"

#include <charconv>
#include <utility>

#include "engine/routing/reason.h"
#include "sim/measure/units.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kJobHash = "job:meta:";
constexpr std::string_view kItsTurn = "its_turn";

bool is_end(std::string_view state) {
    return state == "SUCCEEDED" || state == "FAILED" || state == "CANCELLED" || state == "TIMEOUT" ||
           state == "DENIED" || state == "OUTPUT_QUARANTINED";
}

bool with_a_worker(std::string_view state) { return state == "DISPATCHED" || state == "RUNNING"; }

/// What a job waits for after policy has been asked about it; empty: for nothing new.
std::string_view cause_of_answer(const fakes::Event& answer) {
    if (answer.outcome != fakes::EventOutcome::applied || answer.to.starts_with("status"))
        return "policy_does_not_answer";
    if (answer.to.find("THROTTLE") != std::string_view::npos) return "policy_throttles";
    return {};
}

}  // namespace

std::vector<std::string> wait_causes() {
    using engine::DispatchReason;
    std::vector<std::string> causes{"its_turn", "policy_does_not_answer", "policy_throttles", "approval",
                                    "another_try"};
    for (int reason = 0; reason <= static_cast<int>(DispatchReason::dispatch_failed); ++reason)
        causes.emplace_back(to_string(static_cast<DispatchReason>(reason)));
    return causes;
}

JobTimes::Job& JobTimes::job(std::string_view name, Time now) {
    const auto found = jobs_.find(name);
    if (found != jobs_.end()) return found->second;
    const auto entry = jobs_.emplace(name, Job{}).first;
    Job& job = entry->second;
    job.name = entry->first;
    job.submitted = job.since = job.waits_since = now;
    job.cause = kItsTurn;
    backlog_.set(now, backlog_.now() + 1);
    return job;
}

void JobTimes::on_event(const fakes::Event& event, Time now) {
    if (event.job.empty()) return;
    switch (event.kind) {
        case fakes::EventKind::submit: static_cast<void>(job(event.job, now)); return;
        case fakes::EventKind::state: enter(job(event.job, now), event.to, now); return;
        default: break;
    }
    if (event.when != fakes::When::answered) return;
    if (const std::string_view cause = cause_of_answer(event); !cause.empty())
        waits_for(job(event.job, now), cause, now);
}

void JobTimes::enter(Job& job, std::string_view state, Time now) {
    if (state == "TIMEOUT") samples_["time_to_timeout"].push_back(millis(now - job.since));
    if (!job.state.empty() && now > job.since) samples_["in_state." + job.state].push_back(millis(now - job.since));
    const bool ended_before = is_end(job.state);
    job.state = state;
    job.since = now;
    if (state == "DISPATCHED") {
        if (!std::exchange(job.dispatched, true)) samples_["submit_to_dispatch"].push_back(millis(now - job.submitted));
    }
    if (with_a_worker(state) || is_end(state)) stop_waiting(job, now);
    if (is_end(state) && !ended_before) end(job, now);
    if (state == "APPROVAL_REQUIRED") waits_for(job, "approval", now);
    if (state == "PENDING" && job.dispatched) waits_for(job, "another_try", now);
}

void JobTimes::end(const Job& job, Time now) {
    const double took = millis(now - job.submitted);
    samples_["submit_to_terminal"].push_back(took);
    if (!job.tenant.empty()) samples_["of_tenant." + job.tenant].push_back(took);
}

void JobTimes::waits_for(Job& job, std::string_view cause, Time now) {
    if (is_end(job.state) || with_a_worker(job.state)) return;
    if (job.waits) {
        note_wait(job, now);
    } else {
        backlog_.set(now, backlog_.now() + 1);
    }
    job.waits = true;
    job.waits_since = now;
    job.cause = cause;
}

void JobTimes::stop_waiting(Job& job, Time now) {
    if (!std::exchange(job.waits, false)) return;
    note_wait(job, now);
    backlog_.set(now, backlog_.now() - 1);
}

void JobTimes::note_wait(Job& job, Time now) {
    job.waited[job.cause] += now - job.waits_since;
    if (written_ == nullptr || now == job.waits_since) return;
    const auto ns = [](Time when) { return when.time_since_epoch().count(); };
    written_->jobs[std::string(job.name)].push_back({job.cause, ns(job.waits_since), ns(now)});
}

void JobTimes::end_waits(Time now) {
    for (auto& [name, job] : jobs_) stop_waiting(job, now);
}

void JobTimes::hash_set(fakes::NodeId /*client*/, std::string_view key, std::string_view field,
                        const std::string* /*before*/, std::string_view after) {
    // A commit writes dozens of fields: whose they are is looked up for the few that count.
    const bool counts = field == "tenant" || field == "attempts" || field == "ls_waits_since" || field == "ls_queue" ||
                        field == "ls_last_cause";
    if (!counts || !key.starts_with(kJobHash)) return;
    const auto known = jobs_.find(key.substr(kJobHash.size()));
    if (known == jobs_.end()) return;
    if (field == "tenant") known->second.tenant = after;
    if (field == "attempts") std::from_chars(after.data(), after.data() + after.size(), known->second.attempts);
    if (field == "ls_waits_since") waits_for(known->second, "tenant_limit", queue_.now());
    if (field == "ls_queue") waits_for(known->second, "pool_overloaded", queue_.now());
    if (field == "ls_last_cause") waits_for(known->second, after.substr(0, after.find(':')), queue_.now());
}

void JobTimes::report(MeasuredRun& run) const {
    for (const auto& [name, samples] : samples_) run.samples[name] = samples;
    std::map<std::string, double> waited;
    std::map<std::string, double> in_state;
    std::size_t ended = 0;
    double tries = 0;
    double tried = 0;
    for (const auto& [name, job] : jobs_) {
        ended += is_end(job.state) ? 1 : 0;
        ++in_state[job.state];
        tries += job.attempts;
        tried += job.attempts > 0 ? 1 : 0;
        run.samples["attempts_per_job"].push_back(job.attempts);
        for (const auto& [cause, span] : job.waited) waited[cause] += millis(span);
    }
    for (const auto& [cause, total] : waited)
        run.values["waiting." + cause] = total / static_cast<double>(jobs_.size());
    run.values["jobs_not_ended"] = static_cast<double>(jobs_.size() - ended);
    run.values["jobs_succeeded"] = in_state["SUCCEEDED"];
    run.values["jobs_failed"] = in_state["FAILED"];
    run.values["jobs_timed_out"] = in_state["TIMEOUT"];
    if (tried > 0) run.values["retry_amplification"] = tries / tried;
}

}  // namespace lockstep::sim
