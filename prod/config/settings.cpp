#include "prod/config/settings.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "engine/config/relations.h"
#include "engine/expression/utf8.h"
#include "engine/wire/text.h"
#include "prod/config/kernel_target.h"
#include "prod/config/known_variables.h"
#include "prod/config/secrets.h"
#include "prod/config/tls_settings.h"
#include "prod/config/value_reader.h"
#include "prod/config/variables.h"
#include "prod/observe/admin_http.h"

namespace lockstep::prod {

namespace {

using engine::Duration;
using engine::Tunables;

constexpr std::int64_t kAckPendingMax = 50'000;  // the limit of the protocol's other implementations
/// For locks, records of instances and connections, after the handlers.
constexpr Duration kFarewell = std::chrono::seconds(5);
constexpr Duration kProcessedTtlMin = std::chrono::minutes(10);

/// What the wire protocol's implementations keep the key of a submission for. Nothing here can change it.
constexpr Duration kIdempotencyTtl = std::chrono::hours(2160);

/// Whether only processes of this machine reach a listener there.
bool is_loopback(const std::string& address) {
    const std::string host = address.substr(0, address.rfind(':'));
    return host == "localhost" || host == "[::1]" || host == "::1" || host.starts_with("127.");
}

class Reader : public ValueReader {
public:
    Reader(const Environment& environment, Roles roles, Settings& settings)
        : ValueReader(environment), roles_(roles), settings_(settings) {
        settings_.roles = roles;
    }

    void read() {
        for (auto& mistaken : unsupported_variables(env_)) mistake(std::move(mistaken));
        read_texts();
        read_tunables();
        read_documented_tunables();
        read_modes();
        read_servers();
        read_redis();
        if (roles_.scheduler) read_kernel();
        settings_.production = is_production();
        read_workflow();
        if (roles_.workflow && settings_.tunables.bus_guard_key_scope == "stream")
            mistake(fmt::format("LOCKSTEP_BUS_GUARD_KEY_SCOPE=stream: {}", engine::kOneMarkForTwoServices));
        read_rest();
        apply_production_rules();
        read_tls_version();
        if (mistakes.empty()) check_sense();
        for (auto& unread : unread_variables(env_)) settings_.warnings.push_back(std::move(unread));
    }

private:
    /// What is no UTF-8 could stand in no log line, series or document. Paths and secrets are any bytes.
    void read_texts() {
        for (const auto& [name, value] : env_.all()) {
            const Variable* row = find_variable(name);
            const bool path_or_secret =
                row == nullptr || row->kind == VariableKind::path || row->kind == VariableKind::secret;
            if (!path_or_secret && engine::not_utf8(value) != std::string_view::npos)
                mistake(fmt::format("{}: expected UTF-8", name));
        }
    }

    void read_tunables() {
        for (const auto& [name, value] : env_.all()) {
            if (!name.starts_with(kTunablePrefix) || value.empty()) continue;
            const std::string tunable = engine::wire::ascii_lower(name.substr(kTunablePrefix.size()));
            if (engine::find_tunable(tunable) == nullptr) continue;  // told of as a variable that nobody reads
            if (auto set = engine::set_tunable(settings_.tunables, tunable, value); !set)
                mistake(fmt::format("{}: {}", name, set.error()));
        }
    }

