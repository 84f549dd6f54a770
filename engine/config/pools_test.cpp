#include "engine/config/pools.h"

#include <gtest/gtest.h>

namespace lockstep::engine {
namespace {

using Names = std::vector<std::string>;

TEST(Pools, ADocumentIsReadWithAllItsForms) {
    const auto table = parse_pools(R"({
        "topics": {"job.a": "gpu", "job.b": ["default", " gpu "]},
        "pools": {"gpu": {"requires": [" CUDA ", "linux"], "status": "draining", "description": "x",
                          "drain_started_at": "t", "drain_timeout_seconds": 5},
                  "default": {}, "bare": null}})");
    ASSERT_TRUE(table) << table.error().pointer << ": " << table.error().message;
    EXPECT_EQ(table->topics.at("job.a"), (Names{"gpu"}));
    EXPECT_EQ(table->topics.at("job.b"), (Names{"default", "gpu"}));
    EXPECT_EQ(table->pools.at("gpu").requires_, (Names{"cuda", "linux"}));
    EXPECT_EQ(table->pools.at("gpu").status, PoolStatus::draining);
    EXPECT_EQ(table->pools.at("default").status, PoolStatus::active);
    EXPECT_TRUE(table->pools.contains("bare"));
}

TEST(Pools, LegacyCapitalsAndAMissingPoolSectionAreRead) {
    EXPECT_TRUE(parse_pools(R"({"Topics": {"job.a": ["p"]}, "Pools": {"p": {}}})"));
    EXPECT_TRUE(parse_pools(R"({"topics": {"job.a": "p"}})"));
    EXPECT_TRUE(parse_pools(R"({"topics": {"job.a": "p"}, "pools": null})"));
}

TEST(Pools, ErrorsNameThePlace) {
    struct Case {
        const char* text;
        const char* pointer;
    };
    for (const auto& [text, pointer] : {
             Case{"", ""},
             Case{"[]", ""},
             Case{"{}", "/topics"},
             Case{R"({"topics": {}})", "/topics"},
             Case{R"({"topics": []})", "/topics"},
             Case{R"({"topics": {"job.a": []}})", "/topics/job.a"},
             Case{R"({"topics": {"job.a": 7}})", "/topics/job.a"},
             Case{R"({"topics": {"job.a": ["p", ""]}})", "/topics/job.a/1"},
             Case{R"({"topics": {"job.a": ["p", 7]}})", "/topics/job.a/1"},
             Case{R"({"topics": {" ": "p"}})", "/topics/ "},
             Case{R"({"topics": {"a/b~c": 7}})", "/topics/a~1b~0c"},
             Case{R"({"topics": {"job.a": "p"}, "pool": {}})", "/pool"},
             Case{R"({"topics": {"job.a": "p"}, "pools": []})", "/pools"},
             Case{R"({"topics": {"job.a": "p"}, "pools": {"p": 1}})", "/pools/p"},
             Case{R"({"topics": {"job.a": "p"}, "pools": {"p": {"require": []}}})", "/pools/p/require"},
             Case{R"({"topics": {"job.a": "p"}, "pools": {"p": {"requires": "x"}}})", "/pools/p/requires"},
             Case{R"({"topics": {"job.a": "p"}, "pools": {"p": {"status": "gone"}}})", "/pools/p/status"},
         }) {
        const auto table = parse_pools(text);
        ASSERT_FALSE(table) << text;
        EXPECT_EQ(table.error().pointer, pointer) << text;
        EXPECT_FALSE(table.error().message.empty()) << text;
    }
}

// H-31
TEST(Pools, PoolsThatAreNotActiveAreNotRouted) {
    const auto table = routable(*parse_pools(R"({
        "topics": {"job.a": ["off", "on"], "job.b": "drain", "job.c": "unlisted"},
        "pools": {"off": {"status": "inactive"}, "drain": {"status": "draining"}, "on": {}}})"));
    EXPECT_EQ(table.topics.at("job.a"), (Names{"on"}));
    EXPECT_FALSE(table.topics.contains("job.b"));
    EXPECT_EQ(table.topics.at("job.c"), (Names{"unlisted"}));
    EXPECT_EQ(table.pools.size(), 1u);
}

}  // namespace
}  // namespace lockstep::engine
