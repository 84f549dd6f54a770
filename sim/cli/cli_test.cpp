#include "sim/cli/cli.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sim/cli/cli_fixture.h"
#include "sim/cli/presenter.h"
#include "sim/cli/selection.h"
#include "sim/cli/version.h"
#include "sim/run/run_scenario.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/file_format.h"
#include "sim/scenario/text_file.h"

namespace lockstep::sim::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Cli;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(Cli, AFailureIsOneAndEndsWithTheLineThatReplaysIt) {
    runner = bad;
    EXPECT_EQ(run({"run", path("a.json"), "--set", "cluster.config.backoff_max=60s"}), 1);
    EXPECT_THAT(out.str(), HasSubstr("FAILED  alpha  seed 7"));
    EXPECT_THAT(out.str(),
                HasSubstr("no_lost_job at 12.345s on scheduler-0, job job-1: it is gone\n    first\n    last\n"));
    EXPECT_THAT(out.str(), HasSubstr("expected SUCCEEDED 6, got 5"));
    EXPECT_THAT(out.str(), EndsWith(fmt::format("\nFAILED: 1 of 1 run failed. Again:\n  lockstep run {} --seed 7 --set "
                                                "cluster.config.backoff_max=60s --recorded-by {}\n",
                                                path("a.json"), kVersion)));
}

TEST_F(Cli, HelpAndVersionAreWordsToo) {
    EXPECT_EQ(run({"help"}), 0);
    EXPECT_THAT(out.str(), HasSubstr("Subcommands:"));
    EXPECT_EQ(run({"help", "shrink"}), 0);
    EXPECT_THAT(out.str(), HasSubstr("Usage: lockstep shrink"));
    EXPECT_EQ(run({"version"}), 0);
    EXPECT_EQ(out.str(), fmt::format("lockstep {}\n", kVersion));
    operator_exit = 0;
    EXPECT_EQ(run({"help", "submit"}), 0);
    EXPECT_THAT(handed_over, ElementsAre("submit", "--help"));
    EXPECT_EQ(run({"-q", "help"}), 2);
}

