#include "prod/config/settings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>

#include "engine/config/relations.h"
#include "engine/expression/utf8.h"
#include "engine/testing/hostile_text.h"
#include "fakes/testing/server_process.h"
#include "prod/config/known_variables.h"
#include "prod/config/variables.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;

tl::expected<Settings, std::string> settings(Environment::Values values) {
    return read_settings(Environment(std::move(values)));
}
std::string error_of(Environment::Values values) {
    const auto read = settings(std::move(values));
    return read ? "" : read.error();
}
bool mentions(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

TEST(Settings, HaveTheDocumentedDefaults) {
    const auto read = settings({});
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(read->nats.url, "nats://localhost:4222");
    EXPECT_TRUE(read->nats.jetstream);
    EXPECT_EQ(read->redis.display(), "redis://localhost:6379");
    EXPECT_EQ(read->kernel.address, "localhost:50051");
    EXPECT_EQ(read->metrics_address, ":9090");
    EXPECT_EQ(read->tunables.bus_ack_wait, 10min);
    EXPECT_EQ(read->tunables.policy_check_fail_mode, "closed");
    EXPECT_EQ(read->tunables.output_policy_fail_mode, "open");
    EXPECT_FALSE(read->production);
}

TEST(Settings, TakeTunablesByName) {
    const auto read = settings({{"LOCKSTEP_BACKOFF_MAX", "1m30s"}, {"LOCKSTEP_MAX_IN_FLIGHT", "64"}});
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(read->tunables.backoff_max, 90s);
    EXPECT_EQ(read->tunables.max_in_flight, 64);
}

TEST(Settings, LetDocumentedVariablesWinOverTunables) {
    const auto read = settings({{"LOCKSTEP_BUS_ACK_WAIT", "1m"}, {"NATS_JS_ACK_WAIT", "30s"}});
    EXPECT_EQ(read->tunables.bus_ack_wait, 30s);
}

// BUS-03, H-09
TEST(Settings, KeepTheProcessedMarkAtLeastTwiceAsLongAsTheAckWait) {
    EXPECT_EQ(settings({{"NATS_JS_ACK_WAIT", "1h"}})->tunables.bus_processed_ttl, 2h);
    EXPECT_GE(settings({{"NATS_JS_ACK_WAIT", "1s"}})->tunables.bus_processed_ttl, 10min);
}

// BUS-09
TEST(Settings, LimitTheNumberOfUnacknowledgedMessages) {
    EXPECT_EQ(settings({{"NATS_MAX_ACK_PENDING", "5000"}})->tunables.bus_max_ack_pending, 5000);
    EXPECT_EQ(settings({{"NATS_MAX_ACK_PENDING", "50000"}})->tunables.bus_max_ack_pending, 50000);
    const auto clamped = settings({{"NATS_MAX_ACK_PENDING", "100000"}});
    EXPECT_EQ(clamped->tunables.bus_max_ack_pending, 50000);
    EXPECT_FALSE(clamped->warnings.empty());
    EXPECT_EQ(settings({{"NATS_MAX_ACK_PENDING", "-1"}})->tunables.bus_max_ack_pending, 2048);
}

TEST(Settings, PreferTheDurationFormOfATimeToLive) {
    EXPECT_EQ(settings({{"REDIS_DATA_TTL_SECONDS", "60"}})->tunables.data_ttl, 60s);
    EXPECT_EQ(settings({{"REDIS_DATA_TTL_SECONDS", "60"}, {"REDIS_DATA_TTL", "2h"}})->tunables.data_ttl, 2h);
    EXPECT_EQ(settings({{"CORDUM_DLQ_ENTRY_TTL_DAYS", "2"}})->tunables.dlq_entry_ttl, 48h);
}

TEST(Settings, ReadFailModesAsTheScheduleDocumentsThem) {
    EXPECT_EQ(settings({{"POLICY_CHECK_FAIL_MODE", ""}})->tunables.policy_check_fail_mode, "closed");
    EXPECT_EQ(settings({{"POLICY_CHECK_FAIL_MODE", "Closed"}})->tunables.policy_check_fail_mode, "closed");
    EXPECT_EQ(settings({{"POLICY_CHECK_FAIL_MODE", "open"}})->tunables.policy_check_fail_mode, "open");
    EXPECT_TRUE(settings({{"POLICY_CHECK_FAIL_MODE", "closed"}})->pinned.input_fail_mode);  // C-19
    EXPECT_TRUE(settings({{"LOCKSTEP_OUTPUT_POLICY_FAIL_MODE", "closed"}})->pinned.output_fail_mode);
    EXPECT_FALSE(settings({})->pinned.input_fail_mode);
    // D-27
    EXPECT_EQ(limits_of_variables(*settings({{"LOCKSTEP_DISPATCH_TIMEOUT", "4m"},
                                             {"LOCKSTEP_RUNNING_TIMEOUT", "2h"},
                                             {"LOCKSTEP_RECONCILER_INTERVAL", "10s"},
                                             {"LOCKSTEP_REPLAYER_INTERVAL", "11s"}})),
              (std::map<std::string, std::string>{{"LOCKSTEP_DISPATCH_TIMEOUT", "4m"},
                                                  {"LOCKSTEP_RUNNING_TIMEOUT", "2h"},
                                                  {"LOCKSTEP_RECONCILER_INTERVAL", "10s"},
                                                  {"LOCKSTEP_REPLAYER_INTERVAL", "11s"}}));
    EXPECT_TRUE(limits_of_variables(*settings({})).empty());
    EXPECT_EQ(settings({{"OUTPUT_POLICY_FAIL_MODE", "closed"}})->tunables.output_policy_fail_mode, "closed");
    EXPECT_TRUE(settings({{"OUTPUT_POLICY_ENABLED", "1"}})->tunables.output_policy_enabled);
    EXPECT_FALSE(settings({{"OUTPUT_POLICY_ENABLED", "false"}})->tunables.output_policy_enabled);
}

TEST(Settings, TakeTheWorkflowEnginesVariables) {
    const auto read = settings({{"WORKFLOW_ENGINE_SCAN_INTERVAL", "2s"},
                                {"WORKFLOW_ENGINE_RUN_SCAN_LIMIT", "50"},
                                {"WORKFLOW_FOREACH_MAX_ITEMS", "20"},
                                {"WORKFLOW_EXPR_MAX_LENGTH", "512"},
                                {"WORKFLOW_EXPR_MAX_RESULT_ITEMS", "30"},
                                {"LOCKSTEP_WF_SCAN_INTERVAL", "9s"},
                                {"LOCKSTEP_WF_RUN_RETENTION", "24h"},
                                {"WORKFLOW_ENGINE_HTTP_ADDR", "127.0.0.1:0"},
                                {"LOCKSTEP_WORKFLOW_BESIDE_OTHERS", "yes"}});
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(read->tunables.wf_scan_interval, 2s);
    EXPECT_EQ(read->tunables.wf_run_scan_limit, 50);
    EXPECT_EQ(read->tunables.wf_foreach_max_items, 20);
    EXPECT_EQ(read->tunables.wf_expr_max_length, 512);
    EXPECT_EQ(read->tunables.wf_expr_max_result_items, 30);
    EXPECT_EQ(read->tunables.wf_run_retention, 24h);
    EXPECT_EQ(read->workflow.http_address, "127.0.0.1:0");
    EXPECT_TRUE(read->workflow.beside_others);
    EXPECT_TRUE(read->warnings.empty());
    EXPECT_EQ(settings({})->workflow.http_address, ":9093");
    EXPECT_FALSE(settings({})->workflow.beside_others);
    EXPECT_EQ(error_of({{"WORKFLOW_ENGINE_RUN_SCAN_LIMIT", "0"}}),
              "WORKFLOW_ENGINE_RUN_SCAN_LIMIT: expected from 1 to 1000000000, got 0");
    EXPECT_TRUE(
        mentions(error_of({{"WORKFLOW_ENGINE_HTTP_ADDR", "9093"}}), "WORKFLOW_ENGINE_HTTP_ADDR: expected host"));
    EXPECT_TRUE(mentions(error_of({{"WORKFLOW_ENGINE_SCAN_INTERVAL", "0s"}}), "WORKFLOW_ENGINE_SCAN_INTERVAL"));
}

// H-10
TEST(Settings, RefuseOneMarkForTheStreamWhereAWorkflowEngineReadsItToo) {
    const Environment stream({{"LOCKSTEP_BUS_GUARD_KEY_SCOPE", "stream"}});
    EXPECT_TRUE(read_settings(stream, kSchedulerRole));
    for (const Roles& roles : {Roles{.workflow = true}, Roles{.scheduler = true, .workflow = true}}) {
        const auto read = read_settings(stream, roles);
        ASSERT_FALSE(read);
        EXPECT_TRUE(mentions(read.error(), "LOCKSTEP_BUS_GUARD_KEY_SCOPE=stream"));
    }
}

TEST(Settings, TakeRolesAndRefuseWhatIsNone) {
    EXPECT_EQ(parse_roles("scheduler"), kSchedulerRole);
    EXPECT_EQ(parse_roles("workflow"), (Roles{.workflow = true}));
    for (const char* both : {"scheduler,workflow", "workflow, scheduler"})
        EXPECT_EQ(parse_roles(both), (Roles{.scheduler = true, .workflow = true})) << both;
    for (const char* none : {"", "worker", "scheduler,", "scheduler workflow"}) EXPECT_FALSE(parse_roles(none)) << none;
    EXPECT_EQ(to_string(Roles{.scheduler = true, .workflow = true}), "scheduler,workflow");
    EXPECT_EQ(settings({})->roles, kSchedulerRole);
}

// FAIL-03: whatever is meant by another word, nothing is opened by it. D-18: and nobody has to find out later.
TEST(Settings, RefuseWordsThatNoSwitchKnows) {
    for (const char* word : {"OPEN", "invalid", "closd"}) {
        EXPECT_TRUE(
            mentions(error_of({{"POLICY_CHECK_FAIL_MODE", word}}), "POLICY_CHECK_FAIL_MODE: expected open or closed"))
            << word;
        EXPECT_TRUE(mentions(error_of({{"OUTPUT_POLICY_FAIL_MODE", word}}),
                             "OUTPUT_POLICY_FAIL_MODE: expected open or closed"));
        EXPECT_TRUE(mentions(error_of({{"LOCKSTEP_POLICY_CHECK_FAIL_MODE", word}}), "LOCKSTEP_POLICY_CHECK_FAIL_MODE"));
    }
    for (const char* name : {"NATS_USE_JETSTREAM", "NATS_TLS_INSECURE", "CORDUM_PRODUCTION", "OUTPUT_POLICY_ENABLED",
                             "SAFETY_KERNEL_TLS_REQUIRED"})
        EXPECT_TRUE(mentions(error_of({{name, "flase"}}), std::string(name) + ": expected true or false")) << name;
    EXPECT_TRUE(mentions(error_of({{"OUTPUT_POLICY_ENABLED", "yes"}}), "OUTPUT_POLICY_ENABLED"))
        << "which others take for no";
}

// D-18
TEST(Settings, RefuseValuesThatMakeNoSenseTogether) {
    EXPECT_TRUE(mentions(error_of({{"LOCKSTEP_JOB_LOCK_TTL", "1s"}, {"LOCKSTEP_SAFETY_TIMEOUT", "60s"}}),
                         "LOCKSTEP_JOB_LOCK_TTL 1s is shorter than LOCKSTEP_SAFETY_TIMEOUT 1m"));
    EXPECT_TRUE(settings({{"LOCKSTEP_JOB_LOCK_TTL", "2s"}}));
    EXPECT_TRUE(mentions(error_of({{"LOCKSTEP_BACKOFF_BASE", "1m"}}), "LOCKSTEP_BACKOFF_MAX 30s is shorter"));
    EXPECT_TRUE(mentions(error_of({{"LOCKSTEP_SAGA_ROLLBACK_TIMEOUT", "5m"}}), "LOCKSTEP_SAGA_LOCK_TTL"));
    EXPECT_TRUE(mentions(error_of({{"LOCKSTEP_CIRCUIT_CLOSE_AFTER", "9"}}), "never close"));
    EXPECT_TRUE(mentions(error_of({{"LOCKSTEP_OVERLOAD_GPU", "0"}}), "LOCKSTEP_OVERLOAD_GPU: expected more than 0"));
    EXPECT_TRUE(mentions(error_of({{"LOCKSTEP_OVERLOAD_CPU", "nan"}}), "LOCKSTEP_OVERLOAD_CPU"));
    EXPECT_TRUE(mentions(error_of({{"JOB_META_TTL", "1m"}, {"NATS_JS_ACK_WAIT", "100ms"}}),
                         "JOB_META_TTL 1m is shorter than LOCKSTEP_RUNNING_TIMEOUT 15m"));
    const std::string late = error_of({{"LOCKSTEP_PUBLISH_RESEND_LIMIT", "10m"}});
    EXPECT_TRUE(mentions(late, "LOCKSTEP_PUBLISH_RESEND_LIMIT 10m leaves")) << late;
    EXPECT_TRUE(mentions(late, "LOCKSTEP_PUBLISH_TIMEOUT 5s")) << late;
    EXPECT_TRUE(mentions(late, "; shorten either")) << late;
    const auto rare = settings({{"WORKER_SNAPSHOT_INTERVAL", "1m"}});
    ASSERT_TRUE(rare);
    EXPECT_TRUE(mentions(rare->warnings.front(), "WORKER_SNAPSHOT_INTERVAL 1m is not below"));
}

// D-18
TEST(Settings, RefuseWhatWouldHaveNoEffect) {
    EXPECT_TRUE(mentions(error_of({{"NATS_JWT", "eyJ"}}), "NATS_JWT is set"));
    EXPECT_TRUE(mentions(error_of({{"REDIS_PASSWORD_FILE", "p"}}), "REDIS_PASSWORD_FILE is set"));
    EXPECT_TRUE(mentions(error_of({{"REDIS_URL", "redis://h"}, {"REDIS_TLS_CA", "ca.pem"}}),
                         "REDIS_URL redis://h:6379 asks for no TLS"));
    EXPECT_TRUE(mentions(error_of({{"NATS_TLS_CA", "ca.pem"}}), "NATS_URL nats://localhost:4222 asks for no TLS"));
    EXPECT_TRUE(mentions(error_of({{"CORDUM_TLS_MIN_VERSION", "1.1"}}), "CORDUM_TLS_MIN_VERSION: expected 1.2 or 1.3"));
    EXPECT_TRUE(mentions(error_of({{"CORDUM_TLS_MIN_VERSION", "1.3"}, {"NATS_URL", "tls://n"}}), "the NATS client"));
    EXPECT_TRUE(mentions(error_of({{"CORDUM_TLS_MIN_VERSION", "1.3"}, {"SAFETY_KERNEL_TLS_CA", "ca.pem"}}),
                         "the kernel client"));
    EXPECT_TRUE(mentions(error_of({{"REDIS_SENTINEL_PASSWORD", "p"}}), "names no sentinels"));
    EXPECT_TRUE(
        mentions(error_of({{"CORDUM_IDEMPOTENCY_TTL", "1h"}}), "CORDUM_IDEMPOTENCY_TTL: another span than 2160h"));
    EXPECT_TRUE(settings({{"CORDUM_IDEMPOTENCY_TTL", "2160h"}, {"CORDUM_TLS_MIN_VERSION", "1.2"}}));
}

TEST(Settings, RefuseSpansAndCountsBelowOne) {
    for (const char* name : {"REDIS_DATA_TTL_SECONDS", "JOB_META_TTL_SECONDS", "CORDUM_DLQ_ENTRY_TTL_DAYS",
                             "SCHEDULER_DLQ_MAX_SIZE", "NATS_JS_REPLICAS"}) {
        EXPECT_TRUE(mentions(error_of({{name, "-5"}}), name)) << name;
        EXPECT_TRUE(mentions(error_of({{name, "0"}}), name)) << name;
    }
    for (const char* name : {"CORDUM_IDEMPOTENCY_TTL", "NATS_JS_ACK_WAIT", "LOCKSTEP_JOB_LOCK_TTL"})
        EXPECT_TRUE(mentions(error_of({{name, "-5s"}}), name)) << name;
}

// D-18
TEST(Settings, WarnOfVariablesThatNobodyReadsAlsoBesideMistakes) {
    const auto sound = settings({{"NATS_UROL", "nats://n"}});
    ASSERT_TRUE(sound) << sound.error();
    EXPECT_TRUE(mentions(sound->warnings.back(), "did you mean NATS_URL?"));
    EXPECT_TRUE(
        mentions(error_of({{"NATS_UROL", "nats://n"}, {"CORDUM_LOG_LEVEL", "loud"}}), "did you mean NATS_URL?"));
}

TEST(Settings, SwitchJetStreamOffOnlyWhenTold) {
    const auto off = settings({{"NATS_USE_JETSTREAM", "false"}});
    EXPECT_FALSE(off->nats.jetstream);
    EXPECT_FALSE(off->warnings.empty());
    EXPECT_TRUE(settings({{"NATS_USE_JETSTREAM", "On"}})->nats.jetstream);
}

TEST(Settings, ReportAllMistakesAtOnceAndHowToMendThem) {
    const std::string error = error_of({{"LOCKSTEP_BACKOF_MAX", "1s"},
                                        {"LOCKSTEP_MAX_IN_FLIGHT", "many"},
                                        {"NATS_JS_ACK_WAIT", "10 minutes"},
                                        {"CORDUM_LOG_LEVEL", "loud"},
                                        {"REDIS_URL", "rediss//h"}});
    EXPECT_TRUE(mentions(error, "did you mean LOCKSTEP_BACKOFF_MAX?")) << error;
    EXPECT_TRUE(mentions(error, "LOCKSTEP_MAX_IN_FLIGHT: expected a whole number"));
    EXPECT_TRUE(mentions(error, "NATS_JS_ACK_WAIT: expected a duration"));
    EXPECT_TRUE(mentions(error, "CORDUM_LOG_LEVEL"));
    EXPECT_TRUE(mentions(error, "REDIS_URL: expected redis:// or, over TLS, rediss://"));
}

TEST(Settings, RefuseWhatCouldOnlyFailLater) {
    const std::string error = error_of({{"JOB_META_TTL", "0s"},
                                        {"REDIS_DATA_TTL_SECONDS", "10000000000"},
                                        {"CORDUM_DLQ_ENTRY_TTL_DAYS", "200000"},
                                        {"WORKER_SNAPSHOT_INTERVAL", "0s"},
                                        {"SCHEDULER_METRICS_ADDR", "foo"}});
    EXPECT_TRUE(mentions(error, "JOB_META_TTL: expected from 1s")) << error;
    EXPECT_TRUE(mentions(error, "REDIS_DATA_TTL_SECONDS: at most ten years"));
    EXPECT_TRUE(mentions(error, "CORDUM_DLQ_ENTRY_TTL_DAYS: expected from 1 to 3650"));
    EXPECT_TRUE(mentions(error, "WORKER_SNAPSHOT_INTERVAL: expected from 1ms"));
    EXPECT_TRUE(mentions(error, "SCHEDULER_METRICS_ADDR: expected host:port"));
    EXPECT_TRUE(mentions(settings({{"NATS_USERNAME", "me"}})->warnings.front(), "no log-in is sent"));
}

TEST(Settings, WarnOfRecordsThatMessagesOutlive) {
    const auto short_lived = settings({{"JOB_META_TTL", "1h"}});
    ASSERT_TRUE(short_lived);
    ASSERT_EQ(short_lived->warnings.size(), settings({})->warnings.size() + 1);
    EXPECT_TRUE(mentions(short_lived->warnings.front(), "JOB_META_TTL 1h is shorter than NATS_JS_ACK_WAIT 10m"));
    const auto enough = settings({{"JOB_META_TTL", "1h"}, {"NATS_JS_ACK_WAIT", "30s"}});
    EXPECT_EQ(enough->warnings.size(), settings({})->warnings.size());
}

TEST(Settings, OverlookWhatAClusterPutsIntoTheEnvironmentForAServiceOfOurName) {
    EXPECT_TRUE(settings({{"LOCKSTEP_PORT", "tcp://10.0.0.1:9090"},
                          {"LOCKSTEP_SERVICE_HOST", "10.0.0.1"},
                          {"LOCKSTEP_PORT_9090_TCP_ADDR", "10.0.0.1"}}));
}

TEST(Settings, RefuseARedisCluster) {
    EXPECT_TRUE(mentions(error_of({{"REDIS_CLUSTER_ADDRESSES", "a:1,b:2"}}), "Cluster"));
}

TEST(Settings, RepeatNothingOfAnAddressThatIsMalformed) {
    for (const auto& [name, value] : Environment::Values{{"REDIS_CLUSTER_ADDRESSES", "redis://:secret@a:1"},
                                                         {"REDIS_URL", "redis://me:secret"},
                                                         {"NATS_URL", "nats://me:secret"}}) {
        const std::string error = error_of({{name, value}});
        EXPECT_TRUE(mentions(error, name)) << error;
        EXPECT_FALSE(mentions(error, "secret")) << error;
    }
}

TEST(Settings, RefuseHalfACertificateAndRequiredTlsWithoutAnAuthority) {
    EXPECT_TRUE(mentions(error_of({{"NATS_TLS_CERT", "c.pem"}}), "belong together"));
    EXPECT_TRUE(mentions(error_of({{"SAFETY_KERNEL_TLS_REQUIRED", "true"}}), "SAFETY_KERNEL_TLS_CA"));
}

const Environment::Values kProduction{{"CORDUM_ENV", "production"},
                                      {"NATS_URL", "tls://nats:4222"},
                                      {"NATS_TLS_CA", "ca.pem"},
                                      {"NATS_USERNAME", "me"},
                                      {"NATS_PASSWORD", "secret"},
                                      {"SAFETY_KERNEL_TLS_CA", "ca.pem"},
                                      {"SCHEDULER_METRICS_ADDR", "127.0.0.1:9090"}};

Environment::Values production_but(Environment::Values changes) {
    for (const auto& entry : kProduction) changes.insert(entry);
    return changes;
}

TEST(ProductionMode, TakesASoundConfiguration) {
    const auto read = settings(kProduction);
    ASSERT_TRUE(read) << read.error();
    EXPECT_TRUE(read->production);
    EXPECT_TRUE(read->warnings.empty());
}

// BUS-12
TEST(ProductionMode, RefusesPlainTextToTheBusUnlessOverridden) {
    EXPECT_TRUE(mentions(error_of(production_but({{"NATS_URL", "nats://nats:4222"}})), "CORDUM_NATS_ALLOW_PLAINTEXT"));
    EXPECT_EQ(error_of(production_but({{"NATS_URL", "nats://nats:4222"}, {"CORDUM_NATS_ALLOW_PLAINTEXT", "true"}})),
              "");
    EXPECT_EQ(error_of({{"NATS_URL", "nats://nats:4222"}}), "");
}

// BUS-12
TEST(Settings, ReadWhereTheKernelIsAndWhomToTrust) {
    const auto read = settings({{"SAFETY_KERNEL_ADDR", "10.0.0.1:50051,10.0.0.2:50051"},
                                {"SAFETY_KERNEL_TLS_CA", "ca.pem"},
                                {"SAFETY_KERNEL_TLS_CERT", "own.pem"},
                                {"SAFETY_KERNEL_TLS_KEY", "own-key.pem"},
                                {"SAFETY_KERNEL_TLS_SERVER_NAME", "kernel"}});
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(read->kernel.address, "ipv4:10.0.0.1:50051,10.0.0.2:50051");
    ASSERT_TRUE(read->kernel.tls);
    EXPECT_EQ(read->kernel.tls->certificate_file, "own.pem");
    EXPECT_EQ(read->kernel.tls->server_name, "kernel");
    EXPECT_EQ(settings({{"SAFETY_KERNEL_ADDR", "[::1]:1,[::2]:1"}})->kernel.address, "ipv6:[::1]:1,[::2]:1");
    EXPECT_EQ(settings({{"SAFETY_KERNEL_ADDR", "dns:///kernel:1"}})->kernel.address, "dns:///kernel:1");
    for (const char* mixed : {"a:1,b:2", "10.0.0.1:1,[::1]:1", "10.0.0.1,10.0.0.2"})
        EXPECT_TRUE(mentions(error_of({{"SAFETY_KERNEL_ADDR", mixed}}), "SAFETY_KERNEL_ADDR: of several")) << mixed;
    EXPECT_TRUE(mentions(error_of({{"SAFETY_KERNEL_TLS_CERT", "c"}}), "belong together"));
    EXPECT_TRUE(mentions(error_of({{"SAFETY_KERNEL_TLS_SERVER_NAME", "k"}}), "would go in plain text"));
}

TEST(Settings, ReadWhomToTrustWithRedis) {
    const auto read = settings({{"REDIS_URL", "rediss-sentinel://s/main"},
                                {"REDIS_TLS_CA", "ca.pem"},
                                {"REDIS_TLS_CERT", "own.pem"},
                                {"REDIS_TLS_KEY", "own-key.pem"},
                                {"REDIS_TLS_SERVER_NAME", "redis"},
                                {"REDIS_SENTINEL_USERNAME", "me"},
                                {"REDIS_SENTINEL_PASSWORD", "p"},
                                {"CORDUM_TLS_MIN_VERSION", "1.3"}});
    ASSERT_TRUE(read) << read.error();
    ASSERT_TRUE(read->redis.tls);
    EXPECT_EQ(read->redis.tls->ca_file, "ca.pem");
    EXPECT_EQ(read->redis.tls->key_file, "own-key.pem");
    EXPECT_EQ(read->redis.tls->server_name, "redis");
    EXPECT_TRUE(read->redis.tls->only_1_3);
    EXPECT_EQ(read->redis.sentinel_user, "me");
    EXPECT_TRUE(mentions(error_of({{"REDIS_URL", "rediss://h"}, {"REDIS_TLS_KEY", "k"}}), "belong together"));
    EXPECT_TRUE(mentions(error_of({{"REDIS_URL", "redis-sentinel://h/main"}, {"REDIS_SENTINEL_USERNAME", "me"}}),
                         "needs REDIS_SENTINEL_PASSWORD"));
}

TEST(ProductionMode, RefusesRedisThatAnybodyCouldBe) {
    EXPECT_TRUE(mentions(error_of(production_but({{"REDIS_URL", "rediss://h"}})), "set REDIS_TLS_CA"));
    EXPECT_TRUE(
        mentions(error_of(production_but({{"REDIS_URL", "rediss://h"}, {"REDIS_TLS_INSECURE", "1"}})), "unverified"));
    EXPECT_EQ(error_of(production_but({{"REDIS_URL", "rediss://h"}, {"REDIS_TLS_CA", "ca.pem"}})), "");
}

TEST(ProductionMode, RefusesUnverifiedTlsAndTlsThatTrustsNobody) {
    EXPECT_TRUE(mentions(error_of(production_but({{"NATS_TLS_INSECURE", "1"}})), "unverified"));
    EXPECT_TRUE(mentions(error_of(production_but({{"NATS_TLS_CA", ""}})), "NATS_TLS_CA"));
}

// BUS-12
TEST(ProductionMode, OnlyWarnsWithoutCredentials) {
    const auto read = settings(production_but({{"NATS_PASSWORD", ""}}));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->warnings.size(), 1U);
}

