#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "fakes/testing/server_process.h"
#include "sim/cli/cli.h"
#include "sim/run/run_scenario.h"

namespace lockstep::sim::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kScenario = R"({"name": "small", "duration": "5m",
    "cluster": {"schedulers": 1, "workers": [{"id": "w", "count": 2, "service_time": {"dist": "exp", "mean": "1s"}}]},
    "load": [{"at": "7s", "count": 10, "rate": "5/s"}], "faults": [{"at": "6s", "do": "kernel.outage", "for": "10s"}]})";

class CompareCommand : public ::testing::Test {
protected:
    CompareCommand() { std::ofstream(scenario()) << kScenario; }

    [[nodiscard]] std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
    [[nodiscard]] std::string scenario() const { return path("small.json"); }
    static std::string content(const std::string& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    int run(std::vector<std::string> args) {
        args.insert(args.begin(), {"compare", scenario(), "--vary", "safety_unavailable_delay=5s,1s", "--seeds", "3"});
        return run_words(std::move(args));
    }
    int run_words(std::vector<std::string> args) {
        out.str("");
        err.str("");
        Environment environment{.out = out, .err = err, .runner = run_scenario};
        environment.ask_build = [this](const std::string& program, const std::vector<std::string>& words) {
            asked = words;
            asked.insert(asked.begin(), program);
            return answer;
        };
        return cli_main(args, environment);
    }

    std::ostringstream out;
    std::ostringstream err;
    std::vector<std::string> asked;
    tl::expected<Answer, std::string> answer;

private:
    fakes::testing::TemporaryFolder folder_;
};

TEST_F(CompareCommand, TakesAComparisonFromAnyFolder) {
    std::ofstream(path("mine.json")) << R"({"title": "t", "question": "q", "scenarios": ["small.json"],
        "vary": {"safety_unavailable_delay": ["5s", "1s"]}, "seeds": 1, "objectives": ["submit_to_terminal.p99"]})";
    EXPECT_EQ(run_words({"compare", path("mine.json")}), 0) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("2 variants, 1 scenario and 1 seed of each: 2 runs."));
}

TEST_F(CompareCommand, SaysTheVerdictAndHowToRepeatIt) {
    EXPECT_EQ(run({}), 0) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("2 variants, 1 scenario and 3 seeds of each: 6 runs."));
    EXPECT_THAT(out.str(), HasSubstr("submit_to_terminal.p99"));
    EXPECT_THAT(out.str(), HasSubstr("Again: lockstep compare " + scenario() +
                                     " --vary safety_unavailable_delay=5s,1s --seeds 3"));
}

TEST_F(CompareCommand, TakesObjectivesAndSettingsOfAllVariants) {
    EXPECT_EQ(run({"--objective", "redis_commands_per_job", "--set", "cluster.schedulers=2"}), 0) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("redis_commands_per_job\n"));
    EXPECT_THAT(out.str(), Not(HasSubstr("submit_to_terminal.p99\n")));
    EXPECT_THAT(out.str(), HasSubstr(" --objective redis_commands_per_job --set cluster.schedulers=2 --seeds 3"));
    EXPECT_EQ(run({"--objective", "redis_command_per_job"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("did you mean \"redis_commands_per_job\"?"));
    EXPECT_EQ(run({"--set", "cluster.schedulrs=2"}), 2);
}

TEST_F(CompareCommand, SaysTheSameAgainByteForByte) {
    for (const std::string name : {"1", "2"})
        EXPECT_EQ(run({"--json", path(name + ".json"), "--html", path(name + ".html"), "-j", name}), 0) << err.str();
    EXPECT_EQ(content(path("1.json")), content(path("2.json")));
    EXPECT_EQ(content(path("1.html")), content(path("2.html")));
    EXPECT_GT(content(path("1.html")).size(), 1000U);
}

TEST_F(CompareCommand, HoldsAnotherBuildAgainstThisOne) {
    ASSERT_EQ(run({"--json"}), 0) << err.str();
    answer = Answer{0, out.str()};
    EXPECT_EQ(run({"--against", "before/lockstep"}), 0) << err.str();
    EXPECT_THAT(asked, ElementsAre("before/lockstep", "compare", scenario(), "--vary", "safety_unavailable_delay=5s,1s",
                                   "--seeds", "3", "--json"));
    EXPECT_THAT(out.str(), HasSubstr("safety_unavailable_delay=5s, this build"));
    EXPECT_THAT(out.str(), HasSubstr("the same"));
    EXPECT_THAT(out.str(), HasSubstr("--against before/lockstep"));
}

TEST_F(CompareCommand, ABuildThatCannotCompareIsWrongInput) {
    answer = Answer{2, ""};
    EXPECT_EQ(run({"--against", "old"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("old cannot make this comparison (exit code 2)"));
    answer = tl::make_unexpected(std::string("old: No such file or directory"));
    EXPECT_EQ(run({"--against", "old"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("No such file"));
    answer = Answer{0, "not a document"};
    EXPECT_EQ(run({"--against", "old"}), 2);
}

TEST_F(CompareCommand, KeepsResultsInAFolderAndShowsTheirTrend) {
    const auto kept = [this] {
        std::vector<std::string> names;
        for (const auto& file : std::filesystem::directory_iterator(path("kept")))
            names.push_back(file.path().filename().string());
        std::ranges::sort(names);
        return names;
    };
    EXPECT_EQ(run({"--history", path("kept")}), 0) << err.str();
    EXPECT_THAT(out.str(), Not(HasSubstr("Trend")));
    ASSERT_THAT(kept(), ElementsAre(::testing::MatchesRegex("000001-20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]-.*")));
    EXPECT_EQ(run({"--history", path("kept"), "--markdown", path("report.md")}), 0) << err.str();
    EXPECT_THAT(kept(), ElementsAre(HasSubstr("000001-"))) << "the same again is not kept twice";
    EXPECT_THAT(out.str(), HasSubstr("Trend of submit_to_terminal.p99\n"));
    EXPECT_THAT(out.str(), HasSubstr("this one"));
    EXPECT_THAT(content(path("report.md")), HasSubstr("### Trend of submit\\_to\\_terminal.p99"));
    EXPECT_EQ(run({"--history", path("kept"), "--set", "cluster.schedulers=2"}), 0) << err.str();
    EXPECT_THAT(kept(), ElementsAre(HasSubstr("000001-"), HasSubstr("000002-")));
    EXPECT_EQ(run({"--history", path("kept")}), 0) << err.str();
    EXPECT_EQ(kept().size(), 2U) << "nor after another one";
    EXPECT_EQ(run({"--history", path("kept"), "--shard", "1/2"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("give it to the --merge of shards"));
    std::ofstream(path("kept") + "/000003-x.json") << "{}";
    EXPECT_EQ(run({"--history", path("kept")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("000003-x.json"));
}

TEST_F(CompareCommand, IsHeldAgainstABaseline) {
    ASSERT_EQ(run({"--json", path("kept.json")}), 0);
    EXPECT_EQ(run({"--baseline", path("kept.json")}), 0) << out.str();
    EXPECT_EQ(run({"--baseline", path("gone.json")}), 2);
    EXPECT_EQ(out.str(), "") << "it was read before anything ran";
    EXPECT_EQ(run({"--seed", "7", "--baseline", path("kept.json")}), 2) << "other seeds cannot be held against it";
}

}  // namespace
}  // namespace lockstep::sim::cli