TEST_F(Cli, ANewFileHoldsAsItStands) {
    EXPECT_EQ(run({"new", "it's new", "--out", path("new.json")}), 0) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("lockstep run " + path("new.json") + " --seeds 20\n"));
    const std::string text = content("new.json");
    EXPECT_THAT(text, HasSubstr(R"("$schema": "scenario.schema.json")"));
    EXPECT_EQ(content("scenario.schema.json"), scenario_schema());
    EXPECT_EQ(run({"new", "another", "--out", path("new.json")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("is there already"));
    EXPECT_EQ(content("new.json"), text);
    EXPECT_EQ(run({"validate", path("new.json")}), 0) << err.str();
    runner = run_scenario;
    EXPECT_EQ(run({"run", path("new.json"), "--seeds", "5"}), 0) << out.str();
}

TEST_F(Cli, WrongInputIsTwoNamesItsPlaceAndRunsNothing) {
    write("c.json", "{\n  \"name\": \"c\",\n  \"clutser\": {}\n}");
    runner = [](const Scenario&, std::uint64_t, const RunOptions&) -> RunResult {
        ADD_FAILURE() << "ran";
        return {};
    };
    EXPECT_EQ(run({"run", folder.string()}), 2);
    EXPECT_EQ(err.str(),
              fmt::format("{}:3:3: at /clutser: there is no key \"clutser\" here; did you mean \"cluster\"?\n"
                          "WRONG INPUT: nothing was run.\n",
                          path("c.json")));
    EXPECT_EQ(out.str(), "");
    write("j.xml", "<testsuites failures=\"0\"/>");
    EXPECT_EQ(run({"run", path("c.json"), "--junit", path("j.xml")}), 2);
    EXPECT_THAT(content("j.xml"), HasSubstr("an input was wrong, and nothing was run"));
    EXPECT_EQ(run({"run", path("gone.json")}), 2);
    EXPECT_EQ(run({"run", path("a.json"), "--set", "cluster.schedulrs=2"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("did you mean \"schedulers\"?"));
}

TEST_F(Cli, WrongOptionsAreTwoWhateverTheParserThinks) {
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{{"run", "--sedes", "3"},
                                                                                      {"run", "--seeds", "many"},
                                                                                      {"run", "--seeds", "0"},
                                                                                      {"run", "--seed"},
                                                                                      {"run", "--seed", "-1"},
                                                                                      {"list", "tunabels"},
                                                                                      {"completion", "csh"},
                                                                                      {"--verison"},
                                                                                      {}}) {
        EXPECT_EQ(run(args), 2) << (args.empty() ? "no arguments" : args.back());
        EXPECT_NE(err.str(), "");
        EXPECT_EQ(out.str(), "");
    }
    EXPECT_EQ(run({"run", "--without", "job_lok"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("did you mean \"job_lock\"?"));
}

// C11
TEST_F(Cli, ASlipInAnOptionOrItsWordIsNamedWithTheNearest) {
    const auto said = [this](const std::vector<std::string>& args) {
        EXPECT_EQ(run(args), 2);
        EXPECT_EQ(out.str(), "");
        return err.str();
    };
    EXPECT_EQ(said({"run", "--sedes", "3"}),
              "lockstep run: --sedes: no such option; did you mean \"--seeds\"?\nSee lockstep run --help.\n");
    EXPECT_THAT(said({"explore", "--keep-goin=yes"}),
                HasSubstr("--keep-goin: no such option; did you mean \"--keep-going\"?"));
    EXPECT_THAT(said({"run", "-seeds"}), HasSubstr("-seeds: no such option; did you mean \"--seeds\"?"));
    EXPECT_THAT(said({"run", "--entirely-different"}), HasSubstr("--entirely-different: no such option\n"));
    EXPECT_EQ(said({"--verison"}),
              "lockstep: --verison: no such option; did you mean \"--version\"?\nSee lockstep --help.\n");
    EXPECT_THAT(said({"list", "tunabels"}), HasSubstr("TOPIC: there is no \"tunabels\"; did you mean \"tunables\"?"));
    EXPECT_THAT(said({"completion", "csh"}), HasSubstr("there is no \"csh\"; did you mean \"zsh\"?"));
    EXPECT_THAT(said({"list", "faults", "events"}),
                HasSubstr("lockstep list: \"events\": one word more than it takes"));
}

// C6
TEST_F(Cli, ColourIsWhatTheOptionSaysOrElseTheSurroundings) {
    const auto coloured = [this](std::vector<std::string> args) {
        args.insert(args.end(), {path("a.json"), "--seeds", "1"});
        EXPECT_EQ(run(args), 0) << err.str();
        return out.str().find('\x1b') != std::string::npos;
    };
    for (const bool around : {false, true}) {
        colour = around;
        EXPECT_EQ(coloured({"run"}), around);
        EXPECT_EQ(coloured({"run", "--color", "auto"}), around);
        EXPECT_TRUE(coloured({"run", "--color=always"}));
        EXPECT_FALSE(coloured({"--color", "never", "run"})) << "before the subcommand, too";
    }
    EXPECT_EQ(run({"run", path("a.json"), "--color", "alwyas"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("--color: there is no \"alwyas\"; did you mean \"always\"?"));
    EXPECT_EQ(run({"--color", "never", "run", path("a.json"), "--json"}), 0) << err.str();
    EXPECT_EQ(document()["passed"], 1) << "an option with an optional value is one behind others, too";
}

// C7
TEST_F(Cli, QuietSaysWhatIsWrongAndTheVerdict) {
    watcher.kind = Watcher::Kind::terminal;
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "3", "-q"}), 0);
    EXPECT_EQ(out.str(), "PASSED: 3 runs held.\n");
    EXPECT_EQ(err.str(), "");
    EXPECT_EQ(run({"--quiet", "explore", "--seeds", "3", "--out", path("out")}), 0);
    EXPECT_EQ(out.str(), "PASSED: nothing was violated in 3 draws.\n");
    EXPECT_EQ(err.str(), "");
    runner = bad;
    EXPECT_EQ(run({"run", path("a.json"), "-q"}), 1);
    EXPECT_THAT(out.str(), HasSubstr("\nFAILED alpha seed 7"));
    EXPECT_THAT(out.str(), HasSubstr("it is gone"));
    EXPECT_THAT(out.str(), Not(HasSubstr("Invariants checked")));
    EXPECT_EQ(run({"explore", "--seeds", "1", "--out", path("out"), "-q"}), 1);
    EXPECT_THAT(out.str(), HasSubstr("FOUND "));
    EXPECT_EQ(err.str(), "");
}

TEST_F(Cli, ASeedIsANumberOf64BitsAndNothingElse) {
    for (const char* bad : {"18446744073709551616", "abc", "1e3", "0x10", " 1", "1.0"}) {
        EXPECT_EQ(run({"run", path("a.json"), "--seed", bad}), 2) << bad;
        EXPECT_THAT(err.str(), HasSubstr("expected a number from 0 to 18446744073709551615, got")) << bad;
        EXPECT_EQ(run({"explore", "--seeds", "1", "--out", path("out"), "--first", bad}), 2) << bad;
    }
    EXPECT_EQ(run({"run", path("a.json"), "--seed", "18446744073709551615", "-v"}), 0) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("seed 18446744073709551615"));
}

TEST_F(Cli, AnUnknownMechanismIsNamedWithTheNearest) {
    EXPECT_EQ(run({"run", path("a.json"), "--without", "job_lok"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("--without: there is no mechanism \"job_lok\"; did you mean \"job_lock\"?"));
}

TEST_F(Cli, WhatCannotBeReadIsTwoAndNamed) {
    for (const char* command : {"explain", "shrink"}) {
        EXPECT_EQ(run({command, folder.string()}), 2) << command;
        EXPECT_THAT(err.str(), HasSubstr(folder.string())) << command;
    }
    // It can be opened, and no byte of it can be read.
    EXPECT_EQ(run({"run", "/proc/self/mem"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("/proc/self/mem: expected a file that can be read"));
}

TEST_F(Cli, OutputThatIsLostIsNoticed) {
    struct Full final : std::streambuf {
        int overflow(int /*character*/) override { return traits_type::eof(); }
    } full;
    std::ostream lost(&full);
    const Environment environment{.out = lost, .err = err, .runner = runner, .stop = &stop};
    EXPECT_EQ(cli_main({"run", path("a.json"), "--json"}, environment), 2);
    EXPECT_THAT(err.str(), HasSubstr("standard output cannot be written"));
}

TEST_F(Cli, ExploreRefusesATimeInWhichItCannotBegin) {
    for (const char* wall : {"0s", "0"}) {
        EXPECT_EQ(run({"explore", "--for", wall, "--out", path("out")}), 2);
        EXPECT_THAT(err.str(), HasSubstr("--for: expected a duration of more than 0"));
    }
    EXPECT_NE(run({"explore", "--for", "1us", "--out", path("out")}), 2) << "rounded up, not down to no limit";
}

TEST_F(Cli, ExploreLosesTheDataOfTheServersThatItIsTold) {
    int power_cuts = 0;
    int failovers = 0;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        for (const Fault& fault : of.faults) {
            power_cuts += fault.kind() == "nats.power_cut" ? 1 : 0;
            failovers += fault.kind() == "redis.failover" ? 1 : 0;
        }
        return good(of, seed, options);
    };
    const auto explore = [&](std::vector<std::string> with) {
        power_cuts = failovers = 0;
        with.insert(with.begin(), {"explore", "--seeds", "60", "-j", "1", "--out", path("out")});
        return run(with);
    };
    EXPECT_NE(explore({}), 2) << err.str();
    EXPECT_EQ(power_cuts + failovers, 0);
    EXPECT_NE(explore({"--data-loss", "nats"}), 2) << err.str();
    EXPECT_GT(power_cuts, 0);
    EXPECT_EQ(failovers, 0);
    EXPECT_NE(explore({"--data-loss", "redis"}), 2) << err.str();
    EXPECT_EQ(power_cuts, 0);
    EXPECT_GT(failovers, 0);
    EXPECT_NE(explore({"--data-loss"}), 2) << err.str();
    EXPECT_GT(power_cuts, 0);
    EXPECT_GT(failovers, 0);
    EXPECT_NE(run({"explore", "--seeds", "1", "--out", path("out"), "--data-loss", path("a.json")}), 2)
        << "the path is a path: " << err.str();
    EXPECT_EQ(run({"explore", "--seeds", "1", "--data-loss=disk", "--out", path("out")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("expected nats, redis or both, got \"disk\""));
}

TEST_F(Cli, ExploreRefusesAnOutputFolderBeforeTheFirstDraw) {
    int runs = 0;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        ++runs;
        return good(of, seed, options);
    };
    EXPECT_EQ(run({"explore", "--seeds", "3", "--out", path("a.json/within")}), 2);
    EXPECT_EQ(runs, 0);
}

TEST_F(Cli, AFindThatCannotBeKeptIsStillAFindAndTellsHowToSeeItAgain) {
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        fs::remove_all(folder / "out");
        write("out", "in the way");
        RunResult result = bad(of, seed, options);
        result.seed = seed;
        return result;
    };
    EXPECT_EQ(run({"explore", "--first", "12", "--seeds", "1", "-j", "1", "--out", path("out")}), 1) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("its file could not be kept"));
    EXPECT_THAT(out.str(),
                HasSubstr(fmt::format("\n  lockstep explore --first 12 --seeds 1 --recorded-by {}\n", kVersion)));
    EXPECT_THAT(out.str(), Not(HasSubstr("lockstep replay")));
    EXPECT_NE(err.str(), "");
}

TEST_F(Cli, ExploreKeepsItsPlaceAndItsFindsWhileItGoesOn) {
    json second;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        if (seed == 12) second = json::parse(content("out/explore.json"));
        RunResult result = seed == 11 ? bad(of, seed, options) : good(of, seed, options);
        result.seed = seed;
        return result;
    };
    EXPECT_EQ(run({"explore", "--first", "11", "--seeds", "2", "--keep-going", "-j", "1", "--out", path("out")}), 1);
    EXPECT_EQ(second["next"], 12) << "as an end without warning would have left it";
    EXPECT_EQ(second["regressions"], json::array({11}));
}

TEST_F(Cli, ExplainTellsOfTheJobThatDidNotComeToWhatWasExpected) {
    write("real.json", R"({"name": "real", "cluster": {"workers": [{"id": "w", "count": 2}]},
                           "load": [{"at": "1s", "job": {"job_id": "first", "topic": "job.default"}},
                                    {"at": "2s", "job": {"job_id": "second", "topic": "job.default"}}],
                           "expect": {"jobs": {"first": "SUCCEEDED", "second": "CANCELLED"}}})");
    runner = run_scenario;
    EXPECT_EQ(run({"explain", path("real.json")}), 1) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("expected job second is CANCELLED, got SUCCEEDED"));
    EXPECT_THAT(out.str(), HasSubstr("The story of second, node by node:"));
    EXPECT_THAT(out.str(), HasSubstr("--job tells of one: first"));
    EXPECT_EQ(run({"run", path("real.json")}), 1);
    EXPECT_THAT(out.str(), HasSubstr(fmt::format("  explain: lockstep explain {} --seed 1 --recorded-by {}\n",
                                                 path("real.json"), kVersion)));
}

TEST_F(Cli, AMetricThatIsNotAsExpectedIsStatedOnce) {
    write("real.json", R"({"name": "real", "cluster": {"workers": [{"id": "w"}]}, "load": [{"count": 3}],
        "expect": {"metrics": {"cordum_scheduler_dispatch_latency_seconds:count": "== 7"}}})");
    runner = run_scenario;
    EXPECT_EQ(run({"run", path("real.json")}), 1);
    EXPECT_THAT(out.str(), HasSubstr("expected cordum_scheduler_dispatch_latency_seconds:count == 7, got 3"));
}