// SAFE-13
TEST(ProductionMode, NeedsAKernelAuthorityUnlessPlainTextIsAllowed) {
    EXPECT_TRUE(mentions(error_of(production_but({{"SAFETY_KERNEL_TLS_CA", ""}})), "SAFETY_KERNEL_INSECURE"));
    EXPECT_EQ(error_of(production_but({{"SAFETY_KERNEL_TLS_CA", ""}, {"SAFETY_KERNEL_INSECURE", "true"}})), "");
}

TEST(ProductionMode, KeepsMetricsOnLoopbackUnlessMadePublic) {
    EXPECT_TRUE(mentions(error_of(production_but({{"SCHEDULER_METRICS_ADDR", ":9090"}})), "SCHEDULER_METRICS_PUBLIC"));
    EXPECT_EQ(error_of(production_but({{"SCHEDULER_METRICS_ADDR", ":9090"}, {"SCHEDULER_METRICS_PUBLIC", "true"}})),
              "");
}

TEST(ProductionMode, TakesItsExample) {
    const fakes::testing::TemporaryFolder folder;
    std::ofstream(folder.path() / "redis-url") << "rediss://lockstepd:hunter2@redis.internal:6379\n";
    std::ofstream(folder.path() / "nats-password") << "hunter2\n";
    Environment::Values values;
    std::ifstream in(LOCKSTEP_DEPLOY_FOLDER "/lockstepd-production.env");
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line.starts_with('#')) continue;
        const auto equals = line.find('=');
        std::string value = line.substr(equals + 1);
        const std::string etc = "/etc/lockstep/";
        if (line.substr(0, equals).ends_with("_FILE")) value = folder.path() / value.substr(etc.size());
        values.emplace(line.substr(0, equals), value);
    }
    const auto read = read_settings(Environment(values), {.scheduler = true, .workflow = true});
    ASSERT_TRUE(read) << read.error();
    EXPECT_TRUE(read->production);
    EXPECT_EQ(read->redis.password, "hunter2");
    for (const std::string& warning : read->warnings) ADD_FAILURE() << warning;
}

