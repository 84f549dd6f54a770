#include "prod/config/variables.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "engine/runtime/invariant.h"
#include "prod/config/known_variables.h"

namespace lockstep::prod {

namespace {

using enum VariableKind;
using namespace std::chrono_literals;

constexpr std::string_view kNats = "NATS";
constexpr std::string_view kRedis = "Redis";
constexpr std::string_view kKernel = "Safety kernel";
constexpr std::string_view kScheduler = "Scheduler";
constexpr std::string_view kWorkflow = "Workflow engine";
constexpr std::string_view kProcess = "Process";

constexpr std::array<std::string_view, 2> kOpenClosed{"open", "closed"};
constexpr std::array<std::string_view, 5> kLevels{"debug", "info", "warn", "warning", "error"};
constexpr std::array<std::string_view, 2> kFormats{"text", "json"};
constexpr std::array<std::string_view, 2> kTlsVersions{"1.2", "1.3"};
constexpr std::array<std::string_view, 4> kRoleWords{"scheduler", "workflow", "scheduler,workflow",
                                                     "workflow,scheduler"};

constexpr std::array kVariables{
    Variable{kNats, "NATS_URL", address, "nats://localhost:4222",
             "the server, or several with commas; tls:// asks for TLS"},
    Variable{kNats, "NATS_CREDS", path, "", "credentials file with token and seed, as nsc writes it"},
    Variable{kNats, "NATS_USERNAME", text, "", "log-in by name, with NATS_PASSWORD"},
    Variable{kNats, "NATS_PASSWORD", secret, "", "log-in by name, with NATS_USERNAME"},
    Variable{kNats, "NATS_TOKEN", secret, "", "log-in by token"},
    Variable{kNats, "NATS_NKEY", secret, "", "log-in by the seed of an NKey"},
    Variable{kNats, "NATS_TLS_CA", path, "", "PEM file of the authorities to trust"},
    Variable{kNats, "NATS_TLS_CERT", path, "", "PEM file of the own certificate, with NATS_TLS_KEY"},
    Variable{kNats, "NATS_TLS_KEY", path, "", "PEM file of its key"},
    Variable{kNats, "NATS_TLS_SERVER_NAME", text, "",
             "for whom the server's certificate must be, unless for the host that is called"},
    Variable{kNats, "NATS_TLS_INSECURE", flag, "false", "believe whoever answers; refused in production mode"},
    Variable{kNats, "CORDUM_NATS_ALLOW_PLAINTEXT", flag, "false", "production mode takes an address without TLS"},
    Variable{kNats, "NATS_USE_JETSTREAM", flag, "true", "without it messages are delivered at most once"},
    Variable{.section = kNats,
             .name = "NATS_JS_ACK_WAIT",
             .kind = duration,
             .otherwise = "",
             .help = "silence after which a message is delivered again",
             .tunable = "bus_ack_wait"},
    Variable{kNats, "NATS_JS_MAX_AGE", duration, "168h", "how long new streams keep a message"},
    Variable{.section = kNats,
             .name = "NATS_JS_REPLICAS",
             .kind = count,
             .otherwise = "1",
             .help = "servers that hold a new stream",
             .least = 1,
             .most = 5},
    Variable{.section = kNats,
             .name = "NATS_MAX_ACK_PENDING",
             .kind = count,
             .otherwise = "",
             .help = "unacknowledged messages of one consumer, 50000 at most",
             .tunable = "bus_max_ack_pending"},

    Variable{kRedis, "REDIS_URL", address, "redis://localhost:6379",
             "redis://, rediss:// (TLS), redis-sentinel:// or rediss-sentinel://, with user, password and database"},
    Variable{kRedis, "REDIS_SENTINEL_USERNAME", text, "", "log-in at the sentinels"},
    Variable{kRedis, "REDIS_SENTINEL_PASSWORD", secret, "", "log-in at the sentinels"},
    Variable{kRedis, "REDIS_TLS_CA", path, "", "PEM file of the authorities to trust"},
    Variable{kRedis, "REDIS_TLS_CERT", path, "", "PEM file of the own certificate, with REDIS_TLS_KEY"},
    Variable{kRedis, "REDIS_TLS_KEY", path, "", "PEM file of its key"},
    Variable{kRedis, "REDIS_TLS_SERVER_NAME", text, "",
             "for whom the server's certificate must be, unless for the host that is called"},
    Variable{kRedis, "REDIS_TLS_INSECURE", flag, "false", "believe whoever answers; refused in production mode"},
    Variable{kRedis, "REDIS_CLUSTER_ADDRESSES", text, "", "refused: the keys of one job lie in different slots"},
    Variable{kRedis, "LOCKSTEP_REDIS_MAY_EVICT", flag, "false", "start although Redis may throw keys away"},
    Variable{.section = kRedis,
             .name = "REDIS_DATA_TTL",
             .kind = duration,
             .otherwise = "",
             .help = "life of payloads and of the worker snapshot",
             .tunable = "data_ttl",
             .shortest = 1s},
    Variable{.section = kRedis,
             .name = "REDIS_DATA_TTL_SECONDS",
             .kind = count,
             .otherwise = "",
             .help = "the same in seconds",
             .tunable = "data_ttl",
             .instead_of = "REDIS_DATA_TTL",
             .least = 1},
    Variable{.section = kRedis,
             .name = "JOB_META_TTL",
             .kind = duration,
             .otherwise = "",
             .help = "life of a job's metadata",
             .tunable = "job_meta_ttl",
             .shortest = 1s},
    Variable{.section = kRedis,
             .name = "JOB_META_TTL_SECONDS",
             .kind = count,
             .otherwise = "",
             .help = "the same in seconds",
             .tunable = "job_meta_ttl",
             .instead_of = "JOB_META_TTL",
             .least = 1},

    Variable{kKernel, "SAFETY_KERNEL_ADDR", text, "localhost:50051",
             "host:port, dns:///host:port, or several addresses with commas"},
    Variable{kKernel, "SAFETY_KERNEL_TLS_CA", path, "", "PEM file of the authorities to trust; asks for TLS"},
    Variable{kKernel, "SAFETY_KERNEL_TLS_CERT", path, "",
             "PEM file of the own certificate, with SAFETY_KERNEL_TLS_KEY"},
    Variable{kKernel, "SAFETY_KERNEL_TLS_KEY", path, "", "PEM file of its key"},
    Variable{kKernel, "SAFETY_KERNEL_TLS_SERVER_NAME", text, "",
             "for whom the kernel's certificate must be, unless for the host that is called"},
    Variable{kKernel, "SAFETY_KERNEL_TLS_REQUIRED", flag, "false", "no start without SAFETY_KERNEL_TLS_CA"},
    Variable{kKernel, "SAFETY_KERNEL_INSECURE", flag, "false", "production mode takes a kernel without TLS"},
    Variable{.section = kKernel,
             .name = "POLICY_CHECK_FAIL_MODE",
             .kind = word,
             .otherwise = "",
             .help = "policy unreachable: open lets jobs through, closed holds them",
             .tunable = "policy_check_fail_mode",
             .words = kOpenClosed},
    Variable{.section = kKernel,
             .name = "OUTPUT_POLICY_ENABLED",
             .kind = flag,
             .otherwise = "",
             .help = "check the outputs of successful jobs",
             .tunable = "output_policy_enabled"},
    Variable{.section = kKernel,
             .name = "OUTPUT_POLICY_FAIL_MODE",
             .kind = word,
             .otherwise = "",
             .help = "content check unreachable: closed quarantines, open allows",
             .tunable = "output_policy_fail_mode",
             .words = kOpenClosed},

    Variable{kScheduler, "POOL_CONFIG_PATH", path, "config/pools.yaml", "which pools serve which topics"},
    Variable{kScheduler, "TIMEOUT_CONFIG_PATH", path, "config/timeouts.yaml", "how long jobs may stay where they are"},
    Variable{kScheduler, "SCHEDULER_METRICS_ADDR", text, ":9090",
             "host:port of /metrics, /livez, /readyz and /health; in production mode 127.0.0.1:9090 unless "
             "SCHEDULER_METRICS_PUBLIC"},
    Variable{kScheduler, "SCHEDULER_METRICS_PUBLIC", flag, "false",
             "production mode takes a metrics address beyond loopback"},
    Variable{.section = kScheduler,
             .name = "SCHEDULER_CONFIG_RELOAD_INTERVAL",
             .kind = duration,
             .otherwise = "",
             .help = "pause between two reads of the configuration service",
             .tunable = "config_reload_interval",
             .shortest = 1ms},
    Variable{.section = kScheduler,
             .name = "WORKER_SNAPSHOT_INTERVAL",
             .kind = duration,
             .otherwise = "",
             .help = "pause between two worker snapshots",
             .tunable = "snapshot_interval",
             .shortest = 1ms},
    Variable{.section = kScheduler,
             .name = "SCHEDULER_DLQ_MAX_SIZE",
             .kind = count,
             .otherwise = "",
             .help = "dead-letter entries kept",
             .tunable = "dlq_max_size",
             .least = 1},
    Variable{.section = kScheduler,
             .name = "CORDUM_DLQ_ENTRY_TTL_DAYS",
             .kind = count,
             .otherwise = "",
             .help = "life of a dead-letter entry in days",
             .tunable = "dlq_entry_ttl",
             .instead_of = "LOCKSTEP_DLQ_ENTRY_TTL",
             .least = 1,
             .most = 3650},
    Variable{.section = kScheduler,
             .name = "CORDUM_IDEMPOTENCY_TTL",
             .kind = duration,
             .otherwise = "2160h",
             .help = "life of a submission's key; no other value is supported",
             .shortest = 1s},

    Variable{kWorkflow, "WORKFLOW_ENGINE_HTTP_ADDR", text, ":9093",
             "host:port of its /health, /livez, /readyz and /metrics; in production mode 127.0.0.1:9093 unless "
             "WORKFLOW_ENGINE_HTTP_PUBLIC"},
    Variable{kWorkflow, "WORKFLOW_ENGINE_HTTP_PUBLIC", flag, "false",
             "production mode takes such an address beyond loopback"},
    Variable{.section = kWorkflow,
             .name = "WORKFLOW_ENGINE_SCAN_INTERVAL",
             .kind = duration,
             .otherwise = "",
             .help = "pause between two looks at the runs that are not over",
             .tunable = "wf_scan_interval",
             .shortest = 1ms},
    Variable{.section = kWorkflow,
             .name = "WORKFLOW_ENGINE_RUN_SCAN_LIMIT",
             .kind = count,
             .otherwise = "",
             .help = "runs of one status that one look sees",
             .tunable = "wf_run_scan_limit",
             .least = 1},
    Variable{.section = kWorkflow,
             .name = "WORKFLOW_FOREACH_MAX_ITEMS",
             .kind = count,
             .otherwise = "",
             .help = "items of one for_each, and rounds of one loop",
             .tunable = "wf_foreach_max_items",
             .least = 1},
    Variable{.section = kWorkflow,
             .name = "WORKFLOW_EXPR_MAX_LENGTH",
             .kind = count,
             .otherwise = "",
             .help = "bytes of one expression",
             .tunable = "wf_expr_max_length",
             .least = 1},
    Variable{.section = kWorkflow,
             .name = "WORKFLOW_EXPR_MAX_RESULT_ITEMS",
             .kind = count,
             .otherwise = "",
             .help = "elements that an expression may give",
             .tunable = "wf_expr_max_result_items",
             .least = 1},
    Variable{kWorkflow, "LOCKSTEP_WORKFLOW_BESIDE_OTHERS", flag, "false",
             "start although another implementation's engine is registered"},

    Variable{.section = kProcess,
             .name = "LOCKSTEP_ROLE",
             .kind = word,
             .otherwise = "scheduler",
             .help = "what this process does; --role comes first",
             .words = kRoleWords},
    Variable{kProcess, "LOCKSTEP_READINESS_GRACE", duration, "1s",
             "how long Redis or NATS may be away before /readyz says so"},
    Variable{.section = kProcess,
             .name = "LOCKSTEP_LOOP_STALL_LIMIT",
             .kind = duration,
             .otherwise = "10s",
             .help = "how long the event loop may stand still before /livez fails",
             .shortest = 1s},
    Variable{
        .section = kProcess,
        .name = "LOCKSTEP_REPLICAS",
        .kind = count,
        .otherwise = "",
        .help =
            "how many processes of this role there are at least: with fewer, the alert LockstepReplicaMissing fires",
        .least = 1,
        .most = 1000},
    Variable{.section = kProcess,
             .name = "LOCKSTEP_STOP_LIMIT",
             .kind = duration,
             .otherwise = "",
             .help = "what the platform gives a stop before it kills (TimeoutStopSec, terminationGracePeriodSeconds); "
                     "a drain that may take "
                     "longer is refused",
             .shortest = 1s},
    Variable{kProcess, "CORDUM_INSTANCE_ID", text, "", "label pod of every metric; the host's name unless set"},
    Variable{kProcess, "CORDUM_ENV", text, "", "prod or production: production mode"},
    Variable{kProcess, "CORDUM_PRODUCTION", flag, "false", "production mode"},
    Variable{.section = kProcess,
             .name = "CORDUM_TLS_MIN_VERSION",
             .kind = word,
             .otherwise = "1.2",
             .help = "oldest TLS with Redis; 1.3 in production mode. NATS and the kernel take 1.2 and later",
             .words = kTlsVersions},
    Variable{.section = kProcess,
             .name = "CORDUM_LOG_LEVEL",
             .kind = word,
             .otherwise = "info",
             .help = "least level that is logged",
             .words = kLevels},
    Variable{.section = kProcess,
             .name = "CORDUM_LOG_FORMAT",
             .kind = word,
             .otherwise = "text",
             .help = "form of the log's lines",
             .words = kFormats},
};

}  // namespace

std::span<const Variable> variable_table() { return kVariables; }

const Variable* find_variable(std::string_view name) {
    const auto* found = std::ranges::find(kVariables, name, &Variable::name);
    return found == kVariables.end() ? nullptr : found;
}

const Variable& variable(std::string_view name) {
    const Variable* found = find_variable(name);
    PRECONDITION(found != nullptr, "{} does not stand in the table of variables", name);
    return *found;
}

bool may_stand_in_file(const Variable& variable) {
    return variable.kind == secret || variable.kind == address || variable.name == "NATS_USERNAME";
}

std::string variable_of(std::string_view tunable) {
    for (const Variable& one : kVariables)
        if (one.tunable == tunable && one.instead_of.empty()) return std::string(one.name);
    return tunable_variable(tunable);
}

}  // namespace lockstep::prod
