#include "engine/config/tunables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "engine/config/tunable_minimum.h"
#include "engine/runtime/span.h"

namespace lockstep::engine {

namespace {

using Choices = std::span<const std::string_view>;
/// One word, and no "stop": a handler that were torn from a call to policy or to the bus would leave that call's outcome to
/// nobody, and gain nothing, as no commit passes the fence any more.
constexpr std::array<std::string_view, 1> kContinue{"continue"};
constexpr std::array<std::string_view, 2> kConsumerStream{"consumer", "stream"};
constexpr std::array<std::string_view, 2> kDegradeNak{"degrade", "nak"};
constexpr std::array<std::string_view, 2> kRetryLocal{"retry", "local"};
constexpr std::array<std::string_view, 3> kRetryLocalSkip{"retry", "local", "skip"};
constexpr std::array<std::string_view, 2> kAfterBefore{"after", "before"};

#define TUNABLE(name, help) \
    TunableInfo { #name, &Tunables::name, {}, help }
#define TUNABLE_CHOICE(name, choices, help) \
    TunableInfo { #name, &Tunables::name, Choices(choices), help }

const std::array kTable{
    TUNABLE(store_op_timeout, "deadline of one Redis operation"),
    TUNABLE(redis_replicas, "replicas of Redis that must have a write before it counts (WAIT); 0: none is asked"),
    TUNABLE(redis_replicas_patience, "how long they have for it; calls behind it wait meanwhile"),
    TUNABLE(job_lock_ttl, "life of a job lock; renewed at a third of it"),
    TUNABLE(lock_poll, "first pause between two looks at a busy job lock; it grows to eight times as much"),
    TUNABLE(lock_wait, "how long a handler tries for a busy job lock"),
    TUNABLE(max_renewal_failures, "consecutive failed renewals before a lock is given up"),
    TUNABLE_CHOICE(lock_on_abandon, kContinue,
                   "a handler whose lock was given up is not interrupted; it commits and publishes nothing more"),
    TUNABLE(max_scheduling_retries, "scheduling tries before a job FAILED"),
    TUNABLE(max_dispatch_retries, "picks in one try that may name a worker gone stale"),
    TUNABLE(retry_delay_busy, "redelivery after a busy job lock"),
    TUNABLE(retry_delay_store, "redelivery after a failed store operation"),
    TUNABLE(retry_delay_publish, "redelivery after a failed dead-letter publish"),
    TUNABLE(retry_delay_no_workers,
            "next try at the tenant limit of a job that holds a slot already, or where nobody is woken"),
    TUNABLE(backoff_base, "first delay of the exponential backoff"),
    TUNABLE(backoff_max, "longest delay of the exponential backoff"),
    TUNABLE(backoff_jitter,
            "random part of a backoff delay, exclusive upper bound: added, and taken off the longest delay"),
    TUNABLE(overload_limit, "how long a job waits for a worker with a free slot before it fails; 0 = for ever"),
    TUNABLE(publish_timeout, "wait for a stream's acknowledgement"),
    TUNABLE(publish_settle, "pause between two look-ups of a dispatch with an unknown outcome"),
    TUNABLE(publish_resend_limit, "latest resend of a dispatch, from its first sending"),
    TUNABLE(routing_inflight_correction, "add own dispatches since a worker's last heartbeat to its load"),
    TUNABLE(topic_fallback, "publish to the topic when no worker is eligible"),
    TUNABLE(results_from_any_worker,
            "believe results of a dispatched job whichever worker they name, not only the one it was sent to"),
    TUNABLE(overload_utilization, "active jobs per slot from which a worker is overloaded"),
    TUNABLE(overload_cpu, "cpu load from which a worker is overloaded"),
    TUNABLE(overload_gpu, "gpu utilisation from which a worker is overloaded"),
    TUNABLE(safety_timeout, "deadline of one policy check"),
    TUNABLE(safety_throttle_delay, "redelivery after a throttle decision"),
    TUNABLE(safety_unavailable_delay, "redelivery while policy is unreachable"),
    TUNABLE(policy_answer_max_age,
            "an answer of policy to a job that waits for its tenant's limit is asked for again after"),
    TUNABLE(policy_check_fail_mode, "policy unreachable: exactly `open` lets jobs through, anything else holds them"),
    TUNABLE(pointer_prefixes,
            "keys that any job's context_ptr and result_ptr may lead to begin with one of these, with commas between"),
    TUNABLE(circuit_fail_budget, "consecutive failures that open the circuit"),
    TUNABLE(circuit_open_for, "how long the circuit stays open"),
    TUNABLE(circuit_half_open_max, "probes while half-open"),
    TUNABLE(circuit_close_after, "successful probes that close the circuit"),
    TUNABLE(output_policy_enabled, "check the outputs of successful jobs"),
    TUNABLE(output_policy_fail_mode, "content check unreachable: `closed` quarantines, anything else allows"),
    TUNABLE(output_meta_timeout, "deadline of the metadata check"),
    TUNABLE(output_content_timeout, "deadline of the content check"),
    TUNABLE(worker_ttl, "silence after which a worker counts as gone"),
    TUNABLE(hydrated_worker_ttl, "the same for a worker that is known from a snapshot and has not been heard since"),
    TUNABLE(snapshot_interval, "pause between two worker snapshots"),
    TUNABLE(snapshot_lock_ttl, "life of the snapshot writer's lock"),
    TUNABLE(snapshot_read_timeout, "deadline of the warm start's read"),
    TUNABLE(reconciler_interval, "pause between two reconciler ticks"),
    TUNABLE(reconciler_max_iterations, "pages of one reconciler tick"),
    TUNABLE(reconciler_batch, "jobs of one reconciler page"),
    TUNABLE(reconciler_max_retries, "tries for one job in one reconciler tick"),
    TUNABLE(reconciler_scheduled_timeout, "age at which a SCHEDULED job times out; 0 = never"),
    TUNABLE(reconciler_emit_dead_letter, "write a dead letter for a timeout"),
    TUNABLE(cancel_on_timeout, "broadcast a cancellation for a job that timed out"),
    TUNABLE(dispatch_timeout, "age at which a DISPATCHED job times out"),
    TUNABLE(running_timeout, "age at which a RUNNING job times out"),
    TUNABLE(replayer_interval, "pause between two replayer ticks"),
    TUNABLE(pending_age, "age at which a waiting job is replayed"),
    TUNABLE(config_reload_interval, "pause between two reads of the configuration service"),
    TUNABLE(saga_lock_ttl, "life of a rollback lock"),
    TUNABLE(saga_rollback_timeout, "time for one rollback"),
    TUNABLE(saga_entry_max_age, "age at which another tenant's entries leave a shared rollback stack, with a letter"),
    TUNABLE(run_lock_ttl, "life of a workflow run's lock"),
    TUNABLE(delay_poller_interval, "pause between two polls of durable timers"),
    TUNABLE(delay_persist_min, "shortest delay that is made durable"),
    TUNABLE(wf_scan_interval, "pause between two looks at the workflow runs that are not over"),
    TUNABLE(wf_run_scan_limit, "runs of one status that one look sees"),
    TUNABLE_CHOICE(wf_on_redis_error, kRetryLocal,
                   "what a visit to a run does when Redis does not give it the lock; local: it goes on without one"),
    TUNABLE_CHOICE(wf_on_contention, kRetryLocalSkip,
                   "the same when another replica holds the lock; skip: it counts as done, as in the reference"),
    TUNABLE_CHOICE(wf_delay_remove, kAfterBefore,
                   "when a poll removes a timer that is due: after the visit, or before"),
    TUNABLE(wf_foreach_max_items, "items of one for_each, and rounds of one loop"),
    TUNABLE(wf_expr_max_length, "bytes of one expression of a workflow"),
    TUNABLE(wf_expr_max_result_items, "elements that an expression of a workflow may give"),
    TUNABLE(wf_run_retention, "how long a run is kept after its end"),
    TUNABLE(wf_run_max_bytes, "size of a run's document; a run that grows beyond it fails"),
    TUNABLE(bus_ack_wait, "silence after which a message is delivered again"),
    TUNABLE(bus_max_deliver, "deliveries of one message"),
    TUNABLE(bus_max_ack_pending, "unacknowledged messages of one consumer"),
    TUNABLE(bus_processed_ttl, "life of a processed mark; at least twice the ack wait"),
    TUNABLE(bus_inflight_ttl, "life of an in-flight mark"),
    TUNABLE_CHOICE(
        bus_guard_key_scope, kConsumerStream,
        "whom a processed mark is for; stream: the documented key, safe with one guarded consumer per stream"),
    TUNABLE_CHOICE(bus_guard_on_error, kDegradeNak, "what the bus guard does without Redis"),
    TUNABLE(bus_rate_limit, "bits a second that a durable without a limit may deliver; 0 leaves it alone"),
    TUNABLE(bus_bytes_in_flight,
            "bytes in hand from which a replica asks for no more; at least twice the largest message"),
    TUNABLE(stream_clock_margin, "how far the clocks of Redis and NATS may lie apart"),
    TUNABLE(max_in_flight, "messages handled at once by one replica"),
    TUNABLE(shutdown_grace, "time for handlers to finish on a stop"),
    TUNABLE(job_meta_ttl, "life of a job's metadata"),
    TUNABLE(data_ttl, "life of payloads and of the worker snapshot"),
    TUNABLE(dlq_entry_ttl, "life of a dead-letter entry"),
    TUNABLE(dlq_max_size, "dead-letter entries kept"),
    TUNABLE(dlq_undecodable_max_size, "the same for messages that cannot be decoded, which have an index of their own"),
};

#undef TUNABLE
#undef TUNABLE_CHOICE

/// Durations that run in a loop, bound a wait or are told to Redis.
constexpr std::array<std::string_view, 28> kPositive{
    "redis_replicas_patience",
    "store_op_timeout",
    "job_lock_ttl",
    "lock_poll",
    "publish_timeout",
    "publish_settle",
    "safety_timeout",
    "output_meta_timeout",
    "output_content_timeout",
    "worker_ttl",
    "snapshot_interval",
    "snapshot_lock_ttl",
    "snapshot_read_timeout",
    "reconciler_interval",
    "replayer_interval",
    "config_reload_interval",
    "saga_lock_ttl",
    "saga_rollback_timeout",
    "run_lock_ttl",
    "delay_poller_interval",
    "bus_ack_wait",
    "bus_processed_ttl",
    "bus_inflight_ttl",
    "job_meta_ttl",
    "data_ttl",
    "dlq_entry_ttl",
    "wf_scan_interval",
    "wf_run_retention",
};
constexpr Duration kLeast = 1ms;

/// Counts that would leave nothing to do their work with.
constexpr std::array<std::string_view, 17> kAtLeastOne{
    "max_renewal_failures", "circuit_fail_budget",       "circuit_half_open_max",
    "circuit_close_after",  "reconciler_max_iterations", "reconciler_batch",
    "bus_max_deliver",      "bus_max_ack_pending",       "max_in_flight",
    "dlq_max_size",         "dlq_undecodable_max_size",  "bus_bytes_in_flight",
    "wf_run_scan_limit",    "wf_foreach_max_items",      "wf_expr_max_length",
    "wf_run_max_bytes",     "wf_expr_max_result_items",
};

/// Of bytes and bits. Everything else is counted one by one.
constexpr std::array<std::string_view, 3> kOfBytes{"bus_rate_limit", "bus_bytes_in_flight", "wf_run_max_bytes"};
constexpr std::int64_t kCountMax = 1'000'000'000;
constexpr std::int64_t kBytesMax = 1'000'000'000'000;

struct Unit {
    std::string_view name;
    std::int64_t nanos;
};
constexpr std::array<Unit, 7> kUnits{{{"ns", 1},
                                      {"us", 1'000},
                                      {"µs", 1'000},
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"m", 60'000'000'000},
                                      {"h", 3'600'000'000'000}}};

const Unit* find_unit(std::string_view name) {
    const auto* unit = std::ranges::find(kUnits, name, &Unit::name);
    return unit == kUnits.end() ? nullptr : unit;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// What one part that is too long counts as.
constexpr std::int64_t kBeyond = kSpanMax.count() + 1;

/// One "12.5s" at the front of `text`; takes it off. Decimal arithmetic on integers, so that nothing is rounded.
tl::expected<std::int64_t, std::string> take_part(std::string_view& text) {
    std::size_t i = 0;
    unsigned __int128 whole = 0;
    unsigned __int128 fraction = 0;
    unsigned __int128 scale = 1;
    bool digits = false;
    for (; i < text.size() && is_digit(text[i]) && i < 19; ++i, digits = true) whole = whole * 10 + (text[i] - '0');
    if (i < text.size() && text[i] == '.') {
        for (++i; i < text.size() && is_digit(text[i]); ++i, digits = true) {
            if (scale >= 1'000'000'000'000) continue;
            fraction = fraction * 10 + (text[i] - '0');
            scale *= 10;
        }
    }
    std::size_t end = i;
    while (end < text.size() && !is_digit(text[end]) && text[end] != '.') ++end;
    const Unit* unit = find_unit(text.substr(i, end - i));
    if (!digits || unit == nullptr) return tl::make_unexpected(std::string{});
    const auto nanos = whole * unit->nanos + fraction * unit->nanos / scale;
    text.remove_prefix(end);
    return nanos > kBeyond ? kBeyond : static_cast<std::int64_t>(nanos);
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

using Parsed = tl::expected<void, std::string>;

Parsed assign(Duration& target, std::string_view value, const TunableInfo& info) {
    auto parsed = parse_duration(value);
    if (!parsed) return tl::make_unexpected(parsed.error());
    if (*parsed < minimum_of(info))
        return tl::make_unexpected(
            fmt::format("expected a duration of at least {}, got \"{}\"", format_duration(minimum_of(info)), value));
    target = *parsed;
    return {};
}

template <class Number>
Parsed assign_number(Number& target, std::string_view value, Number least, Number most, std::string_view expected) {
    Number parsed{};
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc{} || end != value.data() + value.size() || !(parsed >= least && parsed <= most))
        return tl::make_unexpected(fmt::format("expected {}, got \"{}\"", expected, value));
    target = parsed;
    return {};
}

Parsed assign(std::int64_t& target, std::string_view value, const TunableInfo& info) {
    const std::int64_t least = least_count_of(info);
    const std::int64_t most = most_count_of(info);
    return assign_number(target, value, least, most, fmt::format("a whole number from {} to {}", least, most));
}

Parsed assign(double& target, std::string_view value, const TunableInfo&) {
    return assign_number(target, value, 0.0, kNumberMax, fmt::format("a number from 0 to {}", kNumberMax));
}

Parsed assign(bool& target, std::string_view value, const TunableInfo&) {
    static constexpr std::array<std::string_view, 5> kTrue{"1", "true", "yes", "y", "on"};
    static constexpr std::array<std::string_view, 5> kFalse{"0", "false", "no", "n", "off"};
    const std::string word = lower(value);
    const bool yes = std::ranges::find(kTrue, word) != kTrue.end();
    if (!yes && std::ranges::find(kFalse, word) == kFalse.end())
        return tl::make_unexpected(fmt::format("expected true or false, got \"{}\"", value));
    target = yes;
    return {};
}

Parsed assign(std::string& target, std::string_view value, const TunableInfo& info) {
    if (!info.choices.empty() && std::ranges::find(info.choices, value) == info.choices.end()) {
        std::string allowed;
        for (const auto choice : info.choices)
            allowed += fmt::format("{}\"{}\"", allowed.empty() ? "" : " or ", choice);
        return tl::make_unexpected(fmt::format("expected {}, got \"{}\"", allowed, value));
    }
    // What is chosen from nothing is made of beginnings of keys.
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (!std::ranges::all_of(value, is_printable))
        return tl::make_unexpected("expected beginnings of keys in printable ASCII, with commas between");
    target = value;
    return {};
}

std::string text_of(Duration value) { return format_duration(value); }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(const std::string& value) { return value; }
template <class Number>
std::string text_of(Number value) {
    return fmt::format("{}", value);
}

}  // namespace

Duration minimum_of(const TunableInfo& info) {
    return std::ranges::find(kPositive, info.name) == kPositive.end() ? Duration{} : kLeast;
}

std::int64_t least_count_of(const TunableInfo& info) {
    return std::ranges::find(kAtLeastOne, info.name) == kAtLeastOne.end() ? 0 : 1;
}

std::int64_t most_count_of(const TunableInfo& info) {
    return std::ranges::find(kOfBytes, info.name) == kOfBytes.end() ? kCountMax : kBytesMax;
}

std::span<const TunableInfo> tunable_table() { return kTable; }

const TunableInfo* find_tunable(std::string_view name) {
    const auto* found = std::ranges::find(kTable, name, &TunableInfo::name);
    return found == kTable.end() ? nullptr : found;
}

tl::expected<void, std::string> set_tunable(Tunables& tunables, std::string_view name, std::string_view value) {
    const TunableInfo* info = find_tunable(name);
    if (info == nullptr) return tl::make_unexpected(fmt::format("there is no tunable \"{}\"", name));
    return std::visit([&](auto member) { return assign(tunables.*member, value, *info); }, info->member);
}

std::string tunable_text(const Tunables& tunables, const TunableInfo& info) {
    return std::visit([&](auto member) { return text_of(tunables.*member); }, info.member);
}

tl::expected<Duration, std::string> parse_duration(std::string_view text) {
    if (text == "0") return Duration{0};
    std::string_view rest = text;
    std::int64_t nanos = 0;
    do {
        const auto part = take_part(rest);
        if (!part)
            return tl::make_unexpected(fmt::format(
                "expected a duration such as \"250us\", \"20ms\", \"1.5s\", \"10m\" or \"2h\", got \"{}\"", text));
        nanos += *part;
        if (nanos > kSpanMax.count())
            return tl::make_unexpected(
                fmt::format("expected at most ten years, {}, got \"{}\"", format_duration(kSpanMax), text));
    } while (!rest.empty());
    return Duration{nanos};
}

std::string format_duration(Duration duration) {
    const std::int64_t nanos = duration.count();
    if (nanos == 0) return "0s";
    static constexpr std::array<std::string_view, 6> kExact{"h", "m", "s", "ms", "us", "ns"};
    for (const auto name : kExact) {
        const Unit* unit = find_unit(name);
        if (nanos % unit->nanos == 0) return fmt::format("{}{}", nanos / unit->nanos, name);
    }
    return fmt::format("{}ns", nanos);
}

}  // namespace lockstep::engine