// O18
TEST(Settings, RefuseADrainThatThePlatformWouldCutShort) {
    const auto with = [](Roles roles, const char* limit) {
        const auto read =
            read_settings(Environment({{"LOCKSTEP_STOP_LIMIT", limit}, {"LOCKSTEP_SHUTDOWN_GRACE", "10s"}}), roles);
        return read ? "" : read.error();
    };
    EXPECT_EQ(with(kSchedulerRole, "15s"), "");
    EXPECT_TRUE(mentions(with(kSchedulerRole, "14s"), "LOCKSTEP_STOP_LIMIT 14s: a drain may take 15s"));
    EXPECT_TRUE(
        mentions(with({.scheduler = true, .workflow = true}, "15s"), "a drain may take 25s (2 × LOCKSTEP_SHUTDOWN"));
    EXPECT_EQ(with(kClientRole, "5s"), "");
}

TEST(ProductionMode, ListensOnLoopbackWhereNothingElseIsSaid) {
    const auto at = [](Environment::Values values) {
        const auto read = read_settings(Environment(std::move(values)), {.scheduler = true, .workflow = true});
        return read ? read->metrics_address + " " + read->workflow.http_address : read.error();
    };
    EXPECT_EQ(at(production_but({{"SCHEDULER_METRICS_ADDR", ""}})), "127.0.0.1:9090 127.0.0.1:9093");
    EXPECT_EQ(at(production_but({{"SCHEDULER_METRICS_ADDR", ""}, {"SCHEDULER_METRICS_PUBLIC", "true"}})),
              ":9090 127.0.0.1:9093");
    EXPECT_EQ(at({}), ":9090 :9093");
}