TEST_F(Cli, ARunThatIsOverBeforeItsLoadIsSubmittedProvesNothing) {
    // The gateway is away for as long as the run lasts.
    write("late.json", R"({"name": "late", "duration": "5m", "cluster": {"workers": [{"id": "w"}]},
        "load": [{"count": 1}, {"at": "2m", "count": 1}],
        "faults": [{"at": "1m", "do": "pause", "target": "gateway", "for": "1h"}],
        "expect": {"states": {"SUCCEEDED": 1}}})");
    runner = run_scenario;
    EXPECT_EQ(run({"run", path("late.json")}), 4) << out.str();
    EXPECT_THAT(out.str(), HasSubstr("the run was over before all of its load was submitted"));
}

TEST_F(Cli, NothingLeaksIsNotTestedByARunThatIsCutOff) {
    write("cut.json", R"({"name": "cut", "duration": "5m",
        "cluster": {"config": {"safety_timeout": "2h"}, "kernel": {"latency": "1h"}, "workers": [{"id": "w"}]},
        "load": [{"count": 3}], "expect": {"invariants": ["nothing_leaks"]}})");
    runner = run_scenario;
    EXPECT_EQ(run({"run", path("cut.json")}), 4) << out.str();
    EXPECT_THAT(out.str(), HasSubstr("the invariant nothing_leaks was never put to the test"));
}

TEST_F(Cli, HelpAndVersionAreZeroAndShowExamples) {
    EXPECT_EQ(run({"--help"}), 0);
    EXPECT_THAT(out.str(), HasSubstr("verify-determinism"));
    for (const char* subcommand : {"run", "validate", "verify-determinism", "list", "completion"}) {
        EXPECT_EQ(run({subcommand, "--help"}), 0);
        EXPECT_THAT(out.str(), HasSubstr("Example"));
    }
}