    void read_documented_tunables() {
        Tunables& t = settings_.tunables;
        duration("NATS_JS_ACK_WAIT", t.bus_ack_wait);
        if (t.bus_ack_wait <= Duration::zero()) {
            settings_.warnings.emplace_back("NATS_JS_ACK_WAIT is not positive: 10m is used");
            t.bus_ack_wait = std::chrono::minutes(10);
        }
        // Raised instead of refused (see engine/config/relations.h): the ack wait is what operators set.
        t.bus_processed_ttl = std::max({kProcessedTtlMin, t.bus_processed_ttl, 2 * t.bus_ack_wait});
        if (const auto pending = whole("NATS_MAX_ACK_PENDING")) {
            if (*pending <= 0)
                settings_.warnings.emplace_back("NATS_MAX_ACK_PENDING is not positive: the default is used");
            else
                t.bus_max_ack_pending = *pending;
        }
        if (t.bus_max_ack_pending > kAckPendingMax) {
            settings_.warnings.push_back(fmt::format("NATS_MAX_ACK_PENDING {} is above the limit: {} is used",
                                                     t.bus_max_ack_pending, kAckPendingMax));
            t.bus_max_ack_pending = kAckPendingMax;
        }
        span("REDIS_DATA_TTL_SECONDS", "REDIS_DATA_TTL", t.data_ttl);
        span("JOB_META_TTL_SECONDS", "JOB_META_TTL", t.job_meta_ttl);
        std::int64_t days = 0;
        count("CORDUM_DLQ_ENTRY_TTL_DAYS", days);
        if (days > 0) t.dlq_entry_ttl = std::chrono::hours(24) * days;
        count("SCHEDULER_DLQ_MAX_SIZE", t.dlq_max_size);
        Duration idempotency = kIdempotencyTtl;
        duration("CORDUM_IDEMPOTENCY_TTL", idempotency);
        if (idempotency != kIdempotencyTtl)
            mistake(fmt::format("CORDUM_IDEMPOTENCY_TTL: another span than {} is not supported; unset it",
                                engine::format_duration(kIdempotencyTtl)));
        duration("SCHEDULER_CONFIG_RELOAD_INTERVAL", t.config_reload_interval);
        duration("WORKER_SNAPSHOT_INTERVAL", t.snapshot_interval);
        duration("WORKFLOW_ENGINE_SCAN_INTERVAL", t.wf_scan_interval);
        count("WORKFLOW_ENGINE_RUN_SCAN_LIMIT", t.wf_run_scan_limit);
        count("WORKFLOW_FOREACH_MAX_ITEMS", t.wf_foreach_max_items);
        count("WORKFLOW_EXPR_MAX_LENGTH", t.wf_expr_max_length);
        count("WORKFLOW_EXPR_MAX_RESULT_ITEMS", t.wf_expr_max_result_items);
    }

    void read_modes() {
        Tunables& t = settings_.tunables;
        if (const auto enabled = env_.get("OUTPUT_POLICY_ENABLED")) {
            // The protocol's other implementations take no other word for yes.
            const std::string word = engine::wire::ascii_lower(*enabled);
            t.output_policy_enabled = word == "1" || word == "true";
            if (!t.output_policy_enabled && truth_of(word).value_or(true))
                mistake(fmt::format("OUTPUT_POLICY_ENABLED: expected true or false, got \"{}\"", *enabled));
        }
        t.output_policy_fail_mode =
            mode("OUTPUT_POLICY_FAIL_MODE", "LOCKSTEP_OUTPUT_POLICY_FAIL_MODE", t.output_policy_fail_mode);
        t.policy_check_fail_mode =
            mode("POLICY_CHECK_FAIL_MODE", "LOCKSTEP_POLICY_CHECK_FAIL_MODE", t.policy_check_fail_mode);
        settings_.pinned.input_fail_mode = given({"POLICY_CHECK_FAIL_MODE", "LOCKSTEP_POLICY_CHECK_FAIL_MODE"});
        settings_.pinned.output_fail_mode = given({"OUTPUT_POLICY_FAIL_MODE", "LOCKSTEP_OUTPUT_POLICY_FAIL_MODE"});
        settings_.pinned.dispatch_timeout = given({"LOCKSTEP_DISPATCH_TIMEOUT"});
        settings_.pinned.running_timeout = given({"LOCKSTEP_RUNNING_TIMEOUT"});
        settings_.pinned.reconciler_interval = given({"LOCKSTEP_RECONCILER_INTERVAL"});
        settings_.pinned.replayer_interval = given({"LOCKSTEP_REPLAYER_INTERVAL"});
    }

