#include "prod/ctl/waiting.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "engine/routing/pick.h"
#include "engine/store/job_state.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

Micros micros_of(engine::Duration span) { return std::chrono::duration_cast<std::chrono::microseconds>(span).count(); }
std::string span_of(Micros micros) { return length(std::chrono::microseconds(micros)); }
std::string at(Micros micros) { return micros_as_time(std::to_string(micros)); }

/// How long a job may stay with its worker: what the topic says, else what holds for all.
Micros limit_of(const engine::Timeouts* timeouts, const std::string& topic, bool running,
                const engine::Tunables& tunables) {
    engine::Duration general = running ? tunables.running_timeout : tunables.dispatch_timeout;
    if (timeouts == nullptr) return micros_of(general);
    if (timeouts->reconciler.given) {
        const auto set = engine::with_fallbacks(timeouts->reconciler);
        general = running ? set.running : set.dispatch;
    }
    const auto own = timeouts->topics.find(topic);
    if (own == timeouts->topics.end()) return micros_of(general);
    const engine::Duration limit = running ? own->second.running : own->second.dispatch;
    return micros_of(limit.count() > 0 ? limit : general);
}

/// "no_workers: nobody in pool x" as the cause and what is said of it.
std::pair<std::string, std::string> split_cause(const std::string& text) {
    const auto colon = text.find(": ");
    if (colon == std::string::npos) return {text, {}};
    return {text.substr(0, colon), text.substr(colon + 2)};
}

/// A worker has it, or is about to.
Waiting with_worker(const JobOnFile& job, const Surroundings& around, bool running) {
    Waiting answer;
    answer.since = job.time("updated_at");
    const std::string worker = job.get("ls_worker").empty() ? job.get("worker_id") : job.get("ls_worker");
    const engine::Timeouts* timeouts = around.timeouts ? &*around.timeouts : nullptr;
    if (answer.since) answer.until = *answer.since + limit_of(timeouts, job.get("topic"), running, around.tunables);
    if (!job.get("ls_result_first").empty()) {
        answer.cause = "result_in_hand";
        answer.says = "its worker has reported, and a scheduler has not settled the result yet";
        answer.hint = "look at the schedulers' log and at Redis and NATS: lockstepctl doctor";
        return answer;
    }
    const bool silent = around.snapshot_known && !worker.empty() && !around.workers.contains(worker);
    if (silent) {
        answer.cause = "worker_silent";
        answer.says = fmt::format("worker {} has it and has not been heard for {} or longer", worker,
                                  length(around.tunables.worker_ttl));
        answer.hint = "start the worker again, or end the job: lockstepctl cancel " + job.job;
        return answer;
    }
    answer.cause = running ? "running" : "dispatched";
    answer.says = running ? fmt::format("worker {} is at it", worker.empty() ? "(unknown)" : worker)
                          : fmt::format("it was sent to worker {}, and the stream has not confirmed that yet",
                                        worker.empty() ? "(unknown)" : worker);
    return answer;
}

/// What the last try came to, for a job that is due again at a time.
void explain_last_try(Waiting& answer, const JobOnFile& job, const Surroundings& around) {
    const std::string decision = job.get("safety_decision");
    const std::string policy_says = job.get("safety_reason").empty() ? "" : ": " + job.get("safety_reason");
    if (decision == "THROTTLE") {
        answer.cause = "throttled";
        answer.says = "policy asks to try it later" + policy_says;
        answer.hint = job.get("safety_rule_id").empty() ? "" : "the rule is " + job.get("safety_rule_id");
        return;
    }
    if (decision == "UNAVAILABLE") {
        const bool open = around.circuit_failures >= around.tunables.circuit_fail_budget;
        answer.cause = open ? "circuit_open" : "policy_unavailable";
        answer.says =
            open ? fmt::format("the safety kernel has failed {} times in a row and is not asked for another {}",
                               around.circuit_failures, span_of(around.circuit_ms_left * 1000))
                 : "the safety kernel gave no answer" + policy_says;
        answer.hint = "look at the kernel (SAFETY_KERNEL_ADDR); the job goes on by itself once it answers";
        return;
    }
    const std::string misses = job.get("ls_input_misses");
    if (!misses.empty() && misses != "0") {
        answer.cause = "input_missing";
        answer.says = "policy is to see its input, and nothing is stored under its pointer yet";
        answer.hint = "store it as ctx:" + job.job;
        return;
    }
    const auto [cause, detail] = split_cause(job.get("ls_last_cause"));
    if (cause == "no_workers" || cause == "pool_overloaded" || cause == "no_pool_mapping") {
        answer.cause = cause;
        answer.says = fmt::format("{} ({})", detail.empty() ? cause : detail, places_for(job.get("topic"), around));
        answer.hint = cause == "no_pool_mapping" ? "name a pool for the topic, or one that offers what the job requires"
                                                 : "start workers in that pool; those there are: lockstepctl workers";
        return;
    }
    if (!cause.empty()) {
        answer.cause = "delayed";
        answer.says = "the last try failed: " + (detail.empty() ? cause : fmt::format("{} ({})", detail, cause));
        return;
    }
    if (decision.empty()) {
        answer.cause = "undecided";
        answer.says = "policy has not been asked about it yet";
        return;
    }
    answer.cause = "due";
    answer.says = fmt::format("policy says {}; it has not been sent to a worker yet", decision);
}