// K4
TEST_F(Cli, TheVersionNamesTheCommitAndIsADocumentToo) {
    EXPECT_EQ(run({"--version"}), 0);
    EXPECT_EQ(out.str(), fmt::format("lockstep {}\n", kVersion));
    commit = "0123456789ab";
    dirty = true;
    const std::string build = fmt::format("{}+0123456789ab.dirty", kVersion);
    EXPECT_EQ(run({"--version"}), 0);
    EXPECT_EQ(out.str(), fmt::format("lockstep {}\n", build));
    for (const std::vector<std::string>& args :
         {std::vector<std::string>{"--version", "--json"}, {"--json", "--version"}}) {
        EXPECT_EQ(run(args), 0) << err.str();
        EXPECT_EQ(document()["name"], "lockstep");
        EXPECT_EQ(document()["version"], kVersion);
        EXPECT_EQ(document()["commit"], commit);
        EXPECT_EQ(document()["dirty"], true);
        EXPECT_EQ(document()["build"], build);
    }
}

TEST_F(Cli, JsonIsOneDocumentAndNothingElse) {
    runner = bad;
    EXPECT_EQ(run({"run", path("a.json"), "--json"}), 1);
    const auto document = json::parse(out.str());
    EXPECT_EQ(document["version"], 1);
    EXPECT_EQ(document["failed"], 1);
    EXPECT_EQ(document["results"][0]["digest"], "0000000000000015");
    EXPECT_EQ(document["results"][0]["violations"][0]["invariant"], "no_lost_job");
}

TEST_F(Cli, JsonTakesAFileButNeverAScenario) {
    EXPECT_EQ(run({"run", "--json", path("a.json")}), 0);
    EXPECT_THAT(content("a.json"), HasSubstr("alpha")) << "the scenario was not overwritten";
    EXPECT_EQ(json::parse(out.str())["passed"], 1);

    EXPECT_EQ(run({"run", path("a.json"), "--json", path("out.txt")}), 0);
    EXPECT_EQ(json::parse(content("out.txt"))["passed"], 1);
    EXPECT_THAT(out.str(), HasSubstr("1 passed"));
    EXPECT_EQ(run({"run", path("a.json"), "--json", path("out.txt")}), 0) << "an earlier document may be replaced";
    EXPECT_EQ(run({"run", path("a.json"), "--json=" + path("out.txt")}), 0);
}

TEST_F(Cli, ReportsAreWrittenAndAPlaceThatCannotBeIsTwo) {
    EXPECT_EQ(run({"run", folder.string(), "--junit", path("sub/out.xml")}), 0);
    EXPECT_THAT(content("sub/out.xml"), HasSubstr("<testsuites"));
    EXPECT_EQ(run({"run", path("a.json"), "--junit", path("b.json/x.xml")}), 2);
}

// C5
TEST_F(Cli, RunAndExploreWriteMarkdownAndCommaSeparatedValuesToo) {
    runner = bad;
    EXPECT_EQ(
        run({"run", path("a.json"), "--markdown", path("a.md"), "--csv", path("a.csv"), "--junit", path("a.xml")}), 1);
    EXPECT_THAT(content("a.md"), HasSubstr("# 1 of 1 runs failed\n"));
    EXPECT_THAT(content("a.md"), HasSubstr("    lockstep run " + path("a.json") + " --seed 7 "));
    EXPECT_THAT(content("a.csv"), HasSubstr("\n" + path("a.json") + ",alpha,7,,false,0000000000000015,"));
    EXPECT_THAT(content("a.xml"), HasSubstr("<testsuites")) << "several at once";
    for (const char* option : {"--markdown", "--csv"}) {
        runner = good;
        EXPECT_EQ(run({"run", path("a.json"), option, path("b.json/x")}), 2) << "a place that cannot be";
        EXPECT_THAT(err.str(), HasSubstr(path("b.json")));
        EXPECT_EQ(run({"explore", "--seeds", "1", "--out", path("out"), option, path("b.json/x")}), 2);
        EXPECT_THAT(err.str(), HasSubstr(path("b.json")));
    }
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = bad(of, seed, options);
        result.seed = seed;
        return result;
    };
    EXPECT_EQ(run({"explore", "--first", "12", "--seeds", "1", "--out", path("found"), "--markdown", path("e.md"),
                   "--csv", path("e.csv")}),
              1);
    EXPECT_THAT(content("e.md"), HasSubstr("# 1 of 1 draws failed, in 1 ways\n"));
    EXPECT_THAT(content("e.md"), HasSubstr("    lockstep replay " + path("found/no_lost_job-draw12.json")));
    EXPECT_THAT(content("e.csv"), HasSubstr("signature,draw,times,digest,events,file,shrunk,replay\nno_lost_job: "));
    runner = [this](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        stop = true;
        RunResult result = good(of, seed, options);
        result.interrupted = true;
        return result;
    };
    EXPECT_EQ(run({"run", path("a.json"), "--markdown", path("cut.md")}), 130);
    EXPECT_THAT(content("cut.md"), HasSubstr("Not complete: interrupted: 0 of 1 runs"));
}

TEST_F(Cli, ATraceNeedsExactlyOneRun) {
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        options.trace->write("an event");
        return good(of, seed, options);
    };
    EXPECT_EQ(run({"run", path("a.json"), "--trace", path("t.jsonl")}), 0);
    EXPECT_EQ(content("t.jsonl"), "an event");
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "2", "--trace", path("t.jsonl")}), 2);
}

TEST_F(Cli, ATraceThatCannotBeWrittenIsReportedAsAnyOtherFile) {
    for (const char* option : {"--trace", "--junit"}) {
        EXPECT_EQ(run({"run", path("a.json"), option, path("a.json/below")}), 2) << option;
        EXPECT_THAT(err.str(), HasSubstr(path("a.json/below"))) << option;
    }
}

