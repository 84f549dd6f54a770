// What a CI system is told: annotations, the summary of the step, and the verdict on the last lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cli/cli_fixture.h"
#include "sim/run/run_scenario.h"

namespace lockstep::sim::cli {
namespace {

using testing::Cli;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

/// In a job of a CI system that collects summaries.
class CiOutput : public Cli {
protected:
    CiOutput() { step_summary = path("summary.md"); }

    [[nodiscard]] static std::vector<std::string> annotations(const std::string& text) {
        std::vector<std::string> found = lines_of(text);
        std::erase_if(found, [](const std::string& line) { return !line.starts_with("::error "); });
        return found;
    }
    [[nodiscard]] std::string summary() {
        const std::string text = content("summary.md");
        std::filesystem::remove(step_summary);
        return text;
    }
    /// The line that says what a command came to.
    [[nodiscard]] static std::string verdict_in(const std::string& text) {
        const auto lines = lines_of(text);
        for (std::size_t back = 1; back <= 2 && back <= lines.size(); ++back)
            if (!lines[lines.size() - back].starts_with("  ")) return lines[lines.size() - back];
        return "";
    }
};

TEST_F(CiOutput, IsLeftAloneWhereNobodyAskedForIt) {
    step_summary = "";
    runner = bad;
    EXPECT_EQ(run({"run", path("a.json")}), 1);
    EXPECT_THAT(out.str(), Not(HasSubstr("::error")));
    EXPECT_FALSE(std::filesystem::exists(folder / "summary.md"));
}

TEST_F(CiOutput, AFailedRunIsAnAnnotationAndARowAndTheLastLine) {
    runner = bad;
    EXPECT_EQ(run({"run", folder.string(), "--seeds", "2", "-j", "1"}), 1);
    const auto found = annotations(out.str());
    ASSERT_EQ(found.size(), 2U) << "of runs that failed alike one";
    EXPECT_THAT(found[0],
                StartsWith("::error file=" + path("a.json") + ",line=1,col=60,title=alpha seeds 7-8%3A no_lost_job::"));
    EXPECT_THAT(found[0], HasSubstr("it is gone%0Areplay: lockstep run " + path("a.json") + " --seed 7"));
    EXPECT_THAT(found[1], StartsWith("::error file=" + path("b.json") + ",line=1,col=2,title=beta seeds 1-2%3A "))
        << "it has no word about invariants, so it is the file's name";
    EXPECT_EQ(verdict_in(out.str()), "FAILED: 4 of 4 runs failed, in 2 ways. The first again:");
    EXPECT_THAT(lines_of(out.str()).back(), StartsWith("  lockstep run " + path("a.json") + " --seed 7"));
    const std::string text = summary();
    EXPECT_THAT(text, StartsWith("### lockstep run: FAILED\n"));
    EXPECT_THAT(text, HasSubstr("4 of 4 runs failed"));
    EXPECT_THAT(text, HasSubstr("alpha seeds 7-8: no\\_lost\\_job"));
    EXPECT_THAT(text, HasSubstr("    lockstep run " + path("a.json") + " --seed 7"));
}

TEST_F(CiOutput, TenAnnotationsAreEnough) {
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = bad(of, seed, options);
        result.violations.clear();
        result.expectations = {{std::string(seed, 'x'), "y", false}};
        return result;
    };
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "25", "-j", "1"}), 1);
    EXPECT_EQ(annotations(out.str()).size(), 10U);
    EXPECT_THAT(out.str(), HasSubstr("\n... and 15 more, without an annotation.\n"));
}

TEST_F(CiOutput, WhatHoldsIsASummaryWithoutAnnotations) {
    EXPECT_EQ(run({"run", folder.string()}), 0);
    EXPECT_TRUE(annotations(out.str()).empty());
    EXPECT_THAT(out.str(), EndsWith("\nPASSED: 2 runs held.\n"));
    EXPECT_EQ(run({"verify-determinism", folder.string()}), 0);
    const std::string text = summary();
    EXPECT_THAT(text, HasSubstr("### lockstep run: PASSED\n\n2 runs held\n"));
    EXPECT_THAT(text, HasSubstr("### lockstep verify-determinism: PASSED\n"))
        << "the summaries of all steps stand there";
}

TEST_F(CiOutput, StandardOutputStaysOneDocument) {
    runner = bad;
    EXPECT_EQ(run({"run", path("a.json"), "--json"}), 1);
    EXPECT_EQ(document()["failed"], 1);
    EXPECT_EQ(annotations(err.str()).size(), 1U);
    EXPECT_THAT(verdict_in(err.str()), StartsWith("FAILED: 1 of 1 run failed."));
}

TEST_F(CiOutput, LeftUnprovedIsAnAnnotationUnlessItIsAllowed) {
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        for (FaultCount& fault : result.faults) fault.effective = 0;
        return result;
    };
    EXPECT_EQ(run({"run", path("b.json")}), 4);
    ASSERT_EQ(annotations(out.str()).size(), 1U);
    EXPECT_THAT(annotations(out.str())[0], HasSubstr("title=left unproved::"));
    EXPECT_THAT(verdict_in(out.str()), StartsWith("NOTHING PROVED: "));
    EXPECT_EQ(run({"run", path("b.json"), "--allow-vacuous"}), 0);
    EXPECT_TRUE(annotations(out.str()).empty());
}

