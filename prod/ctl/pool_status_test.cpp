// CONF-05: a pool's status is the only thing that changes in the document that all schedulers follow.
#include "prod/ctl/pool_status.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/config/overlay.h"

namespace lockstep::prod {
namespace {

using engine::PoolStatus;
using nlohmann::json;

const engine::WallTime kChangedAt{std::chrono::seconds(1'800'000'000)};

json document() {
    return json::parse(R"({
        "scope": "system", "scope_id": "default", "revision": 7, "updated_at": "2026-01-01T00:00:00Z",
        "meta": {"source": "somebody"}, "later": [1, 2.5, null],
        "data": {
            "safety": {"enabled": true}, "_poolsFileHash": "abc",
            "pools": {
                "topics": {"job.default": ["default"], "job.etl": ["etl", "default"]},
                "pools": {"etl": {"requires": ["bigquery"], "description": "loads"}}
            }
        }})");
}

PoolChange changed(const json& stored, const std::string& pool, PoolStatus status) {
    auto change = change_pool_status(stored.dump(), pool, status, kChangedAt);
    EXPECT_TRUE(change) << (change ? "" : change.error().message);
    return change ? *change : PoolChange{};
}

std::string refused(const std::string& stored, const std::string& pool, int exit_code) {
    const auto change = change_pool_status(stored, pool, PoolStatus::draining, kChangedAt);
    EXPECT_FALSE(change);
    if (change) return {};
    EXPECT_EQ(change.error().exit_code, exit_code);
    return change.error().message;
}

TEST(PoolStatus, DrainingChangesTheStatusTheRevisionAndNothingElse) {
    json expected = document();
    expected["data"]["pools"]["pools"]["etl"]["status"] = "draining";
    expected["data"]["pools"]["pools"]["etl"]["drain_started_at"] = "2027-01-15T08:00:00.000000Z";
    expected["revision"] = 8;
    expected["updated_at"] = "2027-01-15T08:00:00.000000Z";
    const PoolChange change = changed(document(), "etl", PoolStatus::draining);
    EXPECT_EQ(json::parse(change.document), expected);
    EXPECT_EQ(change.revision, 8);
    EXPECT_TRUE(change.without_pool.empty()) << "job.etl has another";
    const auto overlay = engine::read_overlay(change.document);
    ASSERT_TRUE(overlay && overlay->pools) << "schedulers read it";
    EXPECT_EQ(overlay->pools->pools.at("etl").status, PoolStatus::draining);
    EXPECT_EQ(overlay->mistakes.size(), 0U);
}

TEST(PoolStatus, ResumingUndoesIt) {
    const json drained = json::parse(changed(document(), "etl", PoolStatus::draining).document);
    json expected = document();
    expected["data"]["pools"]["pools"]["etl"]["status"] = "active";
    expected["revision"] = 9;
    expected["updated_at"] = "2027-01-15T08:00:00.000000Z";
    EXPECT_EQ(json::parse(changed(drained, "etl", PoolStatus::active).document), expected);
}

TEST(PoolStatus, APoolThatOnlyATopicNamesGetsAnEntry) {
    const PoolChange change = changed(document(), "default", PoolStatus::draining);
    EXPECT_EQ(json::parse(change.document)["data"]["pools"]["pools"]["default"]["status"], "draining");
    EXPECT_EQ(change.without_pool, std::vector<std::string>{"job.default"});
    json bare = document();
    bare["data"]["pools"].erase("pools");
    EXPECT_EQ(
        json::parse(changed(bare, "etl", PoolStatus::draining).document)["data"]["pools"]["pools"]["etl"]["status"],
        "draining");
}

TEST(PoolStatus, ADrainingPoolTakesNoJobsForAnother) {
    const json drained = json::parse(changed(document(), "default", PoolStatus::draining).document);
    EXPECT_EQ(changed(drained, "etl", PoolStatus::draining).without_pool, std::vector<std::string>{"job.etl"});
}

TEST(PoolStatus, WhatIsSoAlreadyIsNotWritten) {
    const PoolChange change = changed(document(), "etl", PoolStatus::active);
    EXPECT_EQ(change.document, "");
    EXPECT_EQ(change.revision, 7);
}

TEST(PoolStatus, NamesOfOlderWritersAreKept) {
    json old = document();
    old["data"]["pools"] = {{"Topics", {{"job.default", {"default"}}}},
                            {"Pools", {{"default", {{"Status", "active"}}}}}};
    const json after = json::parse(changed(old, "default", PoolStatus::draining).document);
    EXPECT_EQ(after["data"]["pools"]["Pools"]["default"]["Status"], "draining");
    EXPECT_FALSE(after["data"]["pools"].contains("pools"));
    EXPECT_FALSE(after["data"]["pools"]["Pools"]["default"].contains("status"));
}

// C11
TEST(PoolStatus, AMisspeltNameIsToldWithTheNearestOne) {
    EXPECT_EQ(refused(document().dump(), "defualt", kNotFound),
              "there is no pool \"defualt\"; did you mean \"default\"?");
}

TEST(PoolStatus, ADocumentThatNobodyCanReadIsLeftAlone) {
    EXPECT_NE(refused("", "etl", kFailed).find("is one running?"), std::string::npos);
    EXPECT_NE(refused("[1", "etl", kFailed).find("no JSON object"), std::string::npos);
    json without = document();
    without["data"].erase("pools");
    EXPECT_NE(refused(without.dump(), "etl", kFailed).find("tells of no pools"), std::string::npos);
    json uncounted = document();
    uncounted["revision"] = "seven";
    EXPECT_NE(refused(uncounted.dump(), "etl", kFailed).find("revision"), std::string::npos);
    json odd = document();
    odd["data"]["pools"]["pools"]["etl"]["status"] = "asleep";
    EXPECT_NE(refused(odd.dump(), "etl", kFailed).find("/pools/etl/status"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::prod