TEST_F(Cli, AFileThatProvesSomethingIsRunWithoutItsMechanismToo) {
    write("c.json",
          R"({"name": "gamma", "seed": 5, "proves": {"without": "job_lock", "violated": ["lock_exclusion"]}})");
    std::vector<std::string> made;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        made.push_back(fmt::format("{}/{}/{}", of.name, fmt::join(of.without, ","), seed));
        return good(of, seed, options);
    };
    EXPECT_EQ(run({"run", path("c.json"), "--seeds", "2", "-j", "1", "-v"}), 0);
    EXPECT_THAT(made, ElementsAre("gamma//5", "gamma//6", "gamma without job_lock/job_lock/5"));
    EXPECT_THAT(out.str(), HasSubstr("1 scenario, 3 runs"));
    EXPECT_THAT(out.str(), HasSubstr("  without job_lock: breaks lock_exclusion  seed 5"));

    EXPECT_EQ(run({"run", path("c.json"), "--json"}), 0);
    const auto results = json::parse(out.str())["results"];
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(results[0]["without"], json::array());
    EXPECT_EQ(results[1]["without"], json::array({"job_lock"}));

    made.clear();
    EXPECT_EQ(run({"run", path("c.json"), "--without", "job_lock"}), 0);
    EXPECT_THAT(made, ElementsAre("gamma/job_lock/5"));
    EXPECT_EQ(run({"run", path("c.json"), "--trace", path("trace.jsonl")}), 0) << "one run, which a trace needs";
    EXPECT_EQ(run({"verify-determinism", path("c.json")}), 0);
    EXPECT_THAT(out.str(), HasSubstr("2 runs give the same digest"));
}

TEST_F(Cli, ACounterexampleThatHoldsFailsTheFile) {
    write("c.json",
          R"({"name": "gamma", "seed": 5, "proves": {"without": "job_lock", "violated": ["lock_exclusion"]}})");
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        result.passed = !of.counterexample;
        return result;
    };
    EXPECT_EQ(run({"run", path("c.json")}), 1);
    EXPECT_THAT(out.str(), HasSubstr("FAILED gamma without job_lock seed 5"));
    EXPECT_THAT(out.str(),
                EndsWith(fmt::format("\n  lockstep run {} --seed 5 --recorded-by {}\n", path("c.json"), kVersion)));
}

TEST_F(Cli, ValidateNamesEveryErrorOfEveryFile) {
    EXPECT_EQ(run({"validate", folder.string()}), 0);
    EXPECT_EQ(out.str(), "2 scenario files are sound\n");
    write("c.json", R"({"name": "alpha"})");
    EXPECT_EQ(run({"validate", folder.string()}), 2);
    EXPECT_THAT(err.str(), HasSubstr("is also named \"alpha\""));
    write("c.json", R"({"nam": "c", "duration": 5})");
    EXPECT_EQ(run({"validate", folder.string(), "--json"}), 2);
    EXPECT_EQ(json::parse(out.str())["errors"].size(), 3U);
}

TEST_F(Cli, ListNamesEverythingThatAFileMayUse) {
    EXPECT_EQ(run({"list"}), 0);
    for (const char* word : {"no_duplicate_dispatch", "job_lock", "redis.errors", "lock_acquired", "backoff_max",
                             "cordum_scheduler_jobs_received_total", "(engine/store/redis-schema.md 3.1)"})
        EXPECT_THAT(out.str(), HasSubstr(word));
    EXPECT_EQ(run({"list", "--json"}), 0);
    const auto document = json::parse(out.str());
    EXPECT_EQ(document["tunables"][0]["name"], "store_op_timeout");
    EXPECT_EQ(document["tunables"][0]["default"], "2s");
    EXPECT_EQ(document["invariants"][0]["paragraph"], "engine/delivery-semantics.md#to-a-submitter, 3");
    EXPECT_EQ(run({"list", "faults"}), 0);
    EXPECT_THAT(out.str(), Not(HasSubstr("job_lock")));
    EXPECT_EQ(run({"list", "--schema"}), 0);
    EXPECT_TRUE(json::parse(out.str()).contains("$defs"));
}

