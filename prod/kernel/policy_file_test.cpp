#include "prod/kernel/policy_file.h"

#include <gtest/gtest.h>

namespace lockstep::prod {
namespace {

TEST(PolicyFile, ReadsAPolicyAndNamesItsSnapshot) {
    const auto policy = parse_policy("version: v7\ndefault_decision: allow\nrules:\n  - id: r\n    decision: deny\n", "s.yaml");
    ASSERT_TRUE(policy) << policy.error();
    EXPECT_EQ(policy->document.rules.size(), 1U);
    EXPECT_TRUE(policy->snapshot.starts_with("v7:"));
}

TEST(PolicyFile, NamesThePlaceOfEveryMistake) {
    const auto policy = parse_policy("version: v7\nrulez: []\nrules:\n  - id: r\n    match: {topcs: [x]}\n", "s.yaml");
    ASSERT_FALSE(policy);
    EXPECT_NE(policy.error().find("s.yaml:2:"), std::string::npos) << policy.error();
    EXPECT_NE(policy.error().find("s.yaml:5:"), std::string::npos) << policy.error();
}

TEST(PolicyFile, RefusesAKeyThatStandsTwice) {
    const auto policy = parse_policy("version: a\nversion: b\n", "s.yaml");
    ASSERT_FALSE(policy);
    EXPECT_TRUE(policy.error().starts_with("s.yaml:2:")) << policy.error();
}

TEST(PolicyFile, SaysWhichFileItCannotRead) {
    EXPECT_EQ(load_policy("/nowhere/safety.yaml").error(), "cannot read /nowhere/safety.yaml: No such file or directory");
}

}  // namespace
}  // namespace lockstep::prod