    /// `open` or `closed`, of the documented variable, else of the tunable's.
    std::string mode(std::string_view documented, std::string_view tunable, const std::string& value) {
        const auto given = env_.get(documented);
        std::string word = given ? *given : value;
        // Closing is meant in any letters; opening only in the ones that open everywhere.
        if (engine::wire::ascii_lower(word) == "closed") word = "closed";
        if (word != "open" && word != "closed")
            mistake(fmt::format("{}: expected open or closed, got \"{}\"", given ? documented : tunable, word));
        return word;
    }

    /// Values that each make sense and together do not.
    void check_sense() {
        const Tunables& t = settings_.tunables;
        for (const engine::Relation& relation : engine::relations()) {
            if (relation.holds(t)) continue;
            std::string said = engine::describe(relation, t, variable_of);
            if (relation.severity == engine::Relation::Severity::refuse)
                mistake(std::move(said));
            else
                settings_.warnings.push_back(std::move(said));
        }
        check_stop_limit();
        for (const auto& [name, value] :
             {std::pair{"LOCKSTEP_OVERLOAD_UTILIZATION", t.overload_utilization},
              std::pair{"LOCKSTEP_OVERLOAD_CPU", t.overload_cpu}, std::pair{"LOCKSTEP_OVERLOAD_GPU", t.overload_gpu}}) {
            if (value <= 0)
                mistake(fmt::format("{}: expected more than 0, got {}: every worker would be overloaded", name, value));
        }
    }

    /// What is killed in the middle of a drain is delivered again only after the ack wait, and its locks stand until they lapse.
    void check_stop_limit() {
        Duration limit{};
        duration("LOCKSTEP_STOP_LIMIT", limit);
        if (limit == Duration::zero()) return;
        const Duration grace = settings_.tunables.shutdown_grace;
        const int engines = (roles_.scheduler ? 1 : 0) + (roles_.workflow ? 1 : 0);
        const Duration longest = engines * grace + kFarewell;
        if (longest > limit)
            mistake(fmt::format(
                "LOCKSTEP_STOP_LIMIT {}: a drain may take {} ({} × LOCKSTEP_SHUTDOWN_GRACE {} and {} to say farewell), "
                "and "
                "what is killed before is delivered again only after NATS_JS_ACK_WAIT; raise the limit of the "
                "platform and this one, or shorten the grace",
                engine::format_duration(limit), engine::format_duration(longest), engines,
                engine::format_duration(grace), engine::format_duration(kFarewell)));
    }

    void read_servers() {
        NatsOptions& nats = settings_.nats;
        nats.url = env_.get_or("NATS_URL", nats.url);
        if (const std::string wrong = address_mistake(nats.url); !wrong.empty()) mistake("NATS_URL: " + wrong);
        nats.credentials_file = env_.get_or("NATS_CREDS", "");
        nats.user = env_.get_or("NATS_USERNAME", "");
        nats.password = env_.get_or("NATS_PASSWORD", "");
        nats.token = env_.get_or("NATS_TOKEN", "");
        nats.nkey_seed = env_.get_or("NATS_NKEY", "");
        const TlsOptions tls = read_tls(env_, "NATS_TLS_", mistakes);
        nats.tls_ca = tls.ca_file;
        nats.tls_certificate = tls.certificate_file;
        nats.tls_key = tls.key_file;
        nats.tls_server_name = tls.server_name;
        nats.tls_insecure = flag("NATS_TLS_INSECURE");
        if (!wants_tls(nats.url) && !flag("CORDUM_NATS_ALLOW_PLAINTEXT"))
            refuse_tls("NATS_TLS_",
                       fmt::format("NATS_URL {} asks for no TLS, and would go on in plain text; write tls:// "
                                   "there, unset the variable, or set CORDUM_NATS_ALLOW_PLAINTEXT=true",
                                   display_url(nats.url)));
        if (env_.get("NATS_USE_JETSTREAM")) nats.jetstream = flag("NATS_USE_JETSTREAM");
        if (!nats.jetstream)
            settings_.warnings.emplace_back(
                "NATS_USE_JETSTREAM is off: messages are delivered at most once, a crash loses what was in flight");
        duration("NATS_JS_MAX_AGE", nats.max_age);
        std::int64_t replicas = nats.replicas;
        count("NATS_JS_REPLICAS", replicas);
        nats.replicas = static_cast<int>(replicas);
        if (nats.user.empty() != nats.password.empty())
            settings_.warnings.emplace_back(
                "NATS_USERNAME and NATS_PASSWORD work together only: with one of them no log-in is sent");
    }

