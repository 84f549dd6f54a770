#include "sim/spec/lifetimes.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "sim/model/job_keys.h"

namespace lockstep::sim::spec {

namespace {

using T = engine::Tunables;
using engine::Duration;
using engine::to_millis;

/// `CORDUM_IDEMPOTENCY_TTL`, which no tunable changes.
constexpr Duration kIdempotency = std::chrono::hours{2160};
constexpr std::string_view kRedacted = ":redacted:";
constexpr std::string_view kCircuit = "cordum:cb:";
constexpr std::string_view kFailuresSuffix = ":failures";
constexpr Duration kCircuitIsRemembered = std::chrono::hours{1};

constexpr Lifetime lasting(Duration life) { return {.least = to_millis(life), .most = to_millis(life)}; }

}  // namespace

Lifetimes::Lifetimes(const TunablesInForce& tunables) {
    const auto any_of = [&tunables](Duration T::* member, int times = 1) {
        return Lifetime{.least = to_millis(times * tunables.least_of(member)),
                        .most = to_millis(times * tunables.most_of(member))};
    };
    const auto at_least = [&tunables](Duration T::* member) {
        return Lifetime{.least = to_millis(tunables.least_of(member))};
    };
    const Lifetime for_ever{.for_ever = true};
    const Lifetime some{};  // it has an end
    const Lifetime while_open{.optional = true};
    const Lifetime record = any_of(&T::job_meta_ttl);
    const Lifetime letter = any_of(&T::dlq_entry_ttl);
    const Lifetime saga_lock = any_of(&T::saga_lock_ttl);
    const Lifetime mark = any_of(&T::bus_processed_ttl);
    const Lifetime waits = any_of(&T::bus_ack_wait, 2);  // a mark outlives what may come again
    open_circuit_ = any_of(&T::circuit_open_for);
    open_for_some_ = {.least = open_circuit_.least, .most = to_millis(kCircuitIsRemembered)};
    least_budget_ = tunables.least_of(&T::circuit_fail_budget);
    most_budget_ = tunables.most_of(&T::circuit_fail_budget);
    rules_ = {
        // Jobs
        {"job:meta:", "", record},
        {"job:state:", "", record},
        {"job:result_ptr:", "", record},
        {"job:req:", "", record},
        {"job:decisions:", "", record},
        {"worker:jobs:", "", record},
        {"job:idempotency:", "", lasting(kIdempotency)},
        {"job:events:", "", record},
        {"job:index:", "", for_ever},
        {"job:tenant:active:", "", for_ever},
        {"job:recent", "", for_ever},
        {"job:deadline", "", for_ever},
        {"job:", ":output_decision", record},
        {"trace:", "", record},
        {"sys:workers:snapshot", "", any_of(&T::data_ttl)},
        // Coordination
        {"cordum:scheduler:job:", "", any_of(&T::job_lock_ttl)},
        {"cordum:scheduler:snapshot:writer", "", any_of(&T::snapshot_lock_ttl)},
        {"cordum:scheduler:input_fail_open_total", "", for_ever},
        {"cordum:reconciler:default", "", any_of(&T::reconciler_interval, 2)},
        {"cordum:replayer:pending", "", any_of(&T::replayer_interval, 2)},
        {"cordum:bus:processed:", "", {std::max(mark.least, waits.least), std::max(mark.most, waits.most)}},
        {"cordum:bus:inflight:", "", any_of(&T::bus_inflight_ttl)},
        {kCircuit, kFailuresSuffix, lasting(kCircuitIsRemembered)},
        {"lockstep:cb:", ":trip", lasting(kCircuitIsRemembered)},
        {"lockstep:cb:", ":probes", lasting(kCircuitIsRemembered)},
        // Compensations
        {"saga:", ":stack", for_ever},
        {"saga:", ":lock", saga_lock},
        {"lockstep:saga:lock:", "", saga_lock},
        {"lockstep:saga:aborted:", "", record},
        {"lockstep:saga:in_hand:", "", record},
        {"lockstep:saga:met:", "", at_least(&T::saga_entry_max_age)},
        {"lockstep:saga:unreadable:", "", letter},
        {"lockstep:saga:owed", "", for_ever},
        {"lockstep:saga:pending", "", for_ever},
        {"lockstep:saga:kept", "", for_ever},
        {"lockstep:saga:", "", record},  // the stacks of runs
        // Dead letters, settings, tenants
        {"dlq:entry:", "", letter},
        {"dlq:index", "", for_ever},
        {"cfg:", "", for_ever},
        {"lockstep:dead_letter:outbox", "", for_ever},
        {"lockstep:undecodable:", "", for_ever},
        {"lockstep:output:scan_pending", "", for_ever},
        {"lockstep:durable:", "", for_ever},
        {"lockstep:tenant:slots:", "", record},
        {"lockstep:tenant:waiting:", "", record},
        {"lockstep:tenant:woken:", "", record},
        {"lockstep:tenant:turns:", "", record},
        {"lockstep:tenants:waiting", "", record},
        {"lockstep:capacity:tick", "", lasting(std::chrono::seconds{10})},
        // One dispatch in 64 renews it, by chance.
        {"lockstep:capacity:slots:", "", Lifetime{.most = record.most}},
        {"lockstep:capacity:", "", record},
        {"lockstep:deployment", "", for_ever},
        {"cordum:instance:", "", some},
        {kRedacted, "", any_of(&T::data_ttl)},
        {"ctx:", "", some},
        {"res:", "", some},
        // Workflow runs
        {"wf:run:timeline:", "", for_ever},
        {"wf:run:idempotency:", "", for_ever},
        {"wf:run:", "", for_ever},
        {"wf:runs:", "", for_ever},
        {"wf:def:", "", for_ever},
        {"wf:index:", "", for_ever},
        {"cordum:wf:run:lock:", "", some},
        {"cordum:wf:delay:timers", "", for_ever},
        {"cordum:wf:delay:poller", "", some},
        {"cordum:workflow-engine:reconciler:default", "", some},
        {"lockstep:wf:def:", "", while_open},
        {"lockstep:wf:seen:", "", while_open},
        {"lockstep:wf:open:", "", while_open},
        {"lockstep:wf:outbox:", "", while_open},
        {"lockstep:wf:asks:", "", while_open},
        {"lockstep:wf:in_hand:", "", record},
        {"lockstep:wf:due:", "", for_ever},
        {"lockstep:wf:asked", "", for_ever},
        {"lockstep:wf:outbox", "", for_ever},
        {"lockstep:wf:cancelling", "", for_ever},
        {"lockstep:wf:ended", "", for_ever},
    };
    std::ranges::sort(rules_, {}, [](const Rule& rule) { return std::pair(rule.prefix, rule.suffix); });
    for (Rule& rule : rules_) {
        if (rule.prefix.starts_with(':')) rule.pattern = "*";
        rule.pattern += rule.prefix;
        if (rule.prefix.ends_with(':')) rule.pattern += '*';
        rule.pattern += rule.suffix;
    }
}

const Lifetimes::Rule* Lifetimes::by_prefix(std::string_view key) const {
    constexpr auto kPrecedes = [](std::string_view text, const Rule& rule) { return text < rule.prefix; };
    auto rule = std::upper_bound(rules_.begin(), rules_.end(), key, kPrecedes);
    while (rule != rules_.begin()) {
        --rule;
        if (key.starts_with(rule->prefix)) {
            if (key.ends_with(rule->suffix)) return &*rule;
            continue;
        }
        // What fits is a prefix of what both begin with.
        const auto [differs, _] = std::ranges::mismatch(key, rule->prefix);
        const std::string_view shared = key.substr(0, static_cast<std::size_t>(differs - key.begin()));
        rule = std::upper_bound(rules_.begin(), rule, shared, kPrecedes);
    }
    return nullptr;
}

const Lifetimes::Rule* Lifetimes::rule_of(std::string_view key) const {
    const Rule* rule = by_prefix(key);
    // The output that a redaction stands beside may have any name.
    const bool is_payload = rule == nullptr || key.starts_with("res:") || key.starts_with("ctx:");
    return is_payload && key.find(kRedacted) != std::string_view::npos ? by_prefix(kRedacted) : rule;
}

const Lifetime* Lifetimes::of(std::string_view key) const {
    const Rule* rule = rule_of(key);
    return rule == nullptr ? nullptr : &rule->life;
}

std::string_view Lifetimes::family_of(std::string_view key) const {
    const Rule* rule = rule_of(key);
    return rule == nullptr ? std::string_view{} : rule->pattern;
}

std::map<std::string, bool> Lifetimes::families() const {
    std::map<std::string, bool> patterns;
    for (const Rule& rule : rules_) patterns.emplace(rule.pattern, rule.life.for_ever || rule.life.optional);
    return patterns;
}

const Lifetime* Lifetimes::of(std::string_view key, std::string_view value) const {
    if (!key.starts_with(kCircuit) || !key.ends_with(kFailuresSuffix)) return of(key);
    const std::int64_t failures = whole_number(value);
    if (failures >= most_budget_) return &open_circuit_;
    return failures >= least_budget_ ? &open_for_some_ : of(key);
}

}  // namespace lockstep::sim::spec
