// What is left of the reports when the code under test crashes, when a run is interrupted, and when the process is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <pugixml.hpp>

#include "sim/cli/cli_fixture.h"
#include "sim/cli/crash_note.h"

namespace lockstep::sim::cli {
namespace {

using testing::Cli;
using ::testing::HasSubstr;
using ::testing::StartsWith;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LOCKSTEP_CRASHES_ARE_THE_SANITIZERS 1
#endif
#endif

/// Sanitizers keep the signals to themselves and end the process in their own way.
bool crashes_can_be_made() {
#if defined(LOCKSTEP_CRASHES_ARE_THE_SANITIZERS)
    return false;
#else
    return true;
#endif
}

/// The crash happens in a child: a command that ends the process cannot be called as a function.
class CrashReport : public Cli {
protected:
    CrashReport() {
        GTEST_FLAG_SET(death_test_style, "fast");
        keep_in_crash = cli::keep_in_crash;
        runner = [](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
            if (seed == 9) ::raise(SIGSEGV);
            return seed == 8 ? bad(of, seed, options) : good(of, seed, options);
        };
    }

    /// Runs it as `main` would.
    void crash(const std::vector<std::string>& args) {
        EXPECT_EXIT(
            {
                install_crash_handlers();
                (void)run(args);
            },
            ::testing::ExitedWithCode(3), "killed by SIGSEGV");
    }
    [[nodiscard]] pugi::xml_document junit() const {
        pugi::xml_document document;
        EXPECT_TRUE(document.load_string(content("out.xml").c_str())) << content("out.xml");
        return document;
    }
};

std::vector<pugi::xml_node> cases_of(const pugi::xml_document& document) {
    std::vector<pugi::xml_node> cases;
    for (const pugi::xml_node suite : document.child("testsuites").children("testsuite"))
        for (const pugi::xml_node test : suite.children("testcase")) cases.push_back(test);
    return cases;
}

TEST_F(CrashReport, JUnitNamesTheCrashBesideTheRunsBeforeIt) {
    if (!crashes_can_be_made()) GTEST_SKIP();
    crash({"run", path("a.json"), "--seeds", "5", "-j", "1", "--junit", path("out.xml")});
    const auto document = junit();
    const auto cases = cases_of(document);
    ASSERT_EQ(cases.size(), 3U);
    EXPECT_FALSE(cases[0].child("failure"));
    EXPECT_STREQ(cases[1].child("failure").attribute("type").value(), "no_lost_job");
    const pugi::xml_node crash = cases[2].child("error");
    EXPECT_STREQ(cases[2].attribute("classname").value(), "alpha");
    EXPECT_STREQ(cases[2].attribute("name").value(), "seed 9");
    EXPECT_STREQ(crash.attribute("type").value(), "crash");
    EXPECT_STREQ(crash.attribute("message").value(), "the process was killed by SIGSEGV in this run");
    EXPECT_THAT(crash.text().get(), HasSubstr("replay: lockstep run " + path("a.json") + " --seed 9 --recorded-by "));
    EXPECT_FALSE(std::filesystem::exists(path("out.xml.partial")));
}

TEST_F(CrashReport, JsonNamesTheCrashBesideTheRunsBeforeIt) {
    if (!crashes_can_be_made()) GTEST_SKIP();
    crash({"run", path("a.json"), "--seeds", "5", "-j", "1", "--json", path("out.json")});
    const auto document = nlohmann::json::parse(content("out.json"));
    EXPECT_EQ(document["version"], 1);
    EXPECT_EQ(document["complete"], false);
    EXPECT_EQ(document["passed"], 1);
    EXPECT_EQ(document["failed"], 2);
    ASSERT_EQ(document["results"].size(), 3U);
    const auto& crashed = document["results"][2];
    EXPECT_EQ(crashed["seed"], 9);
    EXPECT_EQ(crashed["crashed"], true);
    EXPECT_EQ(crashed["passed"], false);
    EXPECT_EQ(crashed["error"], "the process was killed by SIGSEGV in this run");
    EXPECT_THAT(crashed["replay"].get<std::string>(), StartsWith("lockstep run " + path("a.json") + " --seed 9"));
}

TEST_F(CrashReport, TheRunIsNamedThatTheCrashingThreadMade) {
    if (!crashes_can_be_made()) GTEST_SKIP();
    crash({"run", path("a.json"), "--seeds", "5", "-j", "3", "--junit", path("out.xml")});
    const auto document = junit();
    const auto cases = cases_of(document);
    const auto crashed =
        std::ranges::find_if(cases, [](pugi::xml_node test) { return test.child("error") != nullptr; });
    ASSERT_NE(crashed, cases.end());
    EXPECT_STREQ(crashed->attribute("name").value(), "seed 9");
}

TEST_F(CrashReport, CiIsToldToo) {
    if (!crashes_can_be_made()) GTEST_SKIP();
    step_summary = path("summary.md");
    crash({"run", path("a.json"), "--seeds", "5", "-j", "1"});
    EXPECT_THAT(content("summary.md"), StartsWith("### lockstep run: CRASHED\n"));
    EXPECT_THAT(content("summary.md"), HasSubstr("the process was killed by SIGSEGV in this run"));
    EXPECT_THAT(content("summary.md"), HasSubstr("--seed 9"));
}

TEST_F(CrashReport, StandardOutputIsADocumentThatNamesTheCrash) {
    if (!crashes_can_be_made()) GTEST_SKIP();
    const std::string said = path("said.json");
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {"run", path("a.json"), "--seeds", "5", "-j", "1", "--json"},
             {"verify-determinism", path("a.json"), "--seeds", "5", "-j", "1", "--json"},
             {"explore", "--first", "9", "--seeds", "1", "-j", "1", "--out", path("out"), "--json"},
             {"explain", path("a.json"), "--seed", "9", "--json"}}) {
        EXPECT_EXIT(
            {
                install_crash_handlers();
                if (std::freopen(said.c_str(), "wb", stdout) != nullptr) (void)run(args);
            },
            ::testing::ExitedWithCode(3), "killed by SIGSEGV");
        const auto document = nlohmann::json::parse(content("said.json"), nullptr, false);
        ASSERT_FALSE(document.is_discarded()) << args[0] << content("said.json");
        EXPECT_EQ(document["complete"], false) << args[0];
        EXPECT_EQ(document["results"].back()["crashed"], true) << args[0];
        EXPECT_EQ(document["results"].back()["seed"], 9) << args[0];
    }
}

