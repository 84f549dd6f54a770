// Every constant of the scheduler under one name, with its documented default. Scenario files set them under
// `cluster.config`, the daemon reads LOCKSTEP_<UPPER_CASE> variables; both go through `set_tunable`.
// What each is for: `lockstep list tunables`; where they come from: settings.md, wire.md 4.1, redis-schema.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>

#include "engine/runtime/time.h"

namespace lockstep::engine {

using namespace std::chrono_literals;

/// `Text` is a word that is chosen, see Tunables.
template <class Text>
struct BasicTunables {
    // Store and locks
    Duration store_op_timeout = 2s;
    std::int64_t redis_replicas = 0;
    Duration redis_replicas_patience = 500ms;
    Duration job_lock_ttl = 60s;
    Duration lock_poll = 25ms;
    Duration lock_wait = 2s;
    std::int64_t max_renewal_failures = 3;
    Text lock_on_abandon = "continue";

    // Retries
    std::int64_t max_scheduling_retries = 50;
    std::int64_t max_dispatch_retries = 3;
    Duration retry_delay_busy = 500ms;
    Duration retry_delay_store = 1s;
    Duration retry_delay_publish = 2s;
    Duration retry_delay_no_workers = 2s;
    Duration backoff_base = 1s;
    Duration backoff_max = 30s;
    Duration backoff_jitter = 500ms;
    Duration overload_limit = 24h;

    // Dispatch
    Duration publish_timeout = 5s;
    Duration publish_settle = 2s;
    Duration publish_resend_limit = 100s;
    bool routing_inflight_correction = true;
    bool topic_fallback = false;
    bool results_from_any_worker = false;
    double overload_utilization = 0.9;
    double overload_cpu = 90;
    double overload_gpu = 90;

    // Policy
    Duration safety_timeout = 2s;
    Duration safety_throttle_delay = 5s;
    Duration safety_unavailable_delay = 5s;
    Duration policy_answer_max_age = 5s;
    Text policy_check_fail_mode = "closed";
    Text pointer_prefixes = "art:";
    std::int64_t circuit_fail_budget = 3;
    Duration circuit_open_for = 30s;
    std::int64_t circuit_half_open_max = 3;
    std::int64_t circuit_close_after = 2;
    bool output_policy_enabled = false;
    Text output_policy_fail_mode = "open";
    Duration output_meta_timeout = 100ms;
    Duration output_content_timeout = 30s;

    // Registry and snapshot
    Duration worker_ttl = 30s;
    Duration hydrated_worker_ttl = 15s;
    Duration snapshot_interval = 5s;
    Duration snapshot_lock_ttl = 10s;
    Duration snapshot_read_timeout = 5s;

    // Loops
    Duration reconciler_interval = 30s;
    std::int64_t reconciler_max_iterations = 100;
    std::int64_t reconciler_batch = 200;
    std::int64_t reconciler_max_retries = 3;
    Duration reconciler_scheduled_timeout = 0s;
    bool reconciler_emit_dead_letter = true;
    bool cancel_on_timeout = true;
    Duration dispatch_timeout = 5min;
    Duration running_timeout = 15min;
    Duration replayer_interval = 30s;
    Duration pending_age = 2min;
    Duration config_reload_interval = 30s;

    // Saga and workflow runs
    Duration saga_lock_ttl = 2min;
    Duration saga_rollback_timeout = 30s;
    Duration saga_entry_max_age = 168h;
    Duration run_lock_ttl = 30s;
    Duration delay_poller_interval = 5s;
    Duration delay_persist_min = 10s;
    Duration wf_scan_interval = 5s;
    std::int64_t wf_run_scan_limit = 200;
    Text wf_on_redis_error = "retry";
    Text wf_on_contention = "retry";
    Text wf_delay_remove = "after";
    std::int64_t wf_foreach_max_items = 1000;
    std::int64_t wf_expr_max_length = 4096;
    std::int64_t wf_expr_max_result_items = 10000;
    Duration wf_run_retention = 720h;
    std::int64_t wf_run_max_bytes = 4'000'000;

    // Bus
    Duration bus_ack_wait = 10min;
    std::int64_t bus_max_deliver = 100;
    std::int64_t bus_max_ack_pending = 2048;
    Duration bus_processed_ttl = 20min;
    Duration bus_inflight_ttl = 2min;
    Text bus_guard_key_scope = "consumer";
    Text bus_guard_on_error = "degrade";
    std::int64_t bus_rate_limit = 256'000'000;      // bits per second
    std::int64_t bus_bytes_in_flight = 64'000'000;  // bytes
    Duration stream_clock_margin = 1min;
    std::int64_t max_in_flight = 512;
    Duration shutdown_grace = 10s;

    // Retention
    Duration job_meta_ttl = 168h;
    Duration data_ttl = 24h;
    Duration dlq_entry_ttl = 720h;
    std::int64_t dlq_max_size = 10000;
    std::int64_t dlq_undecodable_max_size = 1000;
};

using Tunables = BasicTunables<std::string>;
/// The defaults as the compiler can see them, which no std::string lets it (libstdc++ 12 under clang): for rules between them.
inline constexpr BasicTunables<std::string_view> kDefaultTunables;

/// One entry of the table of names.
struct TunableInfo {
    using Member = std::variant<Duration Tunables::*, std::int64_t Tunables::*, double Tunables::*, bool Tunables::*,
                                std::string Tunables::*>;
    std::string_view name;
    Member member;
    std::span<const std::string_view> choices;  // the allowed words of a text tunable
    std::string_view help;
};

/// All tunables, in the order of the struct.
[[nodiscard]] std::span<const TunableInfo> tunable_table();
/// Null when there is none of that name.
[[nodiscard]] const TunableInfo* find_tunable(std::string_view name);

/// Sets one tunable from text: durations as "250us", "20ms", "1.5s", "10m", "2h" and compositions such as "1m30s"; booleans
/// as 1/true/yes/y/on and 0/false/no/n/off. The error says what was expected.
[[nodiscard]] tl::expected<void, std::string> set_tunable(Tunables& tunables, std::string_view name,
                                                          std::string_view value);
/// The value as `set_tunable` takes it.
[[nodiscard]] std::string tunable_text(const Tunables& tunables, const TunableInfo& info);

/// Go-style durations: a sequence of decimal numbers with unit ns, us, ms, s, m, h; "0". No sign.
[[nodiscard]] tl::expected<Duration, std::string> parse_duration(std::string_view text);
[[nodiscard]] std::string format_duration(Duration duration);

}  // namespace lockstep::engine
