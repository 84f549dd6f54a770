// `lockstep run`: what is selected, what is said of it, and what its files are.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <regex>
#include <set>

#include "sim/cli/cli_fixture.h"
#include "sim/cli/version.h"
#include "sim/run/run_scenario.h"

namespace lockstep::sim::cli {
namespace {

using nlohmann::json;
using testing::Cli;
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Cli, RunsThatFailAlikeAreToldOfOnceWithTheirSeeds) {
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = seed % 4 == 0 ? good(of, seed, options) : bad(of, seed, options);
        if (seed == 9) result.violations.front().invariant = "lock_exclusion";
        return result;
    };
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "8", "-j", "1"}), 1);
    EXPECT_THAT(out.str(),
                HasSubstr(fmt::format("FAILED alpha seeds 7, 10-11, 13-14 ({}); with seed 7:\n  no_lost_job at",
                                      path("a.json"))));
    EXPECT_THAT(out.str(), HasSubstr(fmt::format("FAILED alpha seed 9 ({})\n  lock_exclusion at", path("a.json"))));
    EXPECT_THAT(out.str(), HasSubstr("FAILED: 6 of 8 runs failed, in 2 ways. The first again:\n"));
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = bad(of, seed, options);
        result.violations.front().detail = std::string(seed, 'x');
        return result;
    };
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "12", "-j", "1", "-q"}), 1);
    EXPECT_THAT(out.str(), HasSubstr(fmt::format("FAILED alpha seed 18 ({})\n  no_lost_job: xxx", path("a.json"))))
        << "every way is named, however little is said";
}

TEST_F(Cli, ARunThatTakesTooLongHasNoVerdict) {
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        result.interrupted = result.out_of_time = seed != 8 && options.time_limit == std::chrono::seconds{2};
        return result;
    };
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "3", "-j", "1"}), 0);
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "3", "-j", "1", "--run-timeout", "2s"}), 4);
    EXPECT_THAT(out.str(),
                HasSubstr(path("a.json") + ": no verdict on seeds 7, 9, which took longer than 2s (--run-timeout)"));
    EXPECT_THAT(out.str(), HasSubstr("3 runs: 1 passed, 0 failed."));
    runner = run_scenario;
    write(
        "long.json",
        R"({"name": "long", "duration": "20h", "at_least": "20h", "cluster": {"schedulers": 3, "workers": [{"id": "w"}]}})");
    EXPECT_EQ(run({"run", path("long.json"), "--run-timeout", "1ns"}), 4) << out.str();
    EXPECT_THAT(out.str(), HasSubstr("no verdict on seed 1"));
    for (const char* wrong : {"0s", "soon"}) EXPECT_EQ(run({"run", path("a.json"), "--run-timeout", wrong}), 2);
    EXPECT_EQ(run({"run", path("a.json"), "--run-timeout", "1s", "--real"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("--real-limit bounds those on real servers"));
}

TEST_F(Cli, ListShowsWhatWouldBeRunAndRunsNothing) {
    runner = [](const Scenario&, std::uint64_t, const RunOptions&) -> RunResult {
        ADD_FAILURE() << "ran";
        return {};
    };
    EXPECT_EQ(run({"run", folder.string(), "--seeds", "2", "--tag", "quick", "--list"}), 0);
    EXPECT_EQ(out.str(), fmt::format("{0}  alpha  seed 7  [quick]\n{0}  alpha  seed 8  [quick]\n", path("a.json")));
    EXPECT_EQ(run({"run", folder.string(), "--list", "--json"}), 0);
    EXPECT_EQ(document()["runs"].size(), 2U);
    EXPECT_EQ(document()["runs"][1]["name"], "beta");
    EXPECT_EQ(run({"run", folder.string(), "--list", "--tag", "none"}), 4);
}

TEST_F(Cli, AFolderGetsAPageOfEachWayToFail) {
    write("real.json", R"({"name": "re/al", "cluster": {"workers": [{"id": "w"}]}, "load": [{"count": 1}],
                           "expect": {"states": {"FAILED": 1}}})");
    runner = run_scenario;
    EXPECT_EQ(run({"run", path("real.json"), "--seeds", "2", "--html", path("pages/")}), 1) << err.str();
    EXPECT_TRUE(fs::exists(folder / "pages/re_al-seed1.html"));
    EXPECT_FALSE(fs::exists(folder / "pages/re_al-seed2.html")) << "it fails as the first one does";
    EXPECT_THAT(out.str(), HasSubstr("expected FAILED 1, got 0 (and 1 SUCCEEDED)"));
    EXPECT_EQ(run({"run", path("real.json"), "--json"}), 1);
    EXPECT_EQ(document()["command"], "run");
    EXPECT_EQ(document()["exit"], 1);
    EXPECT_EQ(document()["verdict"], "FAILED");
    const auto missed = document()["results"][0]["expectations"][0];
    EXPECT_EQ(missed["pointer"], "/expect/states/FAILED");
    EXPECT_THAT(missed["job"].get<std::string>(), Not(::testing::IsEmpty())) << "one that became something else";
    EXPECT_EQ(run({"explain", path("real.json")}), 1);
    EXPECT_THAT(out.str(), HasSubstr("The story of " + missed["job"].get<std::string>()));
}