/// Neither ended nor with a worker.
Waiting before_dispatch(const JobOnFile& job, const Surroundings& around) {
    Waiting answer;
    answer.since = job.time("updated_at");
    if (job.lock_ms_left != -2) {
        answer.cause = "in_hand";
        answer.says = "a scheduler or a gateway is at it right now and holds its lock";
        if (job.lock_ms_left >= 0) answer.until = around.now + job.lock_ms_left * 1000;
        if (job.lock_ms_left == -1) {
            answer.says = "its lock is held and never runs out, which none of ours does";
            answer.hint = "once nobody works on it: redis-cli DEL cordum:scheduler:job:" + job.job;
        }
        return answer;
    }
    if (job.get("state") == "APPROVAL_REQUIRED") {
        answer.cause = "approval";
        answer.says = "it waits for a person's approval";
        if (!job.get("safety_reason").empty()) answer.says += ": " + job.get("safety_reason");
        if (!job.get("safety_rule_id").empty()) answer.says += fmt::format(" (rule {})", job.get("safety_rule_id"));
        answer.hint = fmt::format("lockstepctl approve {0}, or lockstepctl reject {0}", job.job);
        return answer;
    }
    if (!job.request_stored) {
        answer.cause = "request_lost";
        answer.says = "its stored request is gone, so that only its message can bring it back";
        answer.hint = "submit it again, or end it: lockstepctl cancel " + job.job;
        return answer;
    }
    if (job.place_in_line > 0) {
        const std::string tenant = job.get("tenant").empty() ? "default" : job.get("tenant");
        answer.cause = "tenant_limit";
        answer.says =
            fmt::format("tenant {} has {} jobs at work{}; it is number {} of {} in line", tenant, job.slots_taken,
                        job.get("ls_waits_limit").empty() ? "" : " and may have " + job.get("ls_waits_limit"),
                        job.place_in_line, job.line_length);
        if (const auto stood = job.time("ls_waits_since")) answer.since = stood;
        answer.hint = "it goes on when one of them ends; the limit is max_concurrent_jobs of the policy rule";
        return answer;
    }
    if (job.capacity_rank > 0) {
        const auto demand = engine::Demand::of_queue(job.get("ls_queue"));
        answer.cause = "pool_overloaded";
        answer.says = fmt::format("it waits for capacity of {} {}, at about position {}; {}",
                                  demand && demand->pools.size() > 1 ? "pools" : "pool",
                                  demand ? fmt::format("{}", fmt::join(demand->pools, ", ")) : "?",
                                  job.capacity_position, places_for(job.get("topic"), around));
        if (const auto since = job.time("ls_waits_since")) answer.since = since;
        answer.hint = "it goes on when a worker has a free slot; those there are: lockstepctl workers";
        if (demand && demand->pools.empty()) {
            answer.cause = "no_pool_mapping";
            answer.says = fmt::format(
                "no pool of topic {} may have it any more (its preferred_pool and meta.requires count, too); it has "
                "kept its "
                "place",
                job.get("topic"));
            answer.hint = "it goes on when one may, and ends FAILED with no_workers otherwise";
        }
        return answer;
    }
    explain_last_try(answer, job, around);
    if (const auto next = job.time("ls_next_attempt_at"); next && *next > around.now) {
        answer.until = next;
    } else if (answer.since) {
        // Its message comes again by itself; where it does not, the replayer finds the job at this age.
        answer.until = std::max(around.now, *answer.since + micros_of(around.tunables.pending_age)) +
                       micros_of(around.tunables.replayer_interval);
    }
    return answer;
}

