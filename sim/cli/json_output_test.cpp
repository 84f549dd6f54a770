// The documents that subcommands print with --json: which members they have, and that nothing else stands on standard output.
#include "sim/cli/json_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/cli/cli_fixture.h"
#include "sim/run/run_scenario.h"

namespace lockstep::sim::cli {
namespace {

using nlohmann::json;
using testing::Cli;
using ::testing::HasSubstr;

std::set<std::string> keys_of(const json& object) {
    std::set<std::string> keys;
    for (const auto& [key, value] : object.items()) keys.insert(key);
    return keys;
}

/// With what every document has.
std::set<std::string> and_head(std::set<std::string> keys) {
    keys.insert({"version", "schema_version", "command", "build", "exit", "verdict", "complete"});
    return keys;
}

const std::set<std::string> kFailure{"signature", "seed", "digest", "events", "origin", "file", "replay", "violation"};

class JsonOutput : public Cli {
protected:
    /// Runs it and answers the document; what it says besides stands on standard error.
    json told(std::vector<std::string> args, int exit) {
        args.emplace_back("--json");
        EXPECT_EQ(run(args), exit) << err.str();
        json document = json::parse(out.str(), nullptr, false);
        EXPECT_FALSE(document.is_discarded()) << out.str();
        EXPECT_EQ(document["version"], 1);
        EXPECT_EQ(document["schema_version"], "1.4");
        EXPECT_EQ(document["command"], args.front());
        EXPECT_EQ(document["exit"], exit);
        return document;
    }