TEST_F(Cli, AFolderOfFailuresIsASuiteOfWhatMustNotComeBack) {
    runner = bad;
    EXPECT_EQ(run({"run", folder.string(), "--seeds", "2", "--failures", path("kept")}), 1);
    EXPECT_EQ(run({"run", path("kept")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("this is a failure file, no scenario: lockstep replay " + path("kept")));
    write("kept/shrunk.json", content("a.json"));
    EXPECT_EQ(run({"replay", path("kept"), "--set", "cluster.schedulers=2"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("are for one file"));
    EXPECT_EQ(run({"replay", path("kept"), "--junit", path("suite.xml")}), 1) << err.str();
    EXPECT_THAT(out.str(),
                HasSubstr("FAILED  " + path("kept/no_lost_job-alpha-seed7.json") + ": it fails exactly as recorded\n"));
    EXPECT_THAT(out.str(), HasSubstr("FAILED: 1 of 1 failures is still there. Again:\n  lockstep replay "));
    EXPECT_THAT(content("suite.xml"), HasSubstr("tests=\"1\" failures=\"1\""));
    runner = good;
    EXPECT_EQ(run({"replay", path("kept"), "--json"}), 0);
    EXPECT_EQ(document()["results"][0]["same_failure"], false);
    EXPECT_THAT(err.str(), HasSubstr("PASSED: none of 1 failures is there any more.\n"));
    EXPECT_EQ(run({"replay", path("kept"), path("a.json")}), 2);
    EXPECT_THAT(err.str(), HasSubstr(path("a.json") + " is no failure file"));
    fs::create_directory(folder / "empty");
    EXPECT_EQ(run({"replay", path("empty")}), 4);
    EXPECT_THAT(out.str(), HasSubstr("there is no failure file in " + path("empty")));
    EXPECT_EQ(run({"replay", path("kept"), "--until", "3"}), 2);
}

TEST_F(Cli, AFileIsAScenarioOfEachCombinationOfItsMatrix) {
    write("base.part.json", R"({"cluster": {"schedulers": 2, "workers": [{"id": "w"}]}, "load": [{"count": 1}]})");
    write("m.json", R"({"name": "m", "include": "base.part.json", "cluster": {"schedulers": 1},
                        "matrix": {"cluster.schedulers": [1, 3], "cluster.config.backoff_base": ["1s", "5s"]}})");
    std::vector<std::string> made;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        made.push_back(
            fmt::format("{}: {} replicas, {} workers", of.name, of.cluster.schedulers, of.cluster.workers.size()));
        return bad(of, seed, options);
    };
    EXPECT_EQ(run({"run", path("m.json"), "-j", "1", "--failures", path("kept")}), 1) << err.str();
    EXPECT_THAT(made, ElementsAre("m [backoff_base=1s, schedulers=1]: 1 replicas, 1 workers",
                                  "m [backoff_base=1s, schedulers=3]: 3 replicas, 1 workers",
                                  "m [backoff_base=5s, schedulers=1]: 1 replicas, 1 workers",
                                  "m [backoff_base=5s, schedulers=3]: 3 replicas, 1 workers"));
    EXPECT_THAT(out.str(), HasSubstr(" --set cluster.config.backoff_base=1s --set cluster.schedulers=3 --recorded-by"));
    for (const auto& file : fs::directory_iterator(folder / "kept"))
        EXPECT_EQ(run({"replay", file.path().string()}), 1) << "a failure file stands on its own: " << err.str();
    fs::remove_all(folder / "kept");
    made.clear();
    EXPECT_EQ(run({"run", path("m.json"), "-j", "1", "--set", "cluster.schedulers=3"}), 1);
    EXPECT_EQ(made.size(), 2U) << "what is set has no other value";
    EXPECT_EQ(run({"explain", path("m.json")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("at /matrix: these are 4 scenarios: name one with --set"));
    EXPECT_EQ(run({"run", folder.string(), "--list"}), 0) << "a part is no scenario: " << err.str();
    for (
        const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
            {R"({"name": "x", "include": "a.json"})", "is no part: expected a name that ends with .part.json"},
            {R"({"name": "x", "include": "gone.part.json"})", "gone.part.json cannot be read"},
            {R"({"name": "x", "matrix": {"cluster.schedulers": [1, 2]}, "proves": {"without": "job_lock", "violated": ["lock_exclusion"]}})",
             "a file with a matrix proves nothing of a mechanism"},
            {fmt::format(
                 R"({{"name": "x", "matrix": {{"seed": [{0}], "cluster.schedulers": [{0}], "duration": [{0}]}}}})",
                 fmt::join(std::vector<int>(100, 1), ",")),
             "at /matrix: these are more than 1000 scenarios"},
            {R"({"name": "x", "matrix": {"cluster.schedulrs": [1, 2]}})", "(from the matrix cluster.schedulrs=1)"}}) {
        write("x.json", text);
        EXPECT_EQ(run({"validate", path("x.json")}), 2) << text;
        EXPECT_THAT(err.str(), HasSubstr(why));
    }
}

TEST_F(Cli, SettingsThatContradictEachOtherAreWarnedOf) {
    write("c.json", R"({"name": "c", "cluster": {"config": {"backoff_base": "1m", "backoff_max": "2s"}}})");
    EXPECT_EQ(run({"validate", path("c.json")}), 0);
    EXPECT_THAT(err.str(), HasSubstr("warning: " + path("c.json") + ":1:"));
    EXPECT_THAT(err.str(), HasSubstr("at /cluster/config/backoff_max: backoff_max 2s "));
    runner = bad;
    EXPECT_EQ(run({"run", path("c.json")}), 1);
    EXPECT_THAT(out.str(), HasSubstr("  warning: " + path("c.json")));
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        result.in_vain = {"the approval of x"};
        return result;
    };
    EXPECT_EQ(run({"run", path("c.json")}), 0);
    EXPECT_THAT(out.str(), HasSubstr("\nwarning: " + path("c.json") + ":1:"));
    EXPECT_THAT(out.str(), HasSubstr("\nwarning: " + path("c.json") + ": the approval of x changed nothing\n"));
    EXPECT_EQ(run({"run", path("c.json"), "-q"}), 0);
    EXPECT_THAT(out.str(), Not(HasSubstr("warning")));
    write("m.json", R"({"name": "m", "matrix": {"cluster.schedulers": [1, 2, 3]},
                        "cluster": {"config": {"policy_check_fail_mode": "a", "output_policy_fail_mode": "b"}}})");
    EXPECT_EQ(run({"run", path("m.json")}), 0);
    EXPECT_THAT(out.str(), HasSubstr("\"b\" counts as \"open\"")) << "once, not for each cell";
    write("n.json", R"({"name": "n", "cluster": {"config": {"job_meta_ttl": "25s"}}})");
    EXPECT_EQ(run({"run", path("m.json"), path("c.json"), path("n.json")}), 0);
    EXPECT_THAT(out.str(), HasSubstr(" warnings (-v shows them, and so does lockstep validate).\n"));
}

TEST_F(Cli, WhatAWorkflowOrASettingSaysInVainIsWarnedOf) {
    write("w.json", R"({"name": "w", "cluster": {"config": {"policy_check_fail_mode": "opn"}, "workflow_engines": 1},
        "load": [{"workflow": {"put": {"id": "f", "steps": {
            "a": {"type": "worker", "topic": "job.default", "meta": {"labels": {"_x": "1"}}, "on_error": "c"},
            "b": {"type": "worker", "topic": "job.default", "on_error": "c"},
            "c": {"type": "notify"}}}}}]})");
    EXPECT_EQ(run({"validate", path("w.json")}), 0) << err.str();
    EXPECT_THAT(err.str(), HasSubstr("\"opn\" counts as \"closed\"; did you mean \"open\"?"));
    EXPECT_THAT(err.str(), HasSubstr("at /load/0/workflow/put/steps/b/on_error: \"c\" handles the first failure"));
    write("w.json", R"({"name": "w", "cluster": {"workflow_engines": 1},
        "load": [{"workflow": {"put": {"id": "f", "steps": {"a": {"type": "aproval"}}}}}]})");
    EXPECT_EQ(run({"validate", path("w.json")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("at /load/0/workflow/put/steps/a/type: "));
    EXPECT_THAT(err.str(), HasSubstr("did you mean \"approval\"?"));
}

TEST_F(Cli, WhatLooksAsIfItMeantSomethingIsWarnedOf) {
    const auto warned = [this](const std::string& rest) {
        write(
            "w.json",
            R"({"name": "w", "cluster": {"workers": [{"id": "w", "pool": "p"}], "pools": {"topics": {"job.default": ["p"]}})" +
                rest + "}}");
        EXPECT_EQ(run({"validate", path("w.json")}), 0) << err.str();
        return err.str();
    };
    EXPECT_EQ(warned(""), "");
    EXPECT_THAT(
        warned(R"(, "kernel": {"policy": {"rules": [{"decision": "require_aproval"}]}})"),
        HasSubstr("at /cluster/kernel/policy/rules/0/decision: \"require_aproval\" counts as \"deny\"; did you mean"));
    EXPECT_THAT(warned(R"(, "output_policy": {"rules": []})"), HasSubstr("nothing asks these rules"));
    write("w.json", R"({"name": "w", "cluster": {"workers": [{"id": "w"}],
        "pools": {"topics": {"job.default": ["default"], "job.ship": ["defualt"]}}}})");
    EXPECT_EQ(run({"validate", path("w.json")}), 0) << err.str();
    EXPECT_THAT(err.str(),
                HasSubstr("at /cluster/pools/topics/job.ship: no worker is in the pool \"defualt\"; did you mean"));
    write("w.json", R"({"name": "w", "cluster": {"workflow_engines": 1, "workers": [{"id": "w"}]},
        "load": [{"workflow": {"put": {"id": "f", "steps": {"a": {"type": "worker", "topic": "job.defualt"}}}}}]})");
    EXPECT_EQ(run({"validate", path("w.json")}), 0) << err.str();
    EXPECT_THAT(err.str(),
                HasSubstr("at /load/0/workflow/put/steps/a/topic: no pool takes the topic \"job.defualt\"; did you"));
    EXPECT_EQ(run({"run", path("a.json"), "--set", "cluster.config.policy_check_fail_mode=opne"}), 0) << err.str();
    EXPECT_THAT(out.str(),
                HasSubstr("warning: " + path("a.json") + ": at /cluster/config/policy_check_fail_mode: \"opne\""));
}