TEST(ProductionMode, AsksOfAWorkflowEngineNothingAboutTheKernelAndKeepsItsListenerOnLoopback) {
    const auto of_workflow = [](Environment::Values more) {
        more.merge(Environment::Values{{"CORDUM_PRODUCTION", "1"}, {"NATS_URL", "tls://n"}, {"NATS_TLS_CA", "ca.pem"}});
        const auto read = read_settings(Environment(std::move(more)), {.workflow = true});
        return read ? std::string() : read.error();
    };
    EXPECT_EQ(of_workflow({{"WORKFLOW_ENGINE_HTTP_ADDR", ":9093"}}),
              "WORKFLOW_ENGINE_HTTP_ADDR: production mode binds \":9093\" to loopback addresses only; use "
              "127.0.0.1:9093, or set WORKFLOW_ENGINE_HTTP_PUBLIC=true");
    EXPECT_EQ(of_workflow({{"WORKFLOW_ENGINE_HTTP_PUBLIC", "true"}}), "");
    EXPECT_EQ(of_workflow({{"WORKFLOW_ENGINE_HTTP_ADDR", "127.0.0.1:9093"}}), "");
    EXPECT_EQ(error_of(production_but({})), "") << "the scheduler alone has no such listener";
}

TEST(ProductionMode, AsksOfAClientOnlyWhatConcernsTheServers) {
    const Environment::Values values{{"CORDUM_PRODUCTION", "1"}, {"NATS_URL", "tls://n"}, {"NATS_TLS_CA", "ca.pem"}};
    EXPECT_FALSE(read_settings(Environment(values), kSchedulerRole));
    EXPECT_TRUE(read_settings(Environment(values), kClientRole));
    EXPECT_FALSE(read_settings(Environment({{"CORDUM_PRODUCTION", "1"}, {"NATS_URL", "nats://n"}}), kClientRole));
}