    static RunResult found(const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = bad(of, seed, options);
        result.seed = seed;
        return result;
    }
};

TEST_F(JsonOutput, OfExplore) {
    runner = found;
    const json document =
        told({"explore", "--first", "12", "--seeds", "1", "-j", "1", "--out", path("out"), "--shrink"}, 1);
    EXPECT_EQ(keys_of(document), and_head({"runs", "failed", "refused", "virtual_ms", "wall_ms", "events", "histories",
                                           "next", "faults", "exercised", "reached", "failures"}));
    EXPECT_EQ(document["verdict"], "FAILED");
    EXPECT_EQ(document["runs"], 1);
    EXPECT_EQ(document["next"], 13);
    std::set<std::string> keys = kFailure;
    keys.insert({"count", "shrunk"});
    EXPECT_EQ(keys_of(document["failures"][0]), keys);
    EXPECT_EQ(document["failures"][0]["file"], path("out/no_lost_job-draw12.json"));
    EXPECT_EQ(document["failures"][0]["shrunk"], path("out/no_lost_job-draw12.shrunk.json"));
    EXPECT_EQ(document["failures"][0]["violation"]["invariant"], "no_lost_job");
    EXPECT_THAT(err.str(), HasSubstr("FOUND no_lost_job"));
    EXPECT_THAT(err.str(), HasSubstr("FAILED: 1 of 1 draws failed"));

    runner = good;
    const json clean = told({"explore", "--seeds", "2", "--out", path("clean")}, 0);
    EXPECT_EQ(clean["failures"], json::array());
    EXPECT_EQ(clean["verdict"], "PASSED");
}

TEST_F(JsonOutput, OfReplay) {
    runner = found;
    ASSERT_EQ(run({"explore", "--first", "12", "--seeds", "1", "-j", "1", "--out", path("out")}), 1);
    const std::string file = path("out/no_lost_job-draw12.json");
    const json document = told({"replay", file}, 1);
    EXPECT_EQ(keys_of(document), and_head({"file", "seed", "digest", "events", "signature", "same_failure",
                                           "same_digest", "violations", "expectations", "recorded"}));
    EXPECT_EQ(document["same_failure"], true);
    EXPECT_EQ(document["same_digest"], true);
    std::set<std::string> keys = kFailure;
    keys.insert("build");
    EXPECT_EQ(keys_of(document["recorded"]), keys);
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = found(of, seed, options);
        result.digest = 99;
        return result;
    };
    EXPECT_EQ(told({"replay", file}, 5)["same_digest"], false);
    runner = good;
    EXPECT_EQ(told({"replay", file}, 0)["same_failure"], false);
}

TEST_F(JsonOutput, OfALookAtTheServers) {
    write("real.json",
          R"({"name": "real", "cluster": {"workers": [{"id": "w"}]}, "load": [{"at": "1s", "count": 1}]})");
    runner = run_scenario;
    const json document = told({"replay", path("real.json"), "--until", "40"}, 0);
    EXPECT_EQ(keys_of(document), and_head({"file", "seed", "dump"}));
    EXPECT_EQ(keys_of(document["dump"]), (std::set<std::string>{"events", "text"}));
    EXPECT_THAT(document["dump"]["text"].get<std::string>(), HasSubstr("# lockstep dump of event 40 "));
    EXPECT_EQ(run({"replay", path("real.json"), "--until", "40", "--json", "--dump"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("both want standard output"));
}

TEST_F(JsonOutput, OfExplain) {
    write("real.json", R"({"name": "real", "cluster": {"workers": [{"id": "w"}]}, "load": [
        {"at": "1s", "job": {"job_id": "first", "topic": "job.default"}},
        {"at": "2s", "job": {"job_id": "second", "topic": "job.default"}}]})");
    runner = run_scenario;
    const json document = told({"explain", path("real.json"), "--job", "second"}, 0);
    EXPECT_EQ(keys_of(document), and_head({"file", "name", "seed", "events", "digest", "violations", "expectations",
                                           "replay", "job", "jobs", "not_succeeded", "story"}));
    EXPECT_EQ(document["job"], "second");
    EXPECT_EQ(document["jobs"], json::array({"first", "second"}));
    EXPECT_GT(document["story"].size(), 5U);
}

TEST_F(JsonOutput, OfShrink) {
    runner = bad;
    write("large.json", R"({"name": "large", "seed": 7, "cluster": {"schedulers": 3, "workers": [{"id": "w"}]},
                            "load": [{"at": "1s", "count": 9}], "expect": {"invariants": "all"}})");
    const json document = told({"shrink", path("large.json")}, 0);
    EXPECT_EQ(keys_of(document),
              and_head({"file", "out", "before", "after", "runs", "signature", "scenario", "replay"}));
    EXPECT_EQ(keys_of(document["before"]),
              (std::set<std::string>{"jobs", "replicas", "workers", "faults", "settings"}));
    EXPECT_EQ(document["before"]["jobs"], 9);
    EXPECT_EQ(document["after"]["jobs"], 0);
    EXPECT_EQ(document["scenario"], json::parse(content("large.shrunk.json")));
    EXPECT_EQ(told({"shrink", path("large.json"), "--max-runs", "3"}, 1)["complete"], false);
}

TEST_F(JsonOutput, OfEnumerate) {
    write("real.json", R"({"name": "real", "duration": "2m", "cluster": {"workers": [{"id": "w"}]},
        "load": [{"at": "7s", "count": 1}]})");
    runner = run_scenario;
    const json document = told({"enumerate", path("real.json"), "--occurrences", "1", "--out", path("out")}, 0);
    EXPECT_EQ(keys_of(document), and_head({"runs", "failed", "uncovered", "scenarios"}));
    const json& scenario = document["scenarios"][0];
    EXPECT_EQ(keys_of(scenario),
              (std::set<std::string>{"file", "name", "error", "calls", "pairs", "not_covered", "failures"}));
    EXPECT_EQ(keys_of(scenario["calls"][0]), (std::set<std::string>{"call", "count", "ends"}));
    EXPECT_EQ(keys_of(scenario["pairs"]), (std::set<std::string>{"runs", "effective", "failed"}));
    EXPECT_GT(document["runs"], 10);
    EXPECT_EQ(document["failed"], 0);
}