    void read_redis() {
        if (env_.get("REDIS_CLUSTER_ADDRESSES"))
            mistake(
                "REDIS_CLUSTER_ADDRESSES is set: the keys of this schema lie in different cluster slots, "
                "so its scripts cannot run on a Redis Cluster. Unset it and point REDIS_URL at a single "
                "primary (with replicas and Sentinel or a managed failover, if you like)");
        const auto redis = parse_redis_url(env_.get_or("REDIS_URL", "redis://localhost:6379"));
        if (!redis) return mistake(fmt::format("REDIS_URL: {}", redis.error()));
        settings_.redis = *redis;
        settings_.redis.sentinel_user = env_.get_or("REDIS_SENTINEL_USERNAME", "");
        settings_.redis.sentinel_password = env_.get_or("REDIS_SENTINEL_PASSWORD", "");
        for (const char* name : {"REDIS_SENTINEL_USERNAME", "REDIS_SENTINEL_PASSWORD"})
            if (env_.get(name) && redis->sentinels.empty())
                mistake(
                    fmt::format("{} is set, but REDIS_URL {} names no sentinels; write redis-sentinel:// there, or "
                                "unset the variable",
                                name, redis->display()));
        if (!settings_.redis.sentinel_user.empty() && settings_.redis.sentinel_password.empty())
            mistake("REDIS_SENTINEL_USERNAME needs REDIS_SENTINEL_PASSWORD: without one nobody logs in");
        if (!redis->tls)
            return refuse_tls("REDIS_TLS_",
                              fmt::format("REDIS_URL {} asks for no TLS, and would go on in plain text; write "
                                          "rediss:// there, or unset the variable",
                                          redis->display()));
        settings_.redis.tls = read_tls(env_, "REDIS_TLS_", mistakes);
        settings_.redis.tls->insecure = flag("REDIS_TLS_INSECURE");
    }

    void refuse_tls(std::string_view prefix, std::string_view why) {
        for (std::string& said : tls_without_effect(env_, prefix, why)) mistake(std::move(said));
    }

    /// After the servers and the production mode are known.
    void read_tls_version() {
        const auto version = env_.get("CORDUM_TLS_MIN_VERSION");
        if (version && *version != "1.2" && *version != "1.3")
            return mistake(fmt::format("CORDUM_TLS_MIN_VERSION: expected 1.2 or 1.3, got \"{}\"", *version));
        for (const auto& [client, uses_tls] :
             {std::pair{"NATS", wants_tls(settings_.nats.url)}, std::pair{"kernel", settings_.kernel.tls.has_value()}})
            if (version == "1.3" && uses_tls)
                mistake(
                    fmt::format("CORDUM_TLS_MIN_VERSION: the {} client takes TLS 1.2 and later, and cannot be told "
                                "otherwise; unset it or set 1.2",
                                client));
        if (settings_.redis.tls) settings_.redis.tls->only_1_3 = version ? *version == "1.3" : settings_.production;
    }

