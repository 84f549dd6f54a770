// Each invariant of the catalogue has been judged in these tests, and objected at least once and kept silent at least once.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

/// Asked once all tests have run: some of them alone say nothing.
struct EveryInvariant : ::testing::Environment {
    void TearDown() override {
        const ::testing::UnitTest& tests = *::testing::UnitTest::GetInstance();
        if (tests.test_to_run_count() != tests.total_test_count()) return;
        for (const Invariant& invariant : invariants()) {
            EXPECT_TRUE(seen_to_object.contains(invariant.name)) << invariant.name << " has objected to nothing";
            EXPECT_TRUE(seen_to_agree.contains(invariant.name))
                << invariant.name << " has judged nothing without objecting";
        }
    }
};
const auto* const kEveryInvariant = ::testing::AddGlobalTestEnvironment(new EveryInvariant);

}  // namespace
}  // namespace lockstep::sim