TEST_F(Cli, OperatorWordsAreHandedToTheOtherProgram) {
    operator_exit = 42;
    EXPECT_EQ(run({"dlq", "list", "--json"}), 42);
    EXPECT_THAT(handed_over, ElementsAre("dlq", "list", "--json"));
    EXPECT_EQ(run({"quarantine"}), 42) << "it may know words that we do not";
    operator_exit = -1;
    EXPECT_EQ(run({"submit"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("lockstepctl"));
}

TEST_F(Cli, DevIsHandedToItsProgramWithItsOptions) {
    operator_exit = 42;
    EXPECT_EQ(run({"dev", "--replicas", "2", "--help"}), 42);
    EXPECT_THAT(handed_over, ElementsAre("--replicas", "2", "--help"));
    operator_exit = -1;
    EXPECT_EQ(run({"dev"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("lockstep-dev"));
    EXPECT_EQ(run({"--help"}), 0);
    EXPECT_THAT(out.str(), HasSubstr("to try Lockstep out"));
    EXPECT_EQ(run({"dve"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("did you mean \"dev\"?"));
}

TEST_F(Cli, DevTakesNoOptionOfThisProgramBeforeIt) {
    EXPECT_EQ(run({"--quiet", "dev"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("dev has options of its own"));
}

TEST_F(Cli, ASlipOfThePenIsNotHandedOver) {
    operator_exit = 42;
    EXPECT_EQ(run({"rnu"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("did you mean \"run\"?"));
    EXPECT_TRUE(handed_over.empty());
}

TEST_F(Cli, ExplainSaysWhatTheJobsCameToAndTellsOfOneThatShowsIt) {
    write("real.json",
          R"({"name": "real", "cluster": {"workflow_engines": 1, "workers": [{"id": "w", "service_time": "100ms"}]},
        "load": [{"at": "1s", "job": {"job_id": "good"}}, {"at": "2s", "job": {"job_id": "bad", "env": {"SIM_OUTCOME": "FAILED"}}},
                 {"at": "2s", "job": {"job_id": "worse", "env": {"SIM_OUTCOME": "FAILED"}}},
                 {"workflow": {"put": {"id": "f", "steps": {
                     "fine": {"type": "worker", "topic": "job.default"},
                     "sore": {"type": "worker", "topic": "job.default", "input": {"x": 1}, "depends_on": ["fine"]}}}}},
                 {"at": "3s", "workflow": {"start": "f", "run": "r"}}],
        "expect": {"metrics": {"cordum_scheduler_dlq_emit_failures_total": 7}}})");
    runner = run_scenario;
    EXPECT_EQ(run({"explain", path("real.json")}), 1) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("\n2 jobs, FAILED: "));
    EXPECT_THAT(out.str(), HasSubstr(": bad, worse\n"));
    EXPECT_THAT(out.str(), HasSubstr("The story of bad, node by node:")) << "no job shows the metric";
    EXPECT_THAT(out.str(), Not(HasSubstr("NOSCRIPT")));
    EXPECT_EQ(run({"explain", path("real.json"), "--json"}), 1);
    EXPECT_EQ(document()["not_succeeded"][1]["job"], "worse");
    EXPECT_EQ(document()["not_succeeded"][1]["state"], "FAILED");
    EXPECT_EQ(run({"explain", path("real.json"), "--set", "expect.steps={\"r\": {\"sore\": \"failed\"}}"}), 1)
        << err.str();
    EXPECT_THAT(out.str(), HasSubstr("The story of r:sore@1, node by node:"));
}

TEST_F(Cli, ExplainTellsOfTheSlowestJobWhereNoneShowsTheFailure) {
    write("real.json", R"({"name": "real", "cluster": {"workers": [{"id": "w"}]},
        "load": [{"at": "1s", "job": {"job_id": "quick"}}, {"at": "2s", "job": {"job_id": "slow", "env": {"SIM_SERVICE_MS": "9000"}}}],
        "faults": [{"at": "1m", "do": "kernel.outage", "for": "1s"}],
        "expect": {"measures": {"submit_to_terminal.max": "< 5s"}}})");
    runner = run_scenario;
    EXPECT_EQ(run({"explain", path("real.json")}), 1) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("The story of slow, node by node:"));
    EXPECT_EQ(run({"explain", path("real.json"), "--set", "expect={}"}), 0) << err.str();
    EXPECT_THAT(out.str(),
                HasSubstr("left unproved: " + path("real.json") + ": the fault kernel.outage at /faults/0 never took"));
    EXPECT_THAT(out.str(), HasSubstr("nothing that it could hit came while it lasted"));
}

TEST_F(Cli, ExplainTellsWhyARunFailsOrHowAJobWent) {
    write("real.json", R"({"name": "real", "cluster": {"workers": [{"id": "w", "count": 2}]},
                           "load": [{"at": "1s", "job": {"job_id": "first", "topic": "job.default"}},
                                    {"at": "2s", "job": {"job_id": "second", "topic": "job.default"}}]})");
    runner = run_scenario;
    EXPECT_EQ(run({"explain", path("real.json"), "--seed", "3"}), 0) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("real, seed 3, "));
    EXPECT_THAT(out.str(), HasSubstr("The story of first, node by node:"));
    EXPECT_THAT(out.str(), HasSubstr("--job tells of one: second"));
    EXPECT_THAT(out.str(), HasSubstr("\nscheduler-0\n"));
    EXPECT_THAT(out.str(), HasSubstr("RUNNING -> SUCCEEDED"));
    EXPECT_EQ(run({"explain", path("real.json"), "--job", "second", "--by-time"}), 0);
    EXPECT_THAT(out.str(), HasSubstr("The story of second:"));
    EXPECT_EQ(run({"explain", path("real.json"), "--html", path("explained.html")}), 0) << err.str();
    EXPECT_THAT(content("explained.html"), HasSubstr("<title>real - lockstep</title>"));
    EXPECT_EQ(run({"explain", path("real.json"), "--html", folder.string()}), 2);
    EXPECT_EQ(run({"explain", path("real.json"), "--job", "second", "--svg", path("second.svg")}), 0) << err.str();
    EXPECT_THAT(content("second.svg"), HasSubstr("real: job second"));
    EXPECT_EQ(run({"explain", path("real.json"), "--svg", folder.string()}), 2);
    EXPECT_THAT(err.str(), HasSubstr(folder.string()));
    EXPECT_EQ(run({"explain", path("a.json"), "--svg", path("none.svg")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("--svg: this run has no job to draw"));
    EXPECT_EQ(run({"run", path("real.json"), "--allow-vacuous", "--html", path("run.html")}), 0) << out.str();
    EXPECT_EQ(content("run.html").size(), content("explained.html").size()) << "the same run";
    EXPECT_EQ(run({"explain", path("real.json"), "--job", "secnd"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("this run has no job \"secnd\"; did you mean \"second\"?"));
    EXPECT_EQ(run({"explain", path("absent.json")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("absent.json"));
    EXPECT_EQ(run({"explain", path("real.json"), "--set", "nonsense"}), 2);
    EXPECT_EQ(run({"explain", path("real.json"), "--without", "luck"}), 2);
}

TEST_F(Cli, ReplayLooksAtTheServersAtAnEvent) {
    write("real.json", R"({"name": "real", "cluster": {"workers": [{"id": "w", "count": 2}]},
                           "load": [{"at": "1s", "job": {"job_id": "first", "topic": "job.default"}}]})");
    runner = run_scenario;
    EXPECT_EQ(run({"replay", path("real.json"), "--until", "40"}), 0) << err.str();
    EXPECT_THAT(out.str(), StartsWith("# lockstep dump of event 40 "));
    for (const char* part : {"\nNodes\n", "\nLocks", "\nStreams\n", "CORDUM_SYS", "\nRedis"})
        EXPECT_THAT(out.str(), HasSubstr(part));
    EXPECT_EQ(run({"replay", path("real.json"), "--until", "40", "--dump", path("dump.txt")}), 0);
    EXPECT_EQ(out.str(), "");
    EXPECT_THAT(content("dump.txt"), StartsWith("# lockstep dump of event 40 "));
    EXPECT_EQ(run({"replay", "--until", "40", "--dump", path("real.json")}), 0) << "a scenario is never the target";
    EXPECT_THAT(content("real.json"), StartsWith("{\"name\""));
    EXPECT_EQ(run({"replay", path("real.json"), "--diff", "40", "300"}), 0);
    const std::string difference = out.str();
    EXPECT_THAT(difference, HasSubstr("\n+ job:meta:first .state  "));
    EXPECT_EQ(run({"replay", path("real.json"), "--until", "300", "--until", "40"}), 0);
    EXPECT_EQ(out.str(), difference) << "the order of two does not matter";

    EXPECT_EQ(run({"replay", path("real.json"), "--until", "1000000000"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("there is no event 1000000000: this run ends with event"));
    EXPECT_EQ(run({"replay", path("real.json"), "--until", "0"}), 2);
    EXPECT_EQ(run({"replay", path("real.json"), "--until", "1", "--until", "2", "--until", "3"}), 2);
    EXPECT_EQ(run({"replay", path("real.json"), "--until", "1", "--diff", "1", "2"}), 2);
    EXPECT_EQ(run({"replay", path("real.json"), "--seed", "3"}), 2) << "changes what a replay would confirm";
    EXPECT_EQ(run({"replay", path("real.json")}), 2);
    EXPECT_EQ(run({"replay", path("absent.json"), "--until", "1"}), 2);
}

TEST_F(Cli, ShrinkKeepsTheOriginalAndWritesWhatIsLeftBesideIt) {
    runner = bad;
    write("large.json", R"({"name": "large", "seed": 7, "cluster": {"schedulers": 3, "workers": [{"id": "w"}]},
                            "load": [{"at": "1s", "count": 9}], "expect": {"invariants": "all"}})");
    const std::string original = content("large.json");
    EXPECT_EQ(run({"shrink", path("large.json")}), 0) << err.str();
    EXPECT_EQ(content("large.json"), original);
    EXPECT_THAT(out.str(), HasSubstr("from  9 jobs, 3 replicas, 1 worker, 0 faults, 0 settings\n"
                                     "to    0 jobs, 1 replica, 0 workers, 0 faults, 0 settings\n"));
    const auto left = json::parse(content("large.shrunk.json"));
    EXPECT_EQ(left["description"], "no_lost_job is violated, it is gone. Reduced from large.");
    EXPECT_EQ(left["expect"], json::parse(R"({"invariants": ["no_lost_job"]})"));
    EXPECT_FALSE(left.contains("load"));
    EXPECT_EQ(run({"shrink", path("large.shrunk.json"), "--out", path("twice.json")}), 0) << err.str();
    EXPECT_EQ(content("twice.json"), content("large.shrunk.json")) << "shrinking again changes nothing";
    EXPECT_EQ(run({"shrink", path("large.json"), "--out", path("large.json")}), 2);
    EXPECT_EQ(content("large.json"), original);
    EXPECT_EQ(run({"shrink", path("large.json"), "--max-runs", "3", "--out", path("three.json")}), 1);
    EXPECT_THAT(out.str(), HasSubstr("not finished: it may become smaller still"));
}

TEST_F(Cli, AnInterruptedShrinkLeavesTheSmallestSoFar) {
    write("large.json", R"({"name": "large", "load": [{"at": "1s", "count": 9}, {"at": "2s"}, {"at": "3s"}]})");
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        stop = of.load.size() == 2;
        return of.load.empty() ? good(of, seed, options) : bad(of, seed, options);
    };
    EXPECT_EQ(run({"shrink", path("large.json")}), 130);
    const auto left = json::parse(content("large.shrunk.json"));
    EXPECT_EQ(left["load"].size(), 2U) << "one could go, too, but nobody waited for that";
}

TEST_F(Cli, VerifyComparesTwoRunsPerSeed) {
    int runs = 0;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        ++runs;
        return good(of, seed, options);
    };
    EXPECT_EQ(run({"verify-determinism", folder.string(), "--seeds", "3", "-j", "1"}), 0);
    EXPECT_EQ(runs, 12);
    EXPECT_EQ(out.str(), "PASSED: 6 runs give the same digest every time.\n");
}

TEST_F(Cli, ADifferenceIsFiveAndNamesWhereItBegins) {
    std::uint64_t runs = 0;
    bool same_text = false;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        result.digest = ++runs;
        for (std::uint64_t n = 1; n <= 10; ++n) {
            // Eight events that are the same every time, and two that never are.
            const std::uint64_t hash = n <= 8 ? n : runs * 100 + n;
            if (options.record.hashes) result.recorded.hashes.push_back(hash);
            if (n != options.record.event) continue;
            result.recorded.event =
                RecordedEvent{1'500'000'000, "w-0", same_text ? "event" : fmt::format("event of run {}", runs),
                              fmt::format("the bytes of run {}", runs)};
        }
        return result;
    };
    EXPECT_EQ(run({"verify-determinism", path("a.json"), "-j", "1"}), 5);
    EXPECT_THAT(out.str(), HasSubstr("DIFFERENT alpha seed 7: 0000000000000001 after 10 events"));
    EXPECT_THAT(out.str(), HasSubstr("  event 9 is the first that differs\n"
                                     "    first: at 1.500000000s on w-0: event of run 5\n"
                                     "    then: at 1.500000000s on w-0: event of run 6\n"));
    EXPECT_THAT(out.str(), HasSubstr(fmt::format("  replay: lockstep verify-determinism {} --seed 7 --recorded-by {}\n",
                                                 path("a.json"), kVersion)));
    same_text = true;
    EXPECT_EQ(run({"verify-determinism", path("a.json"), "-j", "1"}), 5);
    EXPECT_THAT(out.str(), HasSubstr("different from byte 18: \"of run 11\", then \"of run 12\"\n"));
}

TEST_F(Cli, ADifferenceThatDoesNotComeBackIsStillADifference) {
    int runs = 0;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        if (++runs == 2) result.digest = 99;
        return result;
    };
    EXPECT_EQ(run({"verify-determinism", path("a.json"), "-j", "1"}), 5);
    EXPECT_THAT(out.str(), HasSubstr("the same in a further pair of runs"));
}

TEST_F(Cli, TheSameEventsWithAnotherResultAreADifference) {
    int runs = 0;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        result.metrics["cordum_scheduler_jobs_dispatched_total"] = ++runs;
        return result;
    };
    EXPECT_EQ(run({"verify-determinism", path("a.json"), "-j", "1"}), 5);
    EXPECT_THAT(out.str(), HasSubstr("the same 10 events, but another result: metrics"));
}

TEST_F(Cli, VerifyMakesTheSecondRunsInTheOppositeOrder) {
    std::vector<std::uint64_t> seeds;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        seeds.push_back(seed);
        return good(of, seed, options);
    };
    EXPECT_EQ(run({"verify-determinism", path("a.json"), "--seeds", "3", "-j", "1"}), 0);
    EXPECT_THAT(seeds, ElementsAre(7, 8, 9, 9, 8, 7));
    const std::string digests = path("digests.txt");
    ASSERT_EQ(run({"verify-determinism", path("a.json"), "--seeds", "3", "-j", "1", "--write", digests}), 0);
    seeds.clear();
    EXPECT_EQ(run({"verify-determinism", path("a.json"), "--seeds", "3", "-j", "1", "--against", digests, "--once"}),
              0);
    EXPECT_THAT(seeds, ElementsAre(9, 8, 7)) << "the other build has made the first ones";
}

TEST_F(Cli, DigestsOfTwoBuildsAreComparedThroughAFile) {
    EXPECT_EQ(run({"verify-determinism", folder.string(), "--write", path("digests.txt")}), 0);
    EXPECT_EQ(run({"verify-determinism", folder.string(), "--against", path("digests.txt")}), 0);
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        if (of.name == "beta") result.digest = 99;
        return result;
    };
    EXPECT_EQ(run({"verify-determinism", folder.string(), "--against", path("digests.txt"), "--once"}), 5);
    EXPECT_EQ(run({"verify-determinism", folder.string(), "--write", path("once.txt"), "--once"}), 0);
    EXPECT_EQ(run({"verify-determinism", folder.string(), "--once"}), 2) << "there is nothing to compare with";
    EXPECT_EQ(run({"verify-determinism", folder.string(), "--against", path("digests.txt")}), 5);
    EXPECT_THAT(out.str(), HasSubstr("DIFFERENT beta seed 1"));
    EXPECT_THAT(out.str(), HasSubstr(fmt::format("    lockstep run {} --seed 1 --recorded-by {} --trace trace.jsonl\n",
                                                 path("b.json"), kVersion)));
    EXPECT_EQ(run({"verify-determinism", path("a.json"), "--seeds", "2", "--against", path("digests.txt")}), 2)
        << "one of them is not in the file";
    EXPECT_EQ(run({"verify-determinism", folder.string(), "--against", path("a.json")}), 2) << "no digests";
}

TEST(Selection, ReplayLinesSurviveTheShell) {
    Scenario scenario;
    scenario.file = "my scenarios/it's.json";
    SelectionArgs args;
    args.overrides = {"name=a b"};
    EXPECT_EQ(replay_command(scenario, 3, args, "0.1.0+abc.dirty"),
              "lockstep run 'my scenarios/it'\\''s.json' --seed 3 --set 'name=a b' --recorded-by 0.1.0+abc.dirty");
}

TEST(Presenter, DurationsReadWell) {
    EXPECT_EQ(human_duration(999), "999ms");
    EXPECT_EQ(human_duration(1'500), "1.5s");
    EXPECT_EQ(human_duration(61'000), "1m01s");
    EXPECT_EQ(human_duration(7'500'000), "2h05m");
}

TEST_F(Cli, CoverageFailsWhereATableLetsExpectMore) {
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        result.history = std::make_shared<History>();
        result.passed = seed != 5;
        return result;
    };
    EXPECT_EQ(run({"coverage", "--seeds", "20", "--data-loss", "--markdown", path("table.md")}), 1)
        << "these runs make no calls";
    EXPECT_THAT(out.str(), HasSubstr("draw 5 failed: lockstep explore --first 5 --seeds 1\n"
                                     "draw 5 failed: lockstep explore --first 5 --seeds 1 --data-loss\n"));
    std::string table = content("table.md");
    EXPECT_THAT(table, HasSubstr("Draws without loss of data: 20\nDraws with loss of data: 20\n"));
    const std::string row = "| `circuit_open` | 0 | 0 |";
    ASSERT_NE(table.find(row), std::string::npos);
    write("table.md", table.replace(table.find(row), row.size(), "| `circuit_open` | 6 | 5 |"));
    EXPECT_EQ(run({"coverage", "--seeds", "20", "--data-loss", "--against", path("table.md")}), 1);
    EXPECT_THAT(out.str(), HasSubstr("`circuit_open`: none of 40 draws has reached it, of the table's 40 it was 11"));
    EXPECT_NE(run({"coverage", "--seeds", "20", "--against", path("table.md")}), 2);
    EXPECT_THAT(out.str(), Not(HasSubstr("`circuit_open`"))) << "six are too few to count on";
}

TEST_F(Cli, OutputsHoldsTheRegister) {
    const std::vector<std::string> args{"outputs", path("a.json"), "--draws", "0", "--write", path("register.txt")};
    EXPECT_EQ(run(args), 4) << "no run has an output";
    runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        if (options.outputs)
            result.outputs = {{"dlq:entry:* reason_code", {.count = 1, .values = {"timeout"}}},
                              {"job:meta:* mood", {.count = 1, .values = {"good"}}}};
        result.corrupted = options.corruption != nullptr ? 1 : 0;
        return result;
    };
    EXPECT_EQ(run(args), 1);
    EXPECT_THAT(out.str(), HasSubstr("job:meta:* mood is in no entry of the register"));
    EXPECT_THAT(out.str(), HasSubstr("nobody notices when dlq:entry:* reason_code is changed"));
    EXPECT_THAT(text_of_file(path("register.txt")).value_or(""), HasSubstr("job:meta:* mood\tchanged=- dropped=-"));
    out.str("");
    EXPECT_EQ(run({"outputs", path("a.json"), "--draws", "0"}), 1) << "what fails is not left out";
    EXPECT_THAT(out.str(), HasSubstr("nobody notices when dlq:entry:* reason_code is changed"));
    EXPECT_EQ(run({"outputs", path("a.json"), "--share", "4", "--shares", "4"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("there is no share 4 of 4"));
}

TEST_F(Cli, CoverageNamesATableThatIsNone) {
    EXPECT_EQ(run({"coverage", "--against", path("nowhere.md")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("nowhere.md cannot be read"));
    EXPECT_EQ(run({"coverage", "--against", path("a.json")}), 2);
    EXPECT_THAT(err.str(), HasSubstr("is no table of `lockstep coverage --markdown`"));
}

}  // namespace
}  // namespace lockstep::sim::cli