    void read_kernel() {
        KernelSettings& kernel = settings_.kernel;
        kernel.address = env_.get_or("SAFETY_KERNEL_ADDR", kernel.address);
        if (auto target = kernel_target(kernel.address))
            kernel.address = std::move(*target);
        else
            mistake(fmt::format("SAFETY_KERNEL_ADDR: {}", target.error()));
        TlsOptions tls = read_tls(env_, "SAFETY_KERNEL_TLS_", mistakes);
        if (!tls.ca_file.empty()) {
            kernel.tls = std::move(tls);
            return;
        }
        if (flag("SAFETY_KERNEL_TLS_REQUIRED"))
            mistake(
                "SAFETY_KERNEL_TLS_REQUIRED is set, but SAFETY_KERNEL_TLS_CA is not: name the file of the authority");
        refuse_tls("SAFETY_KERNEL_TLS_", "SAFETY_KERNEL_TLS_CA is not, and calls would go in plain text");
    }

    void read_workflow() {
        WorkflowSettings& workflow = settings_.workflow;
        workflow.http_address =
            address("WORKFLOW_ENGINE_HTTP_ADDR", workflow.http_address, "WORKFLOW_ENGINE_HTTP_PUBLIC");
        workflow.beside_others = flag("LOCKSTEP_WORKFLOW_BESIDE_OTHERS");
    }

    /// Where to listen. In production mode that is loopback where nothing else is said.
    std::string address(std::string_view name, const std::string& otherwise, std::string_view made_public_by) {
        const bool loopback = settings_.production && !flag(made_public_by);
        std::string value = env_.get_or(name, loopback ? "127.0.0.1" + otherwise : otherwise);
        if (!AdminHttp::is_address(value))
            mistake(fmt::format("{}: expected host:port, such as 127.0.0.1{}, got \"{}\"", name, otherwise, value));
        return value;
    }

    void read_rest() {
        settings_.pools_file = env_.get_or("POOL_CONFIG_PATH", settings_.pools_file);
        settings_.timeouts_file_given = env_.get("TIMEOUT_CONFIG_PATH").has_value();
        settings_.timeouts_file = env_.get_or("TIMEOUT_CONFIG_PATH", settings_.timeouts_file);
        settings_.metrics_address =
            address("SCHEDULER_METRICS_ADDR", settings_.metrics_address, "SCHEDULER_METRICS_PUBLIC");
        duration("LOCKSTEP_READINESS_GRACE", settings_.readiness_grace);
        duration("LOCKSTEP_LOOP_STALL_LIMIT", settings_.loop_stall_limit);
        settings_.redis_may_evict = flag("LOCKSTEP_REDIS_MAY_EVICT");
        count("LOCKSTEP_REPLICAS", settings_.replicas);
        std::array<char, 256> host{};
        const bool named = gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0';
        settings_.instance_id = env_.get_or("CORDUM_INSTANCE_ID", "");
        settings_.pod = settings_.instance_id;
        if (settings_.pod.empty()) settings_.pod = named ? host.data() : "unknown";

        settings_.log.level = word("CORDUM_LOG_LEVEL", "debug, info, warn or error");
        settings_.log.json = word("CORDUM_LOG_FORMAT", "text or json") == "json";
    }

    bool is_production() {
        const std::string env = engine::wire::ascii_lower(env_.get_or("CORDUM_ENV", ""));
        return env == "prod" || env == "production" || flag("CORDUM_PRODUCTION");
    }

