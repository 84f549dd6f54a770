// The build in replay lines and in files that can be replayed, and what is said to whoever replays with another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pugixml.hpp>

#include "sim/cli/build_name.h"
#include "sim/cli/cli_fixture.h"
#include "sim/cli/version.h"
#include "sim/run/run_scenario.h"

namespace lockstep::sim::cli {
namespace {

using nlohmann::json;
using testing::Cli;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RecordedBy : public Cli {
protected:
    RecordedBy() {
        commit = "0123456789ab";
        runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
            RunResult result = bad(of, seed, options);
            result.seed = seed;
            return result;
        };
    }
    const std::string here = std::string(kVersion) + "+0123456789ab";
};

TEST_F(RecordedBy, ABuildIsItsVersionItsCommitAndWhetherTheTreeWasChanged) {
    Environment environment{.out = out, .err = err, .runner = {}};
    EXPECT_EQ(build_name(environment), kVersion);
    environment.commit = "0123456789ab";
    EXPECT_EQ(build_name(environment), here);
    environment.dirty = true;
    EXPECT_EQ(build_name(environment), here + ".dirty");
}

TEST_F(RecordedBy, EveryReplayLineNamesTheBuild) {
    EXPECT_EQ(run({"run", path("a.json")}), 1);
    EXPECT_THAT(out.str(), StartsWith("lockstep " + here + ": "));
    EXPECT_THAT(out.str(), HasSubstr("  replay: lockstep run " + path("a.json") + " --seed 7 --recorded-by " + here));
    EXPECT_EQ(run({"explain", path("a.json")}), 3) << "no history";
    EXPECT_EQ(run({"run", path("a.json"), "--seed", "7", "--recorded-by", here}), 1);
    EXPECT_EQ(err.str(), "") << "the same build";
}

TEST_F(RecordedBy, AReplayLineOfAnotherBuildIsRunWithANote) {
    for (const char* command : {"run", "verify-determinism"}) {
        EXPECT_NE(run({command, path("a.json"), "--seed", "7", "--recorded-by", "0.0.9+fff"}), 2) << command;
        EXPECT_THAT(err.str(), HasSubstr("note: this command is of the build 0.0.9+fff, this is " + here)) << command;
    }
    EXPECT_NE(run({"explore", "--seeds", "1", "--out", path("out"), "--recorded-by", "0.0.9+fff"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("note: this command is of the build 0.0.9+fff"));
}

TEST_F(RecordedBy, ReportsOfAFailureNameTheBuild) {
    EXPECT_EQ(run({"run", path("a.json"), "--junit", path("out.xml"), "--json", path("out.json")}), 1);
    const json document = json::parse(content("out.json"));
    EXPECT_EQ(document["build"], here);
    EXPECT_THAT(document["results"][0]["replay"].get<std::string>(), HasSubstr("--recorded-by " + here));
    pugi::xml_document junit;
    ASSERT_TRUE(junit.load_string(content("out.xml").c_str()));
    const auto test = junit.child("testsuites").child("testsuite").child("testcase");
    EXPECT_STREQ(test.child("properties").find_child_by_attribute("name", "build").attribute("value").value(),
                 here.c_str());
    EXPECT_THAT(test.child("failure").text().get(), HasSubstr("--recorded-by " + here));
}

TEST_F(RecordedBy, AFailureFileIsReplayedByAnotherBuildWithANote) {
    EXPECT_EQ(run({"run", path("a.json"), "--failures", path("kept")}), 1);
    EXPECT_EQ(run({"explore", "--first", "12", "--seeds", "1", "-j", "1", "--out", path("out")}), 1);
    for (const std::string file : {"kept/no_lost_job-alpha-seed7.json", "out/no_lost_job-draw12.json"}) {
        commit = "0123456789ab";
        EXPECT_EQ(json::parse(content(file))["build"], here);
        EXPECT_EQ(run({"replay", path(file)}), 1);
        EXPECT_EQ(err.str(), "") << "the same build";
        commit = "fedcba987654";
        EXPECT_EQ(run({"replay", path(file)}), 1) << "it may fail all the same";
        EXPECT_THAT(err.str(), HasSubstr("note: " + path(file) + " is of the build " + here));
        EXPECT_NE(run({"shrink", path(file), "--out", path("small.json")}), 2);
        EXPECT_THAT(err.str(), HasSubstr("is of the build " + here));
        (void)run({"explain", path(file)});
        EXPECT_THAT(err.str(), HasSubstr("is of the build " + here));
    }
}

TEST_F(RecordedBy, OfABuildWithChangesNobodyKnowsWhetherItIsTheSame) {
    dirty = true;
    EXPECT_EQ(run({"run", path("a.json"), "--failures", path("kept")}), 1);
    EXPECT_EQ(run({"replay", path("kept/no_lost_job-alpha-seed7.json")}), 1);
    EXPECT_THAT(err.str(), HasSubstr("with changes that no commit has"));
}

TEST_F(RecordedBy, AFileOfAnUnknownBuildIsReplayedWithoutANote) {
    EXPECT_EQ(run({"run", path("a.json"), "--failures", path("kept")}), 1);
    const std::string file = "kept/no_lost_job-alpha-seed7.json";
    json older = json::parse(content(file));
    older.erase("build");
    write(file, older.dump());
    EXPECT_EQ(run({"replay", path(file)}), 1);
    EXPECT_EQ(err.str(), "");
}

TEST_F(RecordedBy, ATraceBeginsWithWhatMakesItAgain) {
    write("real.json",
          R"({"name": "real", "cluster": {"workers": [{"id": "w"}]}, "load": [{"at": "1s", "count": 1}]})");
    runner = run_scenario;
    EXPECT_EQ(run({"run", path("real.json"), "--allow-vacuous", "--trace", path("trace.jsonl")}), 0) << out.str();
    std::istringstream trace(content("trace.jsonl"));
    std::string line;
    ASSERT_TRUE(std::getline(trace, line));
    const json heading = json::parse(line);
    EXPECT_EQ(heading["build"], here);
    EXPECT_EQ(heading["seed"], 1);
    EXPECT_EQ(heading["replay"], "lockstep run " + path("real.json") + " --seed 1 --recorded-by " + here);
    EXPECT_FALSE(heading.contains("event"));
    ASSERT_TRUE(std::getline(trace, line));
    EXPECT_TRUE(json::parse(line).contains("event"));
}

TEST_F(RecordedBy, ResumingTheExplorationOfAnotherBuildIsNoted) {
    EXPECT_EQ(run({"explore", "--first", "12", "--seeds", "1", "-j", "1", "--out", path("out")}), 1);
    commit = "fedcba987654";
    EXPECT_EQ(run({"explore", "--seeds", "1", "-j", "1", "--out", path("out"), "--resume"}), 1);
    EXPECT_THAT(err.str(), HasSubstr("note: the exploration in " + path("out") + " is of the build " + here));
}

TEST_F(RecordedBy, DigestsNameTheBuildThatMadeThem) {
    runner = good;
    EXPECT_EQ(run({"verify-determinism", path("a.json"), "--write", path("digests.txt")}), 0);
    EXPECT_EQ(json::parse(content("digests.txt"))["build"], here);
}

}  // namespace
}  // namespace lockstep::sim::cli