TEST_F(JsonOutput, OfVerifyDeterminism) {
    std::uint64_t runs = 0;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        if (of.name == "beta") result.metrics["m"] = static_cast<double>(++runs);
        return result;
    };
    const json document = told({"verify-determinism", folder.string(), "-j", "1"}, 5);
    EXPECT_EQ(keys_of(document), and_head({"runs", "digests", "differences", "against", "unmatched"}));
    EXPECT_EQ(document["verdict"], "NOT DETERMINISTIC");
    EXPECT_EQ(keys_of(document["digests"][0]), (std::set<std::string>{"file", "name", "seed", "digest", "events"}));
    ASSERT_EQ(document["differences"].size(), 1U);
    EXPECT_EQ(keys_of(document["differences"][0]), (std::set<std::string>{"file", "name", "seed", "what", "against",
                                                                          "first", "second", "detail", "replay"}));
    EXPECT_EQ(document["differences"][0]["what"], "metrics");
    EXPECT_EQ(document["runs"], 2);
}

TEST_F(JsonOutput, OfCoverage) {
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        result.history = std::make_shared<History>();
        result.passed = seed != 5;
        return result;
    };
    const json document = told({"coverage", "--seeds", "6", "--data-loss"}, 1);
    EXPECT_EQ(keys_of(document),
              and_head({"again", "draws", "losing_draws", "failed", "losing_failed", "complaints", "items"}));
    EXPECT_EQ(document["again"], "lockstep coverage --seeds 6 --data-loss");
    EXPECT_EQ(document["draws"], 6);
    EXPECT_EQ(document["failed"], json::array({5}));
    EXPECT_EQ(document["losing_failed"], json::array({5}));
    EXPECT_FALSE(document["complaints"].empty());
    ASSERT_FALSE(document["items"].empty());
    EXPECT_EQ(keys_of(document["items"][0]),
              (std::set<std::string>{"group", "name", "draws", "losing_draws", "cannot_happen"}));
    EXPECT_THAT(err.str(), HasSubstr("draw 5 failed: ")) << "what is said besides";
    EXPECT_EQ(told({"coverage", "--seeds", "2"}, 1)["losing_draws"], nullptr);
}

TEST_F(JsonOutput, OfAnInterruptedCommandSaysThatItIsIncomplete) {
    runner = [this](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        stop = true;
        RunResult result = good(of, seed, options);
        result.interrupted = true;
        return result;
    };
    for (const std::vector<std::string>& args :
         std::vector<std::vector<std::string>>{{"verify-determinism", path("a.json")},
                                               {"explain", path("a.json")},
                                               {"enumerate", path("a.json")},
                                               {"coverage", "--seeds", "5"},
                                               {"explore", "--seeds", "5", "-j", "1", "--out", path("out")}}) {
        stop = false;
        const json document = told(args, 130);
        EXPECT_EQ(document["complete"], false) << args[0];
        EXPECT_EQ(document["verdict"], "INTERRUPTED") << args[0];
    }
}

TEST_F(JsonOutput, IsAnOptionOfEachThatHelpAndCompletionName) {
    EXPECT_EQ(run({"completion", "bash"}), 0);
    const std::string completion = out.str();
    for (const char* command :
         {"explore", "explain", "shrink", "enumerate", "replay", "verify-determinism", "coverage"}) {
        EXPECT_EQ(run({command, "--help"}), 0);
        EXPECT_THAT(out.str(), HasSubstr("print one JSON document, and everything else to standard error")) << command;
        const std::size_t at = completion.find(std::string("    ' ") + command + "') words=");
        ASSERT_NE(at, std::string::npos) << command;
        EXPECT_THAT(completion.substr(at, completion.find('\n', at) - at), HasSubstr("--json")) << command;
    }
}

}  // namespace
}  // namespace lockstep::sim::cli
