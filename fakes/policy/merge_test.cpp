#include "fakes/policy/merge.h"

#include <gtest/gtest.h>

#include "fakes/policy/test_policy.h"

namespace lockstep::fakes::policy {
namespace {

TEST(PolicyFragments, ReplaceRulesByIdAndAppendOthers) {
    Document base = document_of(R"({"default_decision": "allow", "rules": [{"id": "a", "reason": "old"}, {"id": "b"}],
        "tenants": {"t": {"deny_topics": ["job.x"]}}})");
    merge(base, document_of(R"({"rules": [{"id": "c"}, {"id": "a", "reason": "new"}, {}],
        "output_rules": [{"id": "o"}], "tenants": {"t": {}, "u": {}}})"));
    ASSERT_EQ(base.rules.size(), 4u);
    EXPECT_EQ(base.rules[0].reason, "new");
    EXPECT_EQ(base.rules[1].id, "b");
    EXPECT_EQ(base.rules[2].id, "c");
    EXPECT_EQ(base.output_rules.size(), 1u);
    EXPECT_TRUE(base.allow_by_default);
    EXPECT_TRUE(base.tenants.at("t").deny_topics.empty());
    EXPECT_EQ(base.tenants.size(), 2u);
}

TEST(PolicyFragments, ChangeTheSnapshotBehindABar) {
    EXPECT_EQ(merged_snapshot_id("file", {}), "file");
    const std::string one = merged_snapshot_id("file", {"a", "b"});
    EXPECT_TRUE(one.starts_with("file|cfg:"));
    EXPECT_NE(one, merged_snapshot_id("file", {"ab", ""}));
}

}  // namespace
}  // namespace lockstep::fakes::policy