TEST(ProductionMode, NeverRepeatsAPassword) {
    const std::string error = error_of(production_but({{"NATS_URL", "nats://me:hunter2@nats:4222"}}));
    EXPECT_FALSE(mentions(error, "hunter2")) << error;
}

/// Every variable that lockstepd reads: the documented ones and those of the tunables.
std::vector<std::string> all_variables() {
    std::vector<std::string> names;
    for (const Variable& one : variable_table()) names.emplace_back(one.name);
    for (const engine::TunableInfo& info : engine::tunable_table()) names.push_back(tunable_variable(info.name));
    return names;
}

RC_GTEST_PROP(Settings, TakeAnyTextInAnyVariableOrRefuseItWithASentence, ()) {
    const std::vector<std::string> names = all_variables();
    const std::string value = *engine::testing::hostile_text();
    for (int i = 0; i < 10; ++i) {
        const std::string& name = names[*rc::gen::inRange<std::size_t>(0, names.size())];
        const auto read = settings({{name, value}});
        if (!read) {
            RC_ASSERT(mentions(read.error(), ": ") || mentions(read.error(), name));
            continue;
        }
        for (const engine::Relation& relation : engine::relations())
            RC_ASSERT(relation.severity == engine::Relation::Severity::warn || relation.holds(read->tunables));
        const Variable* row = find_variable(name);
        const bool any_bytes = row != nullptr && (row->kind == VariableKind::path || row->kind == VariableKind::secret);
        RC_ASSERT(any_bytes || engine::not_utf8(value) == std::string_view::npos);
    }
}

TEST(Settings, RefuseWhatIsNoUtf8AndNumbersBeyondTheirRangeByName) {
    for (const Variable& one : variable_table()) {
        if (one.kind == VariableKind::path || one.kind == VariableKind::secret) continue;
        EXPECT_TRUE(mentions(error_of({{std::string(one.name), "x\xff"}}), std::string(one.name) + ": expected UTF-8"))
            << one.name;
    }
    EXPECT_TRUE(mentions(error_of({{"SCHEDULER_DLQ_MAX_SIZE", "9223372036854775807"}}),
                         "SCHEDULER_DLQ_MAX_SIZE: expected from 1 to 1000000000, got 9223372036854775807"));
    EXPECT_TRUE(mentions(error_of({{"LOCKSTEP_BUS_MAX_DELIVER", "4294967297"}}),
                         "LOCKSTEP_BUS_MAX_DELIVER: expected a whole number"));
    EXPECT_TRUE(mentions(error_of({{"LOCKSTEP_RUNNING_TIMEOUT", "87601h"}}),
                         "LOCKSTEP_RUNNING_TIMEOUT: expected at most ten years"));
}

}  // namespace
}  // namespace lockstep::prod