TEST_F(CrashReport, AKillThatNobodyHearsOfLeavesFilesThatCallThemselvesIncomplete) {
    std::string xml;
    std::string doc;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        xml = content("out.xml");
        doc = content("out.json");
        return good(of, seed, options);
    };
    write("out.xml", "of a run before");
    EXPECT_EQ(run({"run", path("a.json"), "--junit", path("out.xml"), "--json", path("out.json")}), 0) << err.str();
    pugi::xml_document meanwhile;
    ASSERT_TRUE(meanwhile.load_string(xml.c_str())) << xml;
    EXPECT_EQ(meanwhile.child("testsuites").attribute("errors").as_int(), 1);
    EXPECT_EQ(nlohmann::json::parse(doc)["complete"], false);
    EXPECT_EQ(junit().child("testsuites").attribute("errors").as_int(), 0);
    EXPECT_EQ(nlohmann::json::parse(content("out.json"))["complete"], true);
    EXPECT_FALSE(std::filesystem::exists(path("out.xml.partial")));
    EXPECT_FALSE(std::filesystem::exists(path("out.json.partial")));
}

TEST_F(CrashReport, AnInterruptedRunIsAnErrorAndNoSuccess) {
    runner = [this](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        stop = seed == 8;
        RunResult result = good(of, seed, options);
        result.interrupted = seed == 8;
        return result;
    };
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "10", "-j", "1", "--junit", path("out.xml"), "--json",
                   path("out.json")}),
              130);
    const auto document = junit();
    EXPECT_EQ(document.child("testsuites").attribute("errors").as_int(), 1);
    EXPECT_EQ(document.child("testsuites").attribute("tests").as_int(), 2);
    const auto incomplete = cases_of(document).back().child("error");
    EXPECT_STREQ(incomplete.attribute("type").value(), "incomplete");
    EXPECT_STREQ(incomplete.attribute("message").value(), "interrupted: 1 of 10 runs were made to their end");
    const auto json = nlohmann::json::parse(content("out.json"));
    EXPECT_EQ(json["complete"], false);
    EXPECT_EQ(json["incomplete"], "interrupted: 1 of 10 runs were made to their end");
}

}  // namespace
}  // namespace lockstep::sim::cli