nlohmann::json time_json(std::optional<Micros> time) { return time ? nlohmann::json(at(*time)) : nlohmann::json(); }

}  // namespace

std::string JobOnFile::capacity_key() const {
    if (get("ls_queue").empty()) return {};
    const std::string tenant = get("tenant");
    return "lockstep:capacity:jobs:" + get("ls_queue") + (tenant.empty() ? "default" : tenant);
}

std::string JobOnFile::get(std::string_view name) const {
    const auto found = fields.find(std::string(name));
    return found == fields.end() ? std::string() : found->second;
}

std::optional<Micros> JobOnFile::time(std::string_view name) const {
    const std::string text = get(name);
    Micros micros = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), micros);
    if (error != std::errc{} || end != text.data() + text.size() || micros <= 0) return std::nullopt;
    return micros;
}

engine::Duration snapshot_patience(const engine::Tunables& tunables) {
    return 3 * tunables.snapshot_interval + tunables.snapshot_lock_ttl;
}

std::string places_for(std::string_view topic, const Surroundings& around) {
    if (!around.pools) return "the configuration service knows no pools";
    const auto found = around.pools->topics.find(topic);
    if (found == around.pools->topics.end()) return fmt::format("no pool serves topic {}", topic);
    std::string text;
    for (const std::string& pool : found->second) {
        std::int64_t workers = 0;
        std::int64_t free = 0;
        bool bounded = true;
        for (const auto& [id, worker] : around.workers) {
            if (worker.pool != pool) continue;
            ++workers;
            bounded = bounded && worker.capacity > 0;
            free += std::max<std::int64_t>(0, worker.capacity - worker.active);
        }
        const auto entry = around.pools->pools.find(pool);
        const bool out = entry != around.pools->pools.end() && entry->second.status != engine::PoolStatus::active;
        text += fmt::format("{}pool {}: {} workers{}{}", text.empty() ? "" : "; ", pool, workers,
                            bounded && workers > 0 ? fmt::format(", {} places free", free) : "",
                            out ? ", and it takes no jobs (draining or inactive)" : "");
    }
    return text;
}

Waiting why_it_waits(const JobOnFile& job, const Surroundings& around) {
    const std::string state = job.get("state");
    const auto parsed = engine::parse_job_state(state);
    if (parsed && engine::is_terminal(*parsed)) {
        const std::string reason = job.get("failure_reason");
        const bool has_letter = *parsed != engine::JobState::succeeded && *parsed != engine::JobState::cancelled;
        return {.cause = "ended",
                .says = fmt::format("it has ended: {}{}", state, reason.empty() ? "" : ", " + reason),
                .hint = has_letter ? fmt::format("lockstepctl dlq show {} says what that means and what to do", job.job)
                                   : "",
                .since = job.time("updated_at"),
                .until = {}};
    }
    if (!around.snapshot_known || around.now - around.snapshot_at > micros_of(snapshot_patience(around.tunables))) {
        Waiting answer;
        answer.cause = "no_scheduler";
        answer.says = around.snapshot_known
                          ? fmt::format("no scheduler seems to run: the last snapshot of workers is {} old",
                                        span_of(around.now - around.snapshot_at))
                          : "no scheduler seems to run: there is no snapshot of workers";
        answer.hint = "start lockstepd, or look why it is not ready: /readyz of each";
        answer.since = job.time("updated_at");
        return answer;
    }
    if (state == "RUNNING" || state == "DISPATCHED") return with_worker(job, around, state == "RUNNING");
    return before_dispatch(job, around);
}

nlohmann::json waiting_json(const JobOnFile& job, const Waiting& waiting) {
    return {{"job_id", job.job},
            {"state", job.get("state")},
            {"topic", job.get("topic")},
            {"tenant", job.get("tenant")},
            {"cause", waiting.cause},
            {"says", waiting.says},
            {"hint", waiting.hint},
            {"since", time_json(waiting.since)},
            {"until", time_json(waiting.until)}};
}

}  // namespace lockstep::prod