TEST_F(CiOutput, ExploreNamesTheFailureFile) {
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = bad(of, seed, options);
        result.seed = seed;
        return result;
    };
    EXPECT_EQ(run({"explore", "--first", "12", "--seeds", "1", "-j", "1", "--out", path("out")}), 1) << err.str();
    const std::string file = path("out/no_lost_job-draw12.json");
    ASSERT_EQ(annotations(out.str()).size(), 1U);
    EXPECT_THAT(annotations(out.str())[0], StartsWith("::error file=" + file + ",title=draw 12%3A no_lost_job::"));
    EXPECT_EQ(verdict_in(out.str()), "FAILED: 1 of 1 draws failed, in 1 ways. Again:");
    EXPECT_EQ(lines_of(out.str()).back(), "  lockstep replay " + file);
    EXPECT_THAT(summary(), StartsWith("### lockstep explore: FAILED\n"));
    EXPECT_EQ(run({"replay", file}), 1);
    EXPECT_THAT(annotations(out.str())[0], StartsWith("::error file=" + file + ",title=no_lost_job::"));
    EXPECT_THAT(verdict_in(out.str()), StartsWith("FAILED: it fails exactly as recorded."));
    EXPECT_THAT(summary(), StartsWith("### lockstep replay: FAILED\n"));
}

TEST_F(CiOutput, ADifferenceIsAnAnnotationOfItsScenario) {
    std::uint64_t runs = 0;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        result.metrics["m"] = static_cast<double>(++runs);
        return result;
    };
    EXPECT_EQ(run({"verify-determinism", path("a.json"), "-j", "1"}), 5);
    ASSERT_EQ(annotations(out.str()).size(), 1U);
    EXPECT_THAT(annotations(out.str())[0], StartsWith("::error file=" + path("a.json") + ",title=alpha seed 7%3A "));
    EXPECT_THAT(verdict_in(out.str()), StartsWith("NOT DETERMINISTIC: 1 of 1 runs differ."));
    EXPECT_THAT(summary(), StartsWith("### lockstep verify-determinism: NOT DETERMINISTIC\n"));
}

TEST_F(CiOutput, EnumerateAndCompareEndWithTheirVerdicts) {
    write("real.json", R"({"name": "real", "duration": "2m", "cluster": {"workers": [{"id": "w"}]},
        "load": [{"at": "7s", "count": 1}]})");
    runner = run_scenario;
    EXPECT_EQ(run({"enumerate", path("real.json"), "--occurrences", "1", "--out", path("out")}), 0) << out.str();
    EXPECT_THAT(out.str(), ::testing::ContainsRegex(
                               "\nPASSED: [0-9]+ runs, 0 failed, [0-9]+ ends of calls without coverage\\.\n$"));
    EXPECT_THAT(summary(), StartsWith("### lockstep enumerate: PASSED\n"));
    EXPECT_EQ(run({"compare", path("real.json"), "--vary", "backoff_base=1s,2s", "--seeds", "1"}), 0) << err.str();
    EXPECT_THAT(summary(), StartsWith("### lockstep compare: PASSED\n"));
    write("wrong.json", R"({"name": "wrong", "duration": "2m", "cluster": {"workers": [{"id": "w"}]},
        "load": [{"at": "7s", "count": 1}], "expect": {"states": {"SUCCEEDED": 9}}})");
    EXPECT_EQ(run({"compare", path("wrong.json"), "--vary", "backoff_base=1s,2s", "--seeds", "1"}), 1) << err.str();
    EXPECT_THAT(verdict_in(out.str()), StartsWith("FAILED: 2 of 2 runs failed."));
    EXPECT_EQ(annotations(out.str()).size(), 2U);
    EXPECT_THAT(summary(), StartsWith("### lockstep compare: FAILED\n"));
}

TEST_F(CiOutput, AMistakeInAFileIsAnnotatedAtItsPlace) {
    write("c.json", "{\n  \"name\": \"c\",\n  \"clutser\": {}\n}");
    for (const char* command : {"validate", "run", "verify-determinism"}) {
        EXPECT_EQ(run({command, folder.string()}), 2);
        ASSERT_EQ(annotations(err.str()).size(), 1U) << command;
        EXPECT_THAT(annotations(err.str())[0],
                    StartsWith("::error file=" + path("c.json") + ",line=3,col=3,title=at /clutser::there is no key"));
        EXPECT_EQ(out.str(), "");
        EXPECT_THAT(summary(), StartsWith(std::string("### lockstep ") + command + ": WRONG INPUT\n"));
    }
}

TEST_F(CiOutput, ASummaryThatCannotBeWrittenChangesNoVerdict) {
    step_summary = path("a.json/summary.md");
    EXPECT_EQ(run({"run", path("a.json")}), 0);
    EXPECT_THAT(err.str(), HasSubstr("note: the summary of this step: cannot append to"));
}

TEST_F(CiOutput, AnInterruptionIsTheVerdict) {
    stops_at_the_eighth_seed();
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "10", "-j", "1"}), 130);
    EXPECT_THAT(out.str(), EndsWith("\nINTERRUPTED: 1 of 10 runs were made to their end, 0 of them failed.\n"));
    EXPECT_THAT(summary(), StartsWith("### lockstep run: INTERRUPTED\n"));
    stop = false;
    EXPECT_EQ(run({"verify-determinism", path("a.json"), "--seeds", "10", "-j", "1"}), 130);
    EXPECT_THAT(verdict_in(out.str()), StartsWith("INTERRUPTED: "));
}

}  // namespace
}  // namespace lockstep::sim::cli