TEST_F(Cli, AMistakeInAPartIsToldWhereItStands) {
    write("p.part.json", "{\n  \"cluster\": {\"schedulrs\": 2}}");
    write("x.json", R"({"name": "x", "include": "p.part.json"})");
    EXPECT_EQ(run({"validate", path("x.json")}), 2);
    EXPECT_THAT(err.str(), HasSubstr(path("p.part.json") + ":2:15: at /cluster/schedulrs: there is no key"));
    EXPECT_THAT(err.str(), HasSubstr("(included by " + path("x.json") + ")"));
    write("p.part.json", R"({"cluster": {"schedulers": 2}})");
    EXPECT_EQ(run({"run", path("x.json"), "--set", "cluster.schedulers=-2"}), 2);
    EXPECT_THAT(err.str(), HasSubstr(path("x.json") + ": at /cluster/schedulers: "));
    EXPECT_THAT(err.str(), Not(HasSubstr("p.part.json"))) << "what --set says stands in no part";
}

TEST_F(Cli, WhatIsNoScenarioIsSentToWhereItBelongs) {
    write("p.part.json", R"({"cluster": {}})");
    EXPECT_EQ(run({"run", path("p.part.json")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("this is a part of scenarios: name a file that includes it"));
    write("q.json", R"({"title": "t", "question": "q", "scenarios": ["a.json"], "vary": {"backoff_base": ["1s"]}})");
    EXPECT_EQ(run({"run", path("q.json")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("this is a comparison, no scenario: lockstep compare " + path("q.json")));
    EXPECT_EQ(run({"compare", path("q.json")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("expected at least two variants to hold against each other"));
    EXPECT_EQ(run({"compare", path("a.json"), "--vary", "backoff_base=1s,1s"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("--vary: expected variants that differ, got \"backoff_base=1s\" twice"));
    EXPECT_EQ(run({"explore", "--set", "cluster.schedulers=2", "--seeds", "1"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("--set: name the scenarios that it changes"));
    EXPECT_EQ(run({"compare", path("a.json"), "--vary", "backoff_base=1s"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("expected at least two variants to hold against each other"));
}

TEST_F(Cli, MistakesInNamesAreAnsweredWithWhereToLook) {
    for (const auto& [text, why] : {
             std::pair{R"({"name": "x", "cluster": {"running_timeout": "1m"}})", "it belongs to /cluster/config"},
             {R"({"name": "x", "cluster": {"description": "y"}})", "it belongs to the top of the file"},
             {R"({"name": "x", "expect": {"invariants": ["nothing_of_the_kind_at_all"]}})",
              "lockstep list invariants names them"},
         }) {
        write("x.json", text);
        EXPECT_EQ(run({"validate", path("x.json")}), 2) << text;
        EXPECT_THAT(err.str(), HasSubstr(why));
    }
    write("x.json", R"({"name": "x", "expect": {"invariants": {"all_but": []}}})");
    EXPECT_EQ(run({"validate", path("x.json")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("expected a list that is not empty"));
    EXPECT_THAT(err.str(), Not(HasSubstr("expected one key"))) << "one mistake, one message";
}

TEST_F(Cli, ARunThatHoldsIsZeroAndTakesFiveLines) {
    EXPECT_EQ(run({"run", folder.string()}), 0) << err.str();
    const std::string said = std::regex_replace(out.str(), std::regex(R"(in \d+ms\.)"), "in 0ms.");
    EXPECT_EQ(said, fmt::format("lockstep {}: 2 scenarios, 2 runs, 1 thread\n"
                                "2 runs: 2 passed, 0 failed. 2m02s of virtual time and 20 events in 0ms.\n"
                                "52 invariants put to the test, 208 times; 1 of 1 fault took effect; 1 rare "
                                "branch reached (-v lists them).\n\nPASSED: 2 runs held.\n",
                                kVersion));
    EXPECT_EQ(err.str(), "");
}

TEST_F(Cli, ARunThatHoldsSaysWhatWasCheckedWhenAskedTo) {
    EXPECT_EQ(run({"run", folder.string(), "-v"}), 0) << err.str() << out.str();
    EXPECT_THAT(out.str(), HasSubstr("ok      alpha  seed 7  1m01s virtual  10 events"));
    EXPECT_THAT(out.str(), HasSubstr("ok      beta   seed 1"));
    EXPECT_THAT(out.str(), HasSubstr("2 runs: 2 passed, 0 failed."));
    EXPECT_THAT(out.str(), HasSubstr("no_lost_job"));
    EXPECT_THAT(out.str(), HasSubstr("publish_outcome_unknown"));
    EXPECT_THAT(out.str(), HasSubstr("1 armed      1 fired        1 effective"));
    EXPECT_EQ(err.str(), "");
    EXPECT_THAT(out.str(), Not(HasSubstr("\x1b"))) << "no terminal, no colours";
}

TEST_F(Cli, AScenarioMayComeThroughAPipe) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const std::string scenario = content("a.json");
    ASSERT_EQ(::write(ends[1], scenario.data(), scenario.size()), static_cast<ssize_t>(scenario.size()));
    ::close(ends[1]);
    EXPECT_EQ(run({"run", fmt::format("/dev/fd/{}", ends[0])}), 0) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("PASSED: 1 run held"));
    ::close(ends[0]);
}

TEST_F(Cli, SeedsAreConsecutiveFromTheGivenOne) {
    std::vector<std::uint64_t> seeds;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        seeds.push_back(seed);
        return good(of, seed, options);
    };
    EXPECT_EQ(run({"run", path("a.json"), "--seed", "100", "--seeds", "3", "-j", "1", "-v"}), 0);
    EXPECT_THAT(seeds, ElementsAre(100, 101, 102));
    EXPECT_THAT(out.str(), HasSubstr("seeds 100-102"));
}

TEST_F(Cli, FiltersAndTagsSelect) {
    EXPECT_EQ(run({"run", folder.string(), "--tag", "slow"}), 0);
    EXPECT_THAT(out.str(), Not(HasSubstr("alpha")));
    EXPECT_EQ(run({"run", folder.string(), "--filter", "al*"}), 0);
    EXPECT_THAT(out.str(), Not(HasSubstr("beta")));
    EXPECT_EQ(run({"run", folder.string(), "--filter", "*a", "--tag", "quick"}), 0) << "both of them";
    EXPECT_THAT(out.str(), HasSubstr("1 run: 1 passed"));
    EXPECT_EQ(run({"run", folder.string(), "--filter", "nobody"}), 4);
}

// C12
TEST_F(Cli, ShardsOfARunAreTheWholeWithoutOverlap) {
    std::multiset<std::pair<std::string, std::uint64_t>> made;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        made.emplace(of.name, seed);
        return good(of, seed, options);
    };
    for (const int seeds : {1, 2, 5}) {
        const std::vector<std::string> all{"run", folder.string(), "--seeds", std::to_string(seeds), "-j", "1"};
        made.clear();
        EXPECT_EQ(run(all), 0) << err.str();
        const auto whole = made;
        for (const int parts : {1, 2, 3, 7}) {
            made.clear();
            for (int part = 1; part <= parts; ++part) {
                auto args = all;
                args.insert(args.end(), {"--shard", fmt::format("{}/{}", part, parts)});
                const std::size_t before = made.size();
                const int code = run(args);
                EXPECT_EQ(code, made.size() > before ? 0 : 4) << out.str();  // of more parts than runs some are empty
            }
            EXPECT_EQ(made, whole) << seeds << " seeds in " << parts << " parts";
        }
    }
    for (const char* wrong : {"0/2", "3/2", "1", "1/2x", "-1/2"}) {
        EXPECT_EQ(run({"run", folder.string(), "--shard", wrong}), 2) << wrong;
        EXPECT_THAT(err.str(), HasSubstr("expected I/N with I from 1 to N, got"));
    }
}

TEST_F(Cli, WhatAnotherShardMayProveIsNotLeftUnproved) {
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        for (FaultCount& fault : result.faults) fault.effective = seed % 2;
        return result;
    };
    EXPECT_EQ(run({"run", path("b.json"), "--seed", "2", "--seeds", "2"}), 0) << out.str();
    EXPECT_EQ(run({"run", path("b.json"), "--seed", "2", "--seeds", "2", "--shard", "1/2"}), 0) << out.str();
    EXPECT_EQ(run({"run", path("b.json"), "--seed", "2", "--seeds", "1", "--shard", "1/2"}), 4)
        << "all of its runs are here";
}

TEST_F(Cli, NothingSelectedProvesNothing) {
    EXPECT_EQ(run({"run", folder.string(), "--filter", "nobody"}), 4);
    EXPECT_THAT(out.str(), HasSubstr("nothing was selected"));
    EXPECT_EQ(run({"run", folder.string(), "--filter", "nobody", "--allow-vacuous"}), 0);
}

TEST_F(Cli, ATagOrNameThatNoScenarioHasProvesNothing) {
    write("t.json", R"({"name": "t", "tags": ["crash"]})");
    EXPECT_EQ(run({"run", path("t.json"), "--tag", "crash", "--tag", "crsh", "--filter", "t", "--filter", "u"}), 4);
    EXPECT_THAT(out.str(), HasSubstr("no scenario has the tag \"crsh\"; did you mean \"crash\"?"));
    EXPECT_THAT(out.str(), HasSubstr("no scenario is called \"u\""));
    EXPECT_EQ(run({"run", "--tag", "crash", path("t.json"), "--list"}), 0) << "an option takes one value, and no file";
}

TEST_F(Cli, NoFileIsAllowedToRunOutOfTime) {
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        result.out_of_time = result.interrupted = true;
        return result;
    };
    EXPECT_EQ(run({"run", path("a.json"), "--run-timeout", "1s", "--allow-vacuous"}), 4) << out.str();
}

TEST_F(Cli, AFaultWithoutEffectProvesNothing) {
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        for (FaultCount& fault : result.faults) fault.effective = 0;
        return result;
    };
    EXPECT_EQ(run({"run", path("b.json")}), 4);
    EXPECT_THAT(out.str(), HasSubstr("VACUOUS beta"));
    EXPECT_THAT(out.str(), HasSubstr("the fault crash at /faults/0 never took effect"));
    EXPECT_EQ(run({"run", path("b.json"), "--allow-vacuous"}), 0);
}

TEST_F(Cli, EveryInvariantIsPutToTheTestWhereThatIsRequired) {
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        result.exercised["no_lost_job"] = 0;
        return result;
    };
    std::filesystem::create_directory(folder / "scenarios");
    std::ofstream(folder / "scenarios/all.json") << R"({"name": "all", "expect": {"invariants": "all"}})";
    EXPECT_EQ(run({"run", path("scenarios")}), 0) << "a folder of this name is as any other: " << out.str();
    EXPECT_EQ(run({"run", path("scenarios"), "--require-all-invariants", "--shard", "1/2"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("--require-all-invariants looks at all runs, and --shard makes some of them"));
    EXPECT_EQ(run({"run", path("scenarios"), "--require-all-invariants", "--junit", path("report.xml")}), 4);
    EXPECT_THAT(out.str(), HasSubstr("the invariant no_lost_job was never put to the test"));
    EXPECT_THAT(content("report.xml"), HasSubstr("failures=\"1\""));
    EXPECT_EQ(run({"run", path("scenarios/all.json"), "--junit", path("report.xml")}), 0);
    EXPECT_THAT(content("report.xml"), HasSubstr("failures=\"0\""));
}

TEST_F(Cli, AnErrorOfTheHarnessIsThreeAndNamesItsSeed) {
    runner = [](const Scenario&, std::uint64_t, const RunOptions&) -> RunResult { throw std::runtime_error("boom"); };
    EXPECT_EQ(run({"run", path("a.json")}), 3);
    EXPECT_THAT(out.str(), HasSubstr("the harness itself failed: boom"));
    EXPECT_THAT(out.str(), HasSubstr("--seed 7"));
}

TEST_F(Cli, AnInterruptionIs130AndPrintsWhatIsKnown) {
    stops_at_the_eighth_seed();
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "10", "-j", "1"}), 130);
    EXPECT_THAT(out.str(), HasSubstr("Interrupted: 2 of 10 runs were made."));
    EXPECT_THAT(out.str(), HasSubstr("1 passed, 0 failed"));
    EXPECT_THAT(out.str(), HasSubstr("STOPPED alpha"));
}

TEST_F(Cli, FailFastEndsTheSweep) {
    runner = bad;
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "50", "-j", "1", "--fail-fast"}), 1);
    EXPECT_THAT(out.str(), HasSubstr(" more were not begun (--fail-fast)"));
    EXPECT_THAT(out.str(), HasSubstr("1 run: 0 passed, 1 failed."));
}

TEST_F(Cli, RunKeepsOneFailureOfAKindWhenAskedTo) {
    runner = bad;
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "3", "-j", "1"}), 1);
    EXPECT_FALSE(fs::exists(folder / "kept")) << "nothing is written unasked";
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "3", "-j", "1", "--set", "cluster.schedulers=2", "--without",
                   "job_lock", "--failures", path("kept")}),
              1);
    const std::string file = path("kept/no_lost_job-alpha-seed7.json");
    EXPECT_THAT(out.str(), HasSubstr("KEPT no_lost_job: it is gone\n  lockstep replay " + file + "\n"));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder / "kept"), {}), 1) << "the three look alike";
    const auto kept = json::parse(content("kept/no_lost_job-alpha-seed7.json"));
    EXPECT_EQ(kept["seed"], 7);
    EXPECT_EQ(kept["scenario"]["cluster"]["schedulers"], 2);
    EXPECT_EQ(kept["scenario"]["without"], json({"job_lock"}));
    EXPECT_EQ(run({"replay", file}), 1) << out.str() << err.str();
    EXPECT_THAT(out.str(), HasSubstr("FAILED: it fails exactly as recorded. Again:\n"));
    EXPECT_EQ(run({"run", path("a.json"), "--failures", path("a.json")}), 1);
    EXPECT_THAT(err.str(), HasSubstr("--failures: "));
}

}  // namespace
}  // namespace lockstep::sim::cli
