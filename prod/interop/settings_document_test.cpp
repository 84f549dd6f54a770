// `cfg:system:default` as the protocol's first implementation writes it (D-12): the fixtures are what its JSON writer makes of the members
// that its configuration service stores, settings_of_go_before_tags.json from before it gave them their names in small letters.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/config/overlay.h"
#include "engine/config/start_document.h"
#include "engine/wire/json_text.h"
#include "prod/config/pools_file.h"
#include "prod/config/timeouts.h"
#include "prod/config/yaml.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

std::string fixture(const std::string& name) {
    const auto text = read_file(LOCKSTEP_INTEROP_FOLDER "/" + name);
    EXPECT_TRUE(text) << text.error();
    return text.value_or("");
}

/// The files that settings_of_go.json was started from, as lockstepd hands them on.
engine::FileDocuments files() {
    const auto pools = parse_pools_file(fixture("settings_pools.yaml"), "settings_pools.yaml");
    const auto timeouts = parse_timeouts_file(fixture("settings_timeouts.yaml"), "settings_timeouts.yaml");
    EXPECT_TRUE(pools) << pools.error();
    EXPECT_TRUE(timeouts) << timeouts.error();
    return {engine::stored_pools(pools->json), engine::stored_form(*timeouts)};
}

TEST(SettingsOfOthers, AreReadAsTheyAreMeant) {
    const auto overlay = engine::read_overlay(fixture("settings_of_go.json"));
    ASSERT_TRUE(overlay) << overlay.error();
    EXPECT_TRUE(overlay->mistakes.empty()) << overlay->mistakes.at(0);
    EXPECT_EQ(overlay->revision, 2);
    using Topics = decltype(engine::RoutingTable::topics);
    EXPECT_EQ(overlay->pools->topics,
              (Topics{{"job.default", {"default"}}, {"job.deploy", {"deploy"}}, {"job.etl.load", {"etl", "default"}}}));
    ASSERT_EQ(overlay->pools->pools.size(), 3U);
    EXPECT_EQ(overlay->pools->pools.at("default").requires_, std::vector<std::string>());
    EXPECT_EQ(overlay->pools->pools.at("etl").requires_, (std::vector<std::string>{"bigquery"}));
    EXPECT_EQ(overlay->pools->pools.at("etl").status, engine::PoolStatus::active);
    EXPECT_EQ(overlay->pools->pools.at("deploy").requires_, (std::vector<std::string>{"kubectl", "network:egress"}));
    EXPECT_EQ(overlay->pools->pools.at("deploy").status, engine::PoolStatus::draining);
    engine::Timeouts expected{.reconciler = {.given = true, .dispatch = 300s, .running = 900s, .scan_interval = 30s},
                              .topics = {},
                              .workflows = {}};
    expected.topics["job.etl.load"] = {.dispatch = 0s, .running = 600s, .max_retries = 2};
    expected.workflows["trip"] = {.child = 60s, .total = 1h, .max_retries = 0};
    EXPECT_EQ(*overlay->timeouts, expected);
    EXPECT_FALSE(overlay->input_fail_mode);
    EXPECT_FALSE(overlay->output_fail_mode_given);
    EXPECT_FALSE(overlay->output_policy_enabled);
}

TEST(SettingsOfOthers, AreReadFromBeforeTheirNamesWereSmall) {
    const auto overlay = engine::read_overlay(fixture("settings_of_go_before_tags.json"));
    ASSERT_TRUE(overlay) << overlay.error();
    EXPECT_TRUE(overlay->mistakes.empty()) << overlay->mistakes.at(0);
    EXPECT_EQ(overlay->revision, 5);
    EXPECT_EQ(overlay->pools->topics.at("job.default"), (std::vector<std::string>{"default"}));
    EXPECT_EQ(overlay->pools->pools.at("etl").requires_, (std::vector<std::string>{"bigquery"}));
    engine::Timeouts expected{.reconciler = {.given = true, .dispatch = 300s, .running = 9000s, .scan_interval = 30s},
                              .topics = {},
                              .workflows = {}};
    expected.topics["job.default"] = {.dispatch = 0s, .running = 120s, .max_retries = 1};
    expected.workflows["trip"] = {.child = 60s, .total = 1h, .max_retries = 0};
    EXPECT_EQ(*overlay->timeouts, expected);
}

TEST(SettingsOfOthers, OfTheSameFilesNeedNoWrite) {
    const std::string stored = fixture("settings_of_go.json");
    const auto document = engine::start_document(stored, files(), engine::WallTime(1h));
    ASSERT_TRUE(document) << document.error();
    EXPECT_EQ(*document, "") << "each handover would overwrite what operators have set";
    EXPECT_TRUE(engine::overruled(stored, files()).empty());

    json edited = json::parse(stored);
    edited["data"]["pools"]["pools"]["etl"]["status"] = "inactive";
    edited["data"]["timeouts"]["reconciler"]["running_timeout_seconds"] = 60;
    EXPECT_EQ(engine::start_document(edited.dump(), files(), engine::WallTime(1h)).value_or("an error"), "");
}

// The order of members in a JSON object means nothing, and only fingerprints are compared as bytes: these are of the canonical form.
TEST(SettingsOfOurs, AreTheSameButForTheCountAndTheClock) {
    const auto document = engine::start_document("", files(), engine::WallTime(1'774'690'200s + 123'456us));
    ASSERT_TRUE(document) << document.error();
    json expected = json::parse(fixture("settings_of_go.json"));
    expected["revision"] = 1;  // the other one stores the document first and the files with a second write
    expected["updated_at"] = "2026-03-28T09:30:00.123456Z";
    EXPECT_EQ(*document, engine::wire::json_text(expected));
    EXPECT_EQ(json::parse(*document)["data"]["_poolsFileHash"],
              "1eddd6f3c7793c07d2ad251aec41616bec3f08066c7ec7117b146a58e28e09f1");
    EXPECT_EQ(json::parse(*document)["data"]["_timeoutsFileHash"],
              "af311d4cd24d2308da78af5fe0f2f29cfff02fdb88746ff49f88bf6e98c89d26");
}

}  // namespace
}  // namespace lockstep::prod
