#include "sim/properties/drawn_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

namespace lockstep::sim::properties {

namespace {

constexpr int kFaultsMax = 5;
constexpr int kSettingsMax = 3;

struct Setting {
    const char* name;
    std::array<const char*, 3> values;
};

// The first value of each is the mildest: values shrink towards it.
constexpr std::array kSettings{
    Setting{"job_lock_ttl", {"60s", "20s", "5s"}},        Setting{"bus_ack_wait", {"10m", "1m", "10s"}},
    Setting{"worker_ttl", {"30s", "15s", "10s"}},         Setting{"pending_age", {"2m", "30s", "10s"}},
    Setting{"reconciler_interval", {"30s", "10s", "5s"}}, Setting{"dispatch_timeout", {"5m", "1m", "20s"}},
    Setting{"backoff_max", {"30s", "5s", "2s"}},
};

std::string seconds(int count) { return fmt::format("{}s", count); }

std::string scheduler_of(const DrawnCase& drawn, int target) {
    return fmt::format("scheduler-{}", target % drawn.schedulers);
}
const char* outcome_of(int target) {
    static constexpr std::array kOutcomes{"not_applied", "unknown", "lost"};
    return kOutcomes.at(static_cast<std::size_t>(target) % kOutcomes.size());
}
std::string worker_of(const DrawnCase& drawn, int target) { return fmt::format("w-{}", target % drawn.workers); }

/// Faults in time, then faults on events. The first are the mildest.
using MakeFault = Document (*)(const DrawnCase& drawn, const DrawnFault& fault);

constexpr std::array<MakeFault, 14> kFaults{
    [](const DrawnCase&, const DrawnFault&) -> Document { return {{"do", "kernel.outage"}}; },
    [](const DrawnCase&, const DrawnFault&) -> Document {
        return {{"do", "kernel.errors"}, {"status", "UNAVAILABLE"}};
    },
    [](const DrawnCase&, const DrawnFault& fault) -> Document {
        return {{"do", "redis.errors"}, {"rate", 0.3}, {"outcome", outcome_of(fault.target)}};
    },
    [](const DrawnCase& drawn, const DrawnFault& fault) -> Document {
        return {{"do", "worker.silence"}, {"target", worker_of(drawn, fault.target)}};
    },
    [](const DrawnCase&, const DrawnFault&) -> Document { return {{"do", "nats.lost_acks"}, {"rate", 0.5}}; },
    [](const DrawnCase&, const DrawnFault&) -> Document { return {{"do", "nats.duplicate"}, {"rate", 0.5}}; },
    [](const DrawnCase&, const DrawnFault& fault) -> Document {
        return {{"do", "nats.publish_errors"}, {"rate", 0.3}, {"outcome", outcome_of(fault.target)}};
    },
    [](const DrawnCase& drawn, const DrawnFault& fault) -> Document {
        return {{"do", "partition"},
                {"a", scheduler_of(drawn, fault.target)},
                {"b", fault.target % 2 == 0 ? "redis" : "nats"}};
    },
    [](const DrawnCase& drawn, const DrawnFault& fault) -> Document {
        return {{"do", "pause"}, {"target", scheduler_of(drawn, fault.target)}};
    },
    [](const DrawnCase& drawn, const DrawnFault& fault) -> Document {
        return {{"do", "crash"}, {"target", scheduler_of(drawn, fault.target)}};
    },
    [](const DrawnCase& drawn, const DrawnFault& fault) -> Document {
        return {{"do", "crash"}, {"target", worker_of(drawn, fault.target)}};
    },
    [](const DrawnCase&, const DrawnFault&) -> Document { return {{"do", "nats.garbled_delivery"}, {"rate", 0.3}}; },
    // On an event: the very node that acts freezes or dies there.
    [](const DrawnCase&, const DrawnFault&) -> Document { return {{"do", "pause"}, {"target", "actor"}}; },
    [](const DrawnCase&, const DrawnFault&) -> Document { return {{"do", "crash"}, {"target", "actor"}}; },
};
constexpr int kOnEvents = 2;  // the last of them
constexpr int kKernelFault = 0;
constexpr int kStoreFault = 2;
constexpr int kWorkerFault = 3;
constexpr int kSchedulerCrash = 9;
constexpr int kGarbledDelivery = 11;

Document event_of(const DrawnFault& fault) {
    static constexpr std::array<const char*, 3> kWhen{"before", "applied", "answered"};
    const char* when = kWhen.at(static_cast<std::size_t>(fault.target) % kWhen.size());
    switch (fault.target / 3 % 4) {
        case 0: return {{"event", "publish"}, {"subject", "worker.*.jobs"}, {"when", when}, {"nth", fault.nth}};
        case 1: return {{"event", "redis"}, {"script", "commit"}, {"when", when}, {"nth", fault.nth}};
        case 2: return {{"event", "ack"}, {"when", when}, {"nth", fault.nth}};
        default: return {{"event", "kernel_check"}, {"when", when}, {"nth", fault.nth}};
    }
}

Document fault_of(const DrawnCase& drawn, const DrawnFault& fault) {
    const auto kind = static_cast<std::size_t>(fault.kind) % kFaults.size();
    Document out = Document::object();
    if (kind + kOnEvents >= kFaults.size())
        out["on"] = event_of(fault);
    else
        out["at"] = seconds(fault.at_s);
    const Document what = kFaults.at(kind)(drawn, fault);
    for (const auto& [key, value] : what.items()) out[key] = value;
    out["for"] = seconds(fault.for_s);
    return out;
}

/// Only the rules that some job of the case needs.
Document policy_of(const DrawnCase& drawn) {
    Document rules = Document::array();
    if (drawn.asked > 0)
        rules.push_back(
            {{"id", "ask"}, {"match", {{"labels", {{"needs", "a human"}}}}}, {"decision", "require_approval"}});
    if (drawn.denied > 0)
        rules.push_back({{"id", "no"}, {"match", {{"labels", {{"needs", "nothing"}}}}}, {"decision", "deny"}});
    if (drawn.limited > 0)
        rules.push_back({{"id", "few"},
                         {"match", {{"labels", {{"needs", "few"}}}}},
                         {"decision", "allow_with_constraints"},
                         {"constraints", {{"budgets", {{"max_concurrent_jobs", 2}}}}}});
    return {{"default_decision", "allow"}, {"rules", std::move(rules)}};
}

void add_jobs(Document& load, const char* at, int count, int per_second, Document job) {
    if (count == 0) return;
    load.push_back({{"at", at}, {"count", count}, {"rate", fmt::format("{}/s", per_second)}, {"job", std::move(job)}});
}

Document load_of(const DrawnCase& drawn) {
    Document load = Document::array();
    if (drawn.plain > 0)
        load.push_back({{"at", "1s"},
                        {"topic", "job.default"},
                        {"count", drawn.plain},
                        {"rate", fmt::format("{}/s", drawn.per_second)}});
    if (drawn.large) load.back()["payload_bytes"] = 9000;
    add_jobs(load, "2s", drawn.denied, drawn.per_second, {{"labels", {{"needs", "nothing"}}}});
    add_jobs(load, "2s", drawn.limited, drawn.per_second, {{"labels", {{"needs", "few"}}}, {"tenant_id", "t"}});
    for (int i = 0; i < drawn.asked; ++i) {
        const std::string id = fmt::format("asked-{}", i);
        load.push_back({{"at", "2s"}, {"job", {{"job_id", id}, {"labels", {{"needs", "a human"}}}}}});
        load.push_back({{"at", seconds(6 + 4 * i)}, {"approve", id}});
    }
    if (drawn.steps > 0) {
        Document step = {
            {"workflow_id", "wf"}, {"labels", {{"run_id", "run-1"}}}, {"compensation", {{"topic", "job.default"}}}};
        add_jobs(load, "3s", drawn.steps, 4, step);
        step["env"] = {{"SIM_OUTCOME", "FAILED_FATAL"}};
        load.push_back({{"at", "8s"}, {"job", std::move(step)}});
    }
    if (drawn.runs > 0) {
        const Document work = {{"type", "worker"}, {"topic", "job.default"}};
        Document last = work;
        last["depends_on"] = Document::array({"wait"});
        const Document wait = {{"type", "delay"}, {"delay_sec", 12}, {"depends_on", Document::array({"first"})}};
        load.push_back({{"at", "1s"},
                        {"workflow",
                         {{"put",
                           {{"id", "three-steps"},
                            {"org_id", "default"},
                            {"steps", {{"first", work}, {"wait", wait}, {"last", last}}}}}}}});
        load.push_back({{"at", "2s"},
                        {"count", drawn.runs},
                        {"rate", fmt::format("{}/s", drawn.per_second)},
                        {"workflow", {{"start", "three-steps"}}}});
    }
    add_jobs(load, "70s", drawn.late, drawn.per_second, Document::object());
    add_jobs(load, "2s", drawn.marked, drawn.per_second,
             {{"labels", {{"safety_bypassed", "true"}}}, {"env", {{"CORDUM_MAX_RETRIES", "99"}}}});
    add_jobs(load, "2s", drawn.hanging, drawn.per_second, {{"env", {{"SIM_OUTCOME", "hang"}}}});
    add_jobs(load, "2s", drawn.secrets, drawn.per_second,
             {{"env", {{"SIM_OUTPUT", "the key is AKIAIOSFODNN7EXAMPLE"}}}});
    return load;
}

rc::Gen<DrawnFault> any_fault() {
    return rc::gen::build<DrawnFault>(
        rc::gen::set(&DrawnFault::kind, rc::gen::inRange(0, static_cast<int>(kFaults.size()))),
        rc::gen::set(&DrawnFault::target, rc::gen::inRange(0, 12)),
        rc::gen::set(&DrawnFault::at_s, rc::gen::inRange(1, 60)),
        rc::gen::set(&DrawnFault::for_s, rc::gen::inRange(1, 120)),
        rc::gen::set(&DrawnFault::nth, rc::gen::inRange(1, 12)));
}

template <class T>
std::vector<T> at_most(std::size_t count, rc::Gen<T> gen) {
    auto all = *rc::gen::container<std::vector<T>>(std::move(gen));
    if (all.size() > count) all.resize(count);
    return all;
}

DrawnFault fault_of_kind(int kind) {
    DrawnFault fault = *any_fault();
    fault.kind = kind;
    fault.at_s = 2;  // while there is work
    fault.for_s = std::max(fault.for_s, 20);
    return fault;
}

}  // namespace

Focus focus_of(const std::string& invariant) {
    if (invariant == "dead_letter_complete") return {.denied = 2};
    if (invariant == "approval_bound") return {.asked = 1};
    if (invariant == "tenant_limit" || invariant == "slot_used" || invariant == "no_starvation") return {.limited = 6};
    if (invariant == "saga_exact") return {.steps = 3};
    if (invariant == "quarantine_final") return {.secrets = 2};
    if (invariant == "circuit_rules") return {.kernel_fault = true};
    if (invariant == "fail_closed" || invariant == "retry_bounds") return {.store_fault = true};
    if (invariant == "no_cold_start") return {.late = 3, .restart = true};
    if (invariant == "live_worker_only") return {.late = 3, .worker_fault = true};
    if (invariant == "single_ticker" || invariant == "lock_exclusion") return {.schedulers = 2};
    if (invariant == "policy_marks_own") return {.marked = 2};
    if (invariant == "result_heard") return {.readers = 1};
    if (invariant == "sound_message_kept") return {.garbled = true};
    if (invariant == "bounded_memory") return {.large = true};
    if (invariant == "stored_result_wins") return {.unheard = true};
    if (invariant == "cancel_told") return {.hanging = 1};
    if (invariant == "routing_rules") return {.workers = 2};
    if (invariant == "hearsay") return {.late = 3, .restart = true};
    if (invariant == "limits_in_force" || invariant == "valid_requests") return {.limited = 6};
    if (invariant == "fail_modes") return {.kernel_fault = true};
    if (invariant == "delay_timer_kept" || invariant.starts_with("run")) return {.runs = 2};
    return {};
}

rc::Gen<DrawnCase> any_case(Focus focus, std::vector<std::string> without) {
    return rc::gen::exec([focus, without = std::move(without)] {
        DrawnCase drawn;
        drawn.seed = static_cast<std::uint64_t>(*rc::gen::inRange(1, 1'000'000));
        drawn.schedulers = *rc::gen::inRange(focus.schedulers, 4);
        drawn.workers = *rc::gen::inRange(focus.workers, 4);
        drawn.slots = *rc::gen::inRange(1, 5);
        drawn.service_ms = *rc::gen::inRange(50, 4000);
        drawn.per_second = *rc::gen::inRange(1, 40);
        drawn.plain = *rc::gen::inRange(1, 25);
        drawn.denied = *rc::gen::inRange(focus.denied, focus.denied + 3);
        drawn.asked = *rc::gen::inRange(focus.asked, focus.asked + 3);
        drawn.limited = *rc::gen::inRange(focus.limited, focus.limited + 4);
        drawn.steps = *rc::gen::inRange(focus.steps, focus.steps + 3);
        drawn.secrets = *rc::gen::inRange(focus.secrets, focus.secrets + 3);
        if (focus.readers > 0) drawn.readers = *rc::gen::inRange(focus.readers, focus.readers + 2);
        if (focus.marked > 0) drawn.marked = *rc::gen::inRange(focus.marked, focus.marked + 3);
        if (focus.runs > 0) drawn.runs = *rc::gen::inRange(focus.runs, focus.runs + 4);
        if (focus.hanging > 0) drawn.hanging = *rc::gen::inRange(focus.hanging, focus.hanging + 2);
        if (focus.late > 0) drawn.late = *rc::gen::inRange(focus.late, focus.late + 3);
        drawn.settings = at_most(kSettingsMax, rc::gen::pair(rc::gen::inRange(0, static_cast<int>(kSettings.size())),
                                                             rc::gen::inRange(0, 3)));
        drawn.faults = at_most(kFaultsMax, any_fault());
        if (focus.kernel_fault) drawn.faults.push_back(fault_of_kind(kKernelFault));
        if (focus.store_fault) drawn.faults.push_back(fault_of_kind(kStoreFault));
        if (focus.worker_fault) drawn.faults.push_back(fault_of_kind(kWorkerFault));
        // Just before the late jobs come.
        if (focus.restart) drawn.faults.push_back({.kind = kSchedulerCrash, .at_s = 69, .for_s = 2});
        if (focus.garbled) drawn.faults.push_back(fault_of_kind(kGarbledDelivery));
        drawn.large = focus.large;
        drawn.short_of_time = focus.unheard;
        if (focus.unheard)
            for (int i = 0; i < drawn.schedulers; ++i)
                drawn.faults.push_back({.kind = kSchedulerCrash, .target = i, .at_s = 2, .for_s = 40});
        drawn.without = without;
        return drawn;
    });
}

Document document_of(const DrawnCase& drawn) {
    Document out = Document::object();
    out["name"] = "drawn-by-a-property";
    out["seed"] = drawn.seed;
    out["duration"] = "3h";
    Document& cluster = out["cluster"];
    cluster["schedulers"] = drawn.schedulers;
    if (drawn.readers > 0) cluster["result_readers"] = drawn.readers;
    if (drawn.runs > 0) cluster["workflow_engines"] = 2;
    for (const auto& [which, value] : drawn.settings) {
        const Setting& setting = kSettings.at(static_cast<std::size_t>(which));
        cluster["config"][setting.name] = setting.values.at(static_cast<std::size_t>(value));
    }
    if (drawn.short_of_time) cluster["config"]["running_timeout"] = "20s";
    if (drawn.large) {
        // What is counted in bytes is a hundredth of the defaults, the window less.
        cluster["config"]["bus_bytes_in_flight"] = 40'000;
        cluster["config"]["bus_rate_limit"] = 2'560'000;
        cluster["nats"] = {{"max_payload", 10'486}, {"max_pending", 671'089}};
        cluster["kernel"]["latency"] = "200ms";
    }
    if (drawn.asked + drawn.denied + drawn.limited > 0) cluster["kernel"]["policy"] = policy_of(drawn);
    if (drawn.secrets > 0)
        cluster["output_policy"] = {
            {"enabled", true},
            {"rules", Document::array({{{"id", "keys"},
                                        {"decision", "quarantine"},
                                        {"match", {{"scanners", Document::array({"secret"})}}}}})}};
    cluster["workers"] = Document::array({{{"id", "w"},
                                           {"count", drawn.workers},
                                           {"max_parallel_jobs", drawn.slots},
                                           {"service_time", fmt::format("{}ms", drawn.service_ms)}}});
    out["load"] = load_of(drawn);
    for (const DrawnFault& fault : drawn.faults) out["faults"].push_back(fault_of(drawn, fault));
    if (!drawn.without.empty()) out["without"] = drawn.without;
    out["expect"] = {{"invariants", "all"}};
    return out;
}

void showValue(const DrawnCase& drawn, std::ostream& os) { os << '\n' << pretty(document_of(drawn)); }

}  // namespace lockstep::sim::properties
