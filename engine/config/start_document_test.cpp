// The cases of the table in settings.md 4.
#include "engine/config/start_document.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/config/fingerprint.h"

namespace lockstep::engine {
namespace {

using nlohmann::json;

constexpr const char* kPools = R"({"pools":{"p":{"requires":[]}},"topics":{"job.a":["p"]}})";
constexpr const char* kMorePools =
    R"({"pools":{"p":{"requires":["x"]},"q":{"requires":[]}},"topics":{"job.a":["q"],"job.b":["q"]}})";
constexpr const char* kTimeouts = R"({"reconciler":{"dispatch_timeout_seconds":10}})";
constexpr const char* kOtherTimeouts = R"({"reconciler":{"dispatch_timeout_seconds":20}})";
const FileDocuments kFiles{kPools, kTimeouts};
const WallTime kNow{std::chrono::seconds(1'767'225'600)};

json written(const std::string& stored, const FileDocuments& files) {
    const auto document = start_document(stored, files, kNow);
    EXPECT_TRUE(document) << document.error();
    if (!document || document->empty()) return nullptr;
    return json::parse(*document);
}

/// What an operator has made of a document that we started.
std::string edited(const json& data, int revision = 7) {
    return json{{"scope", "system"}, {"scope_id", "default"}, {"data", data}, {"revision", revision}}.dump();
}

// CONF-01
TEST(StartDocument, AnEmptyStoreGetsBothFilesWithTheirFingerprints) {
    const json document = written("", kFiles);
    EXPECT_EQ(document["scope"], "system");
    EXPECT_EQ(document["scope_id"], "default");
    EXPECT_EQ(document["revision"], 1);
    EXPECT_EQ(document["updated_at"], "2026-01-01T00:00:00.000000Z");
    EXPECT_EQ(document["meta"], json({{"source", "auto-bootstrap"}}));
    const json& data = document["data"];
    EXPECT_EQ(data["safety"], json({{"enabled", true}, {"mode", "enforce"}}));
    EXPECT_EQ(data["rate_limits"], json({{"enabled", true}}));
    EXPECT_EQ(data["pools"], json::parse(kPools));
    EXPECT_EQ(data["_poolsFileHash"], fingerprint_of_text(kPools));
    EXPECT_EQ(data["timeouts"], json::parse(kTimeouts));
    EXPECT_EQ(data["_timeoutsFileHash"], fingerprint_of_text(kTimeouts));
}

// CONF-02
TEST(StartDocument, TheSameFilesAgainMakeNoNewRevision) {
    const auto first = start_document("", kFiles, kNow);
    ASSERT_TRUE(first);
    EXPECT_EQ(start_document(*first, kFiles, kNow), std::string());
    const FileDocuments in_another_order{R"({"topics": {"job.a": ["p"]}, "pools": {"p": {"requires": []}}})",
                                         kTimeouts};
    EXPECT_EQ(start_document(*first, in_another_order, kNow), std::string());
}

// CONF-03
TEST(StartDocument, AFileWithMoreAddsWhatIsMissingAndOverwritesNothing) {
    const auto first = start_document("", kFiles, kNow);
    ASSERT_TRUE(first);
    const json document = written(*first, {kMorePools, kTimeouts});
    EXPECT_EQ(document["revision"], 2);
    const json& pools = document["data"]["pools"];
    EXPECT_EQ(pools["topics"], json::parse(R"({"job.a": ["p"], "job.b": ["q"]})"));
    EXPECT_EQ(pools["pools"], json::parse(R"({"p": {"requires": []}, "q": {"requires": []}})"));
    EXPECT_EQ(document["data"]["_poolsFileHash"], fingerprint_of_text(kMorePools));
}

TEST(StartDocument, WhatIsMissingIsAddedUnderTheLegacyNameThatIsThere) {
    const json document = written(edited({{"pools", {{"Topics", {{"job.a", {"mine"}}}}}}, {"_poolsFileHash", "older"}}),
                                  {kMorePools, ""});
    EXPECT_EQ(
        document["data"]["pools"],
        json::parse(
            R"({"Topics": {"job.a": ["mine"], "job.b": ["q"]}, "pools": {"p": {"requires": ["x"]}, "q": {"requires": []}}})"));
}

TEST(StartDocument, PoolsThatNoFileWroteStayAndTheFileIsOnlyNoted) {
    const json mine = json::parse(R"({"topics": {"job.mine": ["m"]}})");
    const json document = written(edited({{"pools", mine}, {"mine", 1}}), {kPools, ""});
    EXPECT_EQ(document["revision"], 8);
    EXPECT_EQ(document["data"], json({{"pools", mine}, {"mine", 1}, {"_poolsFileHash", fingerprint_of_text(kPools)}}));
}

TEST(StartDocument, TimeoutsFollowTheFileWhenItChangesAndTheOperatorOtherwise) {
    const json operators = json::parse(R"({"reconciler": {"dispatch_timeout_seconds": 99}})");
    const json same_file{{"timeouts", operators}, {"_timeoutsFileHash", fingerprint_of_text(kTimeouts)}};
    EXPECT_EQ(written(edited(same_file), {"", kTimeouts}), nullptr);
    EXPECT_EQ(written(edited(same_file), {"", kOtherTimeouts})["data"]["timeouts"], json::parse(kOtherTimeouts));
    EXPECT_EQ(written(edited({{"timeouts", operators}}), {"", kTimeouts})["data"]["timeouts"], json::parse(kTimeouts));
}

TEST(StartDocument, WithoutFilesOnlyAMissingDocumentIsWritten) {
    EXPECT_EQ(written("", {})["revision"], 1);
    EXPECT_EQ(start_document(edited(json::object()), {}, kNow), std::string());
}

TEST(StartDocument, WhatItCannotCountOnIsLeftAlone) {
    for (const char* stored :
         {"{", "[]", "7", R"({"data": []})", R"({"data": "x"})", R"({"revision": "1"})", R"({"revision": -1})",
          R"({"revision": 1.5})", R"({"revision": 18446744073709551615})", R"({"revision": 9007199254740993})"})
        EXPECT_FALSE(start_document(stored, kFiles, kNow)) << stored;
}

TEST(StartDocument, StrangeValuesInPlaceOfPoolsDoNoHarm) {
    for (const char* pools : {"7", "[]", "\"x\"", R"({"topics": 7})", R"({"topics": [], "pools": "x"})", "{}"}) {
        const json document =
            written(edited({{"pools", json::parse(pools)}, {"_poolsFileHash", "older"}}), {kPools, ""});
        EXPECT_EQ(document["data"]["_poolsFileHash"], fingerprint_of_text(kPools)) << pools;
    }
    EXPECT_EQ(written(edited({{"pools", nullptr}, {"_poolsFileHash", 7}}), {kPools, ""})["data"]["pools"],
              json::parse(kPools));
}

TEST(StoredPools, AreInTheShapeThatEveryReaderKnows) {
    EXPECT_EQ(stored_pools(
                  R"({"Topics": {"job.a": "p", "job.b": ["p", "q"]}, "pools": {"p": null, "q": {"requires": ["x"]}}})"),
              R"({"pools":{"p":{},"q":{"requires":["x"]}},"topics":{"job.a":["p"],"job.b":["p","q"]}})");
    EXPECT_EQ(stored_pools(R"({"topics": {"job.a": "p"}, "pools": null})"), R"({"topics":{"job.a":["p"]}})");
}

// D-12
TEST(StoredPools, LeaveOutWhatAPoolLeavesEmpty) {
    EXPECT_EQ(stored_pools(R"({"topics": {"job.a": "p"}, "pools": {"p": {"requires": [], "status": "",
                               "description": "", "drain_timeout_seconds": 0}, "q": {"status": "active"}}})"),
              R"({"pools":{"p":{},"q":{"status":"active"}},"topics":{"job.a":["p"]}})");
}

/// The SHA-256 of a text, taken with sha256sum: what the reference records for the same files.
TEST(FileFingerprints, AreThoseOfTheReference) {
    const FileDocuments files{stored_pools(R"({"topics": {"job.default": "default"},
                                               "pools": {"default": {"requires": [], "description": "R&D <all>"}}})"),
                              R"({"topics":{},"workflows":{}})"};
    const json data = written("", files)["data"];
    EXPECT_EQ(data["_poolsFileHash"], "ed86a24c5602b6b08e01045f88b6a11d9a40e25dd9786a7afc13b481fb2f8fd7");
    EXPECT_EQ(data["_timeoutsFileHash"], "f0ee12ad072d2b0ec1ddc5d6fd0c29ba46e69632f055567cdbe4eec3e345af99")
        << "a reconciler block that is missing counts as the reference's own limits";
    EXPECT_FALSE(data["timeouts"].contains("reconciler"));
}

TEST(Overruled, NamesEntriesOfTheFileThatTheServiceHasOtherwise) {
    const std::string stored =
        edited({{"pools", json::parse(R"({"Topics": {"job.a": "p", "job.b": ["q"], "job.c": ["r"]},
                                          "pools": {"p": {"requires": []}, "q": {"status": "draining"}}})")}});
    const FileDocuments files{
        stored_pools(R"({"topics": {"job.a": "p", "job.b": "p", "job.new": "p"}, "pools": {"p": {}, "q": {}}})"), ""};
    EXPECT_EQ(overruled(stored, files), (std::vector<std::string>{"pools/q", "topics/job.b"}));
    EXPECT_TRUE(overruled("[]", files).empty());
}

}  // namespace
}  // namespace lockstep::engine
