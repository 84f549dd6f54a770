// Whole clusters, drawn at random: nothing that the simulator can do makes an invariant break. One property per invariant,
// each with a load that puts it to the test; every one judges all of them. A counterexample is shrunk, printed as a scenario
// file, and left in the folder of failures for `lockstep replay`.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "sim/properties/drawn_case.h"
#include "sim/run/run_scenario.h"
#include "sim/scenario/catalogue.h"
#include "sim/search/failure.h"

namespace lockstep::sim::properties {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

RunResult run(const Document& document) {
    const auto scenario = parse_document(document, "drawn");
    if (!scenario) {
        RunResult refused;
        refused.error = to_string(scenario.error().front());
        return refused;
    }
    return run_scenario(*scenario, scenario->seed, {});
}

/// Judges cases, counts what they proved, and keeps the latest counterexample as a file: RapidCheck tries smaller and smaller
/// ones, so the latest that fails is the smallest.
class Judge {
public:
    explicit Judge(std::string name) : file(fs::path(LOCKSTEP_FAILURES) / (name + ".json")) {
        fs::create_directories(file.parent_path());
        fs::remove(file);
    }

    void judge(const DrawnCase& drawn) {
        const Document document = document_of(drawn);
        const RunResult result = run(document);
        if (!result.passed) {
            if (!first_size) first_size = pretty(document).size();
            std::ofstream(file) << failure_text(failure_of(document, result, "a property"));
            RC_LOG() << "written to " << file.string() << '\n';
            RC_FAIL(signature_of(result));
        }
        for (const auto& [invariant, times] : result.exercised) exercised[invariant] += times;
        if (drawn.seed % 4 == 0) RC_ASSERT(run(document).digest == result.digest);
    }

    const fs::path file;
    std::map<std::string, std::uint64_t> exercised;
    std::optional<std::size_t> first_size;  // bytes of the first counterexample
};

constexpr int kDrawsUntilFound = 200;
constexpr int kRoundsUntilExercised = 10;

class InvariantProperty : public ::testing::TestWithParam<std::string> {};

TEST_P(InvariantProperty, HoldsInEveryClusterThatCanBeDrawn) {
    Judge judge(GetParam());
    // Where cases are few (a build that makes them slow), all of them may happen to pass the invariant by: then others are drawn.
    rc::detail::TestParams params = rc::detail::configuration().testParams;
    for (int round = 0; round < kRoundsUntilExercised && judge.exercised[GetParam()] == 0; ++round, ++params.seed) {
        const auto outcome = rc::detail::checkTestable(
            [&] { judge.judge(*any_case(focus_of(GetParam()))); },
            rc::detail::TestMetadata{.id = GetParam(), .description = GetParam() + " holds"}, params);
        rc::detail::printResultMessage(outcome, std::cerr);
        ASSERT_TRUE(outcome.is<rc::detail::SuccessResult>());
    }
    EXPECT_GT(judge.exercised[GetParam()], 0U) << "no case put it to the test";
}

std::vector<std::string> known_invariants() {
    std::vector<std::string> names;
    for (const NamedItem& invariant : invariant_table()) {
        if (invariant.available) names.emplace_back(invariant.name);
    }
    return names;
}

INSTANTIATE_TEST_SUITE_P(Each, InvariantProperty, ::testing::ValuesIn(known_invariants()),
                         [](const auto& info) { return info.param; });

// With a protection missing the same property fails, and what it leaves behind is a scenario that shows why.
TEST(BrokenProperty, LeavesTheSmallestScenarioThatFails) {
    Judge judge("without-a-mechanism");
    std::ostringstream printed;
    std::streambuf* const standard_error = std::cerr.rdbuf(printed.rdbuf());
    // The search ends at the first counterexample, and how many draws that takes is chance: more than for what must hold.
    rc::detail::TestParams params = rc::detail::configuration().testParams;
    params.maxSuccess = std::max(params.maxSuccess, kDrawsUntilFound);
    const auto outcome =
        rc::detail::checkTestable([&] { judge.judge(*any_case({.store_fault = true}, {"fail_closed_reads"})); },
                                  rc::detail::TestMetadata{.id = "broken", .description = "broken"}, params);
    rc::detail::printResultMessage(outcome, std::cerr);
    std::cerr.rdbuf(standard_error);
    ASSERT_TRUE(outcome.is<rc::detail::FailureResult>()) << printed.str();

    const auto kept = load_replayable(judge.file);
    ASSERT_TRUE(kept) << kept.error();
    const Document& document = kept->failure.scenario;
    EXPECT_THAT(printed.str(), HasSubstr(pretty(document))) << "what is printed is what was kept";
    const RunResult again = run(document);
    ASSERT_FALSE(again.violations.empty());
    EXPECT_EQ(again.violations.front().invariant, kept->failure.violation->invariant);
    EXPECT_EQ(again.digest, kept->failure.digest);
    EXPECT_LT(pretty(document).size(), judge.first_size) << "shrunk: what plays no part is gone";
    Document protected_again = document;
    protected_again.erase("without");
    EXPECT_TRUE(run(protected_again).passed) << "with the protection the same disturbance is harmless";
}

}  // namespace
}  // namespace lockstep::sim::properties