    void apply_production_rules() {
        if (!settings_.production) return;

        const NatsOptions& nats = settings_.nats;
        const bool tls = wants_tls(nats.url);
        if (!tls && !flag("CORDUM_NATS_ALLOW_PLAINTEXT"))
            mistake(
                fmt::format("NATS_URL: production mode refuses the plain-text address {}; use tls://, or set "
                            "CORDUM_NATS_ALLOW_PLAINTEXT=true",
                            display_url(nats.url)));
        const bool configured = !nats.tls_ca.empty() || !nats.tls_certificate.empty() || !nats.tls_server_name.empty();
        if (tls && !configured && !nats.tls_insecure)
            mistake("NATS_URL asks for TLS, but no NATS_TLS_ setting says whom to trust: set NATS_TLS_CA");
        if (tls && nats.tls_insecure)
            mistake("NATS_TLS_INSECURE: production mode refuses unverified TLS; set NATS_TLS_CA");
        const bool login = !nats.credentials_file.empty() || !nats.tls_certificate.empty() ||
                           (!nats.user.empty() && !nats.password.empty()) || !nats.token.empty() ||
                           !nats.nkey_seed.empty();
        const bool half_said = nats.user.empty() != nats.password.empty();
        if (!login && !half_said) settings_.warnings.emplace_back("no NATS credentials in production mode");
        apply_production_rules_of_redis();
        if (roles_.scheduler) apply_production_rules_of_scheduler();
        if (roles_.workflow)
            keep_on_loopback("WORKFLOW_ENGINE_HTTP_ADDR", settings_.workflow.http_address,
                             "WORKFLOW_ENGINE_HTTP_PUBLIC");
    }

    void apply_production_rules_of_redis() {
        if (!settings_.redis.tls) return;
        const TlsOptions& tls = *settings_.redis.tls;
        if (tls.insecure) mistake("REDIS_TLS_INSECURE: production mode refuses unverified TLS; set REDIS_TLS_CA");
        if (!tls.insecure && tls.ca_file.empty() && tls.certificate_file.empty() && tls.server_name.empty())
            mistake("REDIS_URL asks for TLS, but no REDIS_TLS_ setting says whom to trust: set REDIS_TLS_CA");
    }

    void apply_production_rules_of_scheduler() {
        if (!settings_.kernel.tls && !flag("SAFETY_KERNEL_INSECURE"))
            mistake(
                "SAFETY_KERNEL_TLS_CA: production mode needs the authority of the safety kernel; set it, or allow "
                "plain "
                "text with SAFETY_KERNEL_INSECURE=true");
        keep_on_loopback("SCHEDULER_METRICS_ADDR", settings_.metrics_address, "SCHEDULER_METRICS_PUBLIC");
    }

    void keep_on_loopback(std::string_view name, const std::string& address, std::string_view allowed_by) {
        if (is_loopback(address) || flag(allowed_by)) return;
        mistake(
            fmt::format("{}: production mode binds \"{}\" to loopback addresses only; use 127.0.0.1{}, or set {}=true",
                        name, address, address.substr(std::min(address.size(), address.rfind(':'))), allowed_by));
    }

    const Roles roles_;
    Settings& settings_;
};

}  // namespace

tl::expected<Settings, std::string> read_settings(const Environment& environment, Roles roles) {
    Settings settings;
    Secrets secrets = read_secrets(environment);
    Reader reader(secrets.environment, roles, settings);
    reader.mistakes = std::move(secrets.mistakes);
    reader.read();
    settings.from_files = std::move(secrets.files);
    if (reader.mistakes.empty()) return settings;
    std::string all;
    for (const auto& one : reader.mistakes) all += (all.empty() ? "" : "\n") + one;
    // What was misspelt may be just what is missing.
    for (const auto& one : unread_variables(environment)) all += "\nwarning: " + one;
    return tl::make_unexpected(all);
}

std::map<std::string, std::string> limits_of_variables(const Settings& settings) {
    std::map<std::string, std::string> limits;
    const auto add = [&](bool pinned, std::string_view tunable, engine::Duration value) {
        if (pinned) limits.emplace(variable_of(tunable), engine::format_duration(value));
    };
    const engine::PinnedSettings& pinned = settings.pinned;
    const engine::Tunables& in_force = settings.tunables;
    add(pinned.dispatch_timeout, "dispatch_timeout", in_force.dispatch_timeout);
    add(pinned.running_timeout, "running_timeout", in_force.running_timeout);
    add(pinned.reconciler_interval, "reconciler_interval", in_force.reconciler_interval);
    add(pinned.replayer_interval, "replayer_interval", in_force.replayer_interval);
    return limits;
}

}  // namespace lockstep::prod
