// O1
#include "prod/config/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "fakes/testing/server_process.h"
#include "prod/config/effective_settings.h"
#include "prod/config/known_variables.h"

namespace lockstep::prod {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

EffectiveSetting effective(const Environment::Values& values, const std::string& name) {
    const Environment environment(values);
    const auto settings = read_settings(environment);
    if (!settings) throw std::runtime_error(settings.error());
    for (auto& one : effective_settings(environment, {*settings, settings->tunables}))
        if (one.name == name) return one;
    return {};
}

TEST(Variables, StandOnceEachAndNameTunablesThatExist) {
    std::set<std::string_view> names;
    for (const Variable& one : variable_table()) {
        EXPECT_TRUE(names.insert(one.name).second) << one.name;
        EXPECT_FALSE(one.help.empty()) << one.name;
        if (!one.tunable.empty()) EXPECT_NE(engine::find_tunable(one.tunable), nullptr) << one.name;
        if (one.kind == VariableKind::count) EXPECT_TRUE(one.most > 0 || !one.tunable.empty()) << one.name;
    }
}

TEST(Variables, HaveTheDefaultsThatHoldWithoutThem) {
    const Environment nothing({});
    const auto settings = read_settings(nothing);
    ASSERT_TRUE(settings) << settings.error();
    for (const auto& [name, value, source] : effective_settings(nothing, {*settings, settings->tunables})) {
        EXPECT_EQ(source, "default") << name;
        const Variable* one = find_variable(name);
        if (one != nullptr && one->tunable.empty() && name != "CORDUM_INSTANCE_ID")
            EXPECT_EQ(value, one->otherwise) << name;
    }
    EXPECT_EQ(effective({}, "NATS_JS_ACK_WAIT").value, "10m");
    EXPECT_EQ(effective({}, "LOCKSTEP_BACKOFF_BASE").value, "1s");
    EXPECT_EQ(effective({{"CORDUM_INSTANCE_ID", "replica-7"}}, "CORDUM_INSTANCE_ID").value, "replica-7");
}

TEST(Variables, AreRefusedWhereTheirKindSaysSo) {
    for (const Variable& one : variable_table()) {
        const bool checked = one.kind == VariableKind::flag || one.kind == VariableKind::duration ||
                             one.kind == VariableKind::count ||
                             (one.kind == VariableKind::word && one.name != "LOCKSTEP_ROLE");
        if (!checked) continue;
        Environment::Values values{{std::string(one.name), "nonsense"}};
        // Some are looked at only beside others.
        if (one.name == "NATS_TLS_INSECURE") values["NATS_URL"] = "tls://n";
        if (one.name == "REDIS_TLS_INSECURE") values["REDIS_URL"] = "rediss://r";
        if (one.name == "SAFETY_KERNEL_INSECURE" || one.name.ends_with("_PUBLIC")) values["CORDUM_PRODUCTION"] = "true";
        const auto settings = read_settings(Environment(values), {.scheduler = true, .workflow = true});
        ASSERT_FALSE(settings) << one.name;
        EXPECT_THAT(settings.error(), HasSubstr(std::string(one.name) + ": expected")) << one.name;
    }
}

TEST(EffectiveSettings, SayWhereAValueComesFrom) {
    EXPECT_EQ(effective({{"NATS_JS_ACK_WAIT", "30s"}}, "NATS_JS_ACK_WAIT").source, "environment");
    EXPECT_EQ(effective({{"LOCKSTEP_BUS_ACK_WAIT", "30s"}}, "NATS_JS_ACK_WAIT").source,
              "environment (LOCKSTEP_BUS_ACK_WAIT)");
    EXPECT_EQ(effective({{"REDIS_DATA_TTL_SECONDS", "60"}}, "REDIS_DATA_TTL").source,
              "environment (REDIS_DATA_TTL_SECONDS)");
    const auto letters = effective({{"CORDUM_DLQ_ENTRY_TTL_DAYS", "2"}}, "LOCKSTEP_DLQ_ENTRY_TTL");
    EXPECT_EQ(letters.value, "48h");
    EXPECT_EQ(letters.source, "environment (CORDUM_DLQ_ENTRY_TTL_DAYS)");
    EXPECT_EQ(effective({{"NATS_MAX_ACK_PENDING", "100000"}}, "NATS_MAX_ACK_PENDING").value, "50000")
        << "what is in force";

    const Environment environment({{"TIMEOUT_CONFIG_PATH", "/etc/t.yaml"}});
    const auto settings = read_settings(environment);
    ASSERT_TRUE(settings);
    engine::Tunables in_force = settings->tunables;
    in_force.running_timeout = std::chrono::minutes(3);
    const auto all = effective_settings(environment, {*settings, in_force, true});
    const auto find = [&](std::string_view name) { return *std::ranges::find(all, name, &EffectiveSetting::name); };
    EXPECT_EQ(find("LOCKSTEP_RUNNING_TIMEOUT").value, "3m");
    EXPECT_EQ(find("LOCKSTEP_RUNNING_TIMEOUT").source, "file /etc/t.yaml");
    EXPECT_EQ(find("LOCKSTEP_ROLE").source, "command line");
}

// O2
TEST(EffectiveSettings, ShowNoSecret) {
    const fakes::testing::TemporaryFolder folder;
    const std::string file = (folder.path() / "token").string();
    std::ofstream(file) << "hunter2-file";
    const Environment environment({{"NATS_URL", "nats://me:hunter2-nats@bus"},
                                   {"REDIS_URL", "redis://me:hunter2-redis@store"},
                                   {"NATS_USERNAME", "me"},
                                   {"NATS_PASSWORD", "hunter2-password"},
                                   {"NATS_NKEY", "hunter2-nkey"},
                                   {"NATS_TOKEN_FILE", file}});
    const auto settings = read_settings(environment);
    ASSERT_TRUE(settings) << settings.error();
    const auto all = effective_settings(environment, {*settings, settings->tunables});
    for (const std::string& text : {as_text(all), as_json(all)}) EXPECT_THAT(text, Not(HasSubstr("hunter2")));
    EXPECT_THAT(as_text(all), HasSubstr("NATS_TOKEN=***  # file " + file + "\n"));
    EXPECT_THAT(as_text(all), HasSubstr("NATS_URL=nats://***@bus  # environment\n"));
    EXPECT_EQ(nlohmann::json::parse(as_json(all))["settings"]["NATS_PASSWORD"],
              (nlohmann::json{{"value", "***"}, {"source", "environment"}}));
}

TEST(Reference, IsThePage) {
    std::ifstream in(LOCKSTEP_REFERENCE_PAGE);
    std::ostringstream page;
    page << in.rdbuf();
    EXPECT_EQ(page.str(), reference_page()) << "write it anew: lockstepd config reference > prod/config/reference.md";
}

}  // namespace
}  // namespace lockstep::prod
