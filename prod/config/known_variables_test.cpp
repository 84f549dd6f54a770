// D-18
#include "prod/config/known_variables.h"

#include <gtest/gtest.h>

namespace lockstep::prod {
namespace {

std::vector<std::string> unread(Environment::Values values) { return unread_variables(Environment(std::move(values))); }
std::vector<std::string> unsupported(Environment::Values values) {
    return unsupported_variables(Environment(std::move(values)));
}

TEST(UnreadVariables, AreWarnedOfWithTheNearestName) {
    for (const auto& [name, meant] :
         {std::pair{"NATS_UROL", "NATS_URL"}, std::pair{"REDIS_ULR", "REDIS_URL"},
          std::pair{"CORDUM_LOG_LVL", "CORDUM_LOG_LEVEL"}, std::pair{"LOCKSTEP_BACKOF_MAX", "LOCKSTEP_BACKOFF_MAX"},
          std::pair{"OUTPUT_POLICY_FAILMODE", "OUTPUT_POLICY_FAIL_MODE"},
          std::pair{"SCHEDULER_METRIC_ADDR", "SCHEDULER_METRICS_ADDR"},
          std::pair{"WORKFLOW_ENGINE_HTTP_ADR", "WORKFLOW_ENGINE_HTTP_ADDR"},
          std::pair{"LOCKSTEP_ROLES", "LOCKSTEP_ROLE"},
          std::pair{"WORKFLOW_EXPR_MAX_LEN", "WORKFLOW_EXPR_MAX_LENGTH"}}) {
        const auto warnings = unread({{name, "x"}});
        ASSERT_EQ(warnings.size(), 1U) << name;
        EXPECT_EQ(warnings[0], std::string(name) + " is set, but nothing reads it; did you mean " + meant + "?");
    }
}

TEST(UnreadVariables, GetNoNameThatNobodyCanHaveMeant) {
    EXPECT_EQ(unread({{"CORDUM_LICENSE_SERVER_REGION", "x"}}),
              std::vector<std::string>{"CORDUM_LICENSE_SERVER_REGION is set, but nothing here reads it"});
}

TEST(UnreadVariables, AreNotThoseThatAPlatformSetsForAServiceOfSuchAName) {
    for (const char* name :
         {"NATS_PORT", "NATS_SERVICE_HOST", "NATS_SERVICE_PORT", "NATS_SERVICE_PORT_CLIENT", "REDIS_PORT_6379_TCP",
          "REDIS_PORT_6379_TCP_ADDR", "REDIS_MASTER_PORT_6379_TCP_PROTO", "LOCKSTEP_KERNEL_PORT_50051_TCP_PORT",
          "LOCKSTEP_KERNEL_SERVICE_HOST", "NATS_PORT_8222_UDP", "REDIS_NAME", "REDIS_ENV_REDIS_VERSION",
          "CORDUM_API_GATEWAY_SERVICE_PORT_HTTP"})
        EXPECT_TRUE(unread({{name, "x"}}).empty()) << name;
    EXPECT_FALSE(unread({{"NATS_PORT_TCP", "x"}}).empty());
}

TEST(UnreadVariables, AreNeitherEmptyNorOfOthersNorRead) {
    EXPECT_TRUE(unread({{"NATS_UROL", ""},
                        {"PATH", "x"},
                        {"REDISX", "x"},
                        {"LOCKSTEP_BACKOFF_MAX", "1s"},
                        {"LOCKSTEP_ROLE", "workflow"},
                        {"NATS_PASSWORD_FILE", "p"}})
                    .empty());
}

TEST(UnreadVariables, IncludeThoseWithoutAnEffectAndSayWhatHasOne) {
    EXPECT_NE(unread({{"REDIS_POOL_SIZE", "50"}}).at(0).find("one connection"), std::string::npos);
    EXPECT_NE(unread({{"REDIS_PASSWORD", "hunter2"}}).at(0).find("REDIS_URL"), std::string::npos);
    EXPECT_EQ(unread({{"REDIS_PASSWORD", "hunter2"}}).at(0).find("hunter2"), std::string::npos);
}

TEST(UnsupportedVariables, AreMistakesWithAWayOut) {
    for (const auto& [name, way_out] :
         {std::pair{"NATS_CREDS_FILE", "in NATS_CREDS"}, std::pair{"REDIS_PASSWORD_FILE", "in REDIS_URL_FILE"}}) {
        const auto mistakes = unsupported({{name, "x"}});
        ASSERT_EQ(mistakes.size(), 1U) << name;
        EXPECT_TRUE(mistakes[0].starts_with(name));
        EXPECT_NE(mistakes[0].find(way_out), std::string::npos) << mistakes[0];
        EXPECT_TRUE(unread({{name, "x"}}).empty()) << "said once";
    }
    EXPECT_TRUE(unsupported({{"NATS_CREDS_FILE", ""}, {"NATS_URL", "nats://n"}}).empty());
}

}  // namespace
}  // namespace lockstep::prod
