// What a comparison is written as, apart from its page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <set>

#include "reports/compare/comparison_csv.h"
#include "reports/compare/comparison_json.h"
#include "reports/compare/comparison_junit.h"
#include "reports/compare/comparison_markdown.h"
#include "reports/compare/test_comparison.h"

namespace lockstep::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A name that wants out of whatever it is put into.
const std::string kHostile = "<script>alert(1)</script> | \"a\", 'b' & ]]> \x01 \xff `c` \n# d {{{e}}}";

Comparison hostile_comparison() {
    Comparison out = small_comparison();
    out.title = out.question = out.variants[1].name = out.scenarios[0].name = out.measures[3].name = kHostile;
    out.measures[2].unit = out.command = out.commit = out.version = out.file = out.not_shared.emplace_back(kHostile);
    out.variants[1].settings[kHostile] = kHostile;
    out.faults[0].kind = out.distributions[0].measure = out.distributions[2].measure = kHostile;
    out.runs.back().passed = false;
    out.runs.back().problem = kHostile;
    return out;
}

std::string json_of(const Comparison& comparison) { return comparison_json(comparison, analyse(comparison)); }

TEST(ComparisonJson, IsReadBackAsItWas) {
    Comparison comparison = grid_comparison();
    comparison.criteria.limits["dead_letters"] = 0.1;
    comparison.not_shared = {"faults placed on events"};
    comparison.seeds.push_back(18446744073709551615ULL);
    comparison.faults = {{"crash", 1, 2.5}};
    const std::string text = json_of(comparison);
    const auto read = read_comparison(text, "a.json");
    ASSERT_TRUE(read.has_value()) << read.error();
    EXPECT_EQ(json_of(*read), text);
    EXPECT_EQ(read->runs.size(), comparison.runs.size());
    EXPECT_EQ(read->runs[7].values[0], comparison.runs[7].values[0]);
    EXPECT_TRUE(std::isnan(read->runs[0].values[5]));
}

TEST(ComparisonJson, HoldsWhatIsComputedOfTheRuns) {
    const auto document = nlohmann::json::parse(json_of(small_comparison()));
    EXPECT_EQ(document["verdict"]["take"], "default");
    EXPECT_EQ(document["verdict"]["sentences"].size(), 3U);
    EXPECT_EQ(document["effects"].size(), 7U);
    EXPECT_EQ(document["effects"][0]["is"], "worse");
    EXPECT_EQ(document["effects"][2]["is"], "better");
    EXPECT_EQ(document["effects"][3]["is"], "the same");
    EXPECT_EQ(document["effects"][5]["is"], "none");
    EXPECT_EQ(document["effects"][6]["is"], "changed");
    EXPECT_EQ(document["digest"].get<std::string>().size(), 16U);
}

TEST(ComparisonJson, NamesTheVersionOfItsSchemaAndThoseBeforeAreRead) {
    EXPECT_EQ(nlohmann::json::parse(json_of(small_comparison()))["schema_version"], kComparisonSchemaVersion);
    std::set<std::string> versions;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(LOCKSTEP_KEPT_COMPARISONS)) {
        if (!entry.is_regular_file()) continue;
        std::ifstream in(entry.path());
        const std::string text(std::istreambuf_iterator<char>(in), {});
        const auto read = read_comparison(text, entry.path().filename().string());
        ASSERT_TRUE(read) << read.error();
        EXPECT_EQ(nlohmann::json::parse(json_of(*read))["digest"], nlohmann::json::parse(text)["digest"])
            << entry.path();
        versions.insert(entry.path().parent_path().filename());
    }
    EXPECT_THAT(versions, ::testing::IsSupersetOf({std::string("1.0"), std::string(kComparisonSchemaVersion)}));
}

TEST(ComparisonJson, ForeignTextStaysAText) {
    const std::string text = json_of(hostile_comparison());
    const auto document = nlohmann::json::parse(text);
    EXPECT_THAT(document["title"].get<std::string>(), HasSubstr("<script>"));
    EXPECT_TRUE(read_comparison(text, "a.json").has_value());
}

TEST(ComparisonJson, WhatIsWrongWithADocumentIsSaidWithItsPlace) {
    auto document = nlohmann::json::parse(json_of(small_comparison()));
    const auto error_with = [&](const char* pointer, const nlohmann::json& value) {
        auto changed = document;
        changed[nlohmann::json::json_pointer(pointer)] = value;
        const auto read = read_comparison(changed.dump(), "old.json");
        return read ? std::string("read") : read.error();
    };
    EXPECT_THAT(error_with("/runs/3/variant", 2), HasSubstr("old.json/runs/3/variant: there is no variant 2"));
    EXPECT_THAT(error_with("/runs/3/seed", -1), HasSubstr("/runs/3/seed: expected a whole number"));
    EXPECT_THAT(error_with("/runs/3/digest", "xyz"), HasSubstr("16 hexadecimal digits"));
    EXPECT_THAT(error_with("/runs/3/values/0", "1"), HasSubstr("/runs/3/values/0: expected a number or null"));
    EXPECT_THAT(error_with("/measures/0/better", "up"), HasSubstr("expected \"lower\""));
    EXPECT_THAT(error_with("/format", 2), HasSubstr("format 2 is not known"));
    EXPECT_THAT(error_with("/seeds", 2), HasSubstr("/seeds: expected a list"));
    EXPECT_THAT(error_with("/distributions/0/points/0", {1}), HasSubstr("a value and a share"));
    document.erase("measures");
    EXPECT_THAT(read_comparison(document.dump(), "old.json").error(), HasSubstr("\"measures\" is missing"));
    EXPECT_THAT(read_comparison("{", "old.json").error(), HasSubstr("old.json: not a JSON document"));
    EXPECT_THAT(read_comparison("[]", "old.json").error(), HasSubstr("expected an object"));
}

TEST(ComparisonCsv, HasARowPerRunAndMeasure) {
    const Comparison comparison = small_comparison();
    const std::string csv = comparison_csv(comparison);
    EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), 1 + 2 * 30 * 7);
    EXPECT_THAT(csv, HasSubstr("default,pool_outage,5,00000000004c4b4f,true,recovery,ms,\n"))
        << "a run without the measure";
    EXPECT_THAT(csv, HasSubstr("patient,pool_outage,30,"));
    EXPECT_THAT(csv, HasSubstr(",jobs.succeeded,count,200\n"));
}

TEST(ComparisonCsv, ForeignTextStaysInItsField) {
    EXPECT_THAT(comparison_csv(hostile_comparison()),
                HasSubstr("\"<script>alert(1)</script> | \"\"a\"\", 'b' & ]]>  \xEF\xBF\xBD `c` \n# d {{{e}}}\","));
}

TEST(ComparisonMarkdown, SaysTheVerdictFirstAndHowToRepeatIt) {
    const Comparison comparison = small_comparison();
    const std::string text = comparison_markdown(comparison, analyse(comparison));
    EXPECT_LT(text.find("**Keep \"default\""), text.find("| measure |"));
    EXPECT_THAT(text, HasSubstr("    lockstep compare scenarios/compare/backoff.json --seeds 30\n"));
    EXPECT_THAT(text, HasSubstr("redis.commands\\_per\\_job"));
}

TEST(ComparisonMarkdown, ForeignTextCannotBreakOut) {
    const Comparison comparison = hostile_comparison();
    const std::string text = comparison_markdown(comparison, analyse(comparison));
    EXPECT_THAT(text, Not(HasSubstr("\n# d"))) << "a heading of its own";
    // In a block of code the command stands as it is.
    EXPECT_EQ(text.find("<script>"), text.find("    <script>") + 4);
    EXPECT_EQ(text.find("<script>"), text.rfind("<script>"));
}

TEST(ComparisonMarkdown, FitsAStepSummaryAndAComment) {
    Comparison comparison = small_comparison();
    for (int i = 0; i < 400; ++i) {
        comparison.variants.push_back(comparison.variants[1]);
        comparison.variants.back().name += std::string(400, 'x') + std::to_string(i);
    }
    const Analysis analysis = analyse(comparison);
    for (const std::size_t bytes : {kSummaryBytesMax, kCommentBytesMax, std::size_t{3000}}) {
        const std::string text = comparison_markdown(comparison, analysis, bytes);
        EXPECT_LE(text.size(), bytes);
        EXPECT_THAT(text, HasSubstr("To repeat it"));
        EXPECT_EQ(text.find("left out to fit") != std::string::npos, bytes < kSummaryBytesMax) << bytes;
    }
}

pugi::xml_document parsed(const std::string& text) {
    pugi::xml_document document;
    EXPECT_TRUE(document.load_string(text.c_str()));
    return document;
}

TEST(ComparisonJunit, ALimitIsACaseThatHoldsOrDoesNot) {
    Comparison comparison = small_comparison();
    comparison.criteria.limits = {
        {"submit_to_terminal.p99", 0.05}, {"herd.peak", 0.5}, {"recovery", 0.001}, {"nothing", 1}};
    const auto document = parsed(comparison_junit(comparison, analyse(comparison)));
    const auto suite = document.select_node("//testsuite[@name='patient']").node();
    EXPECT_EQ(suite.attribute("tests").as_int(), 5);
    EXPECT_EQ(suite.attribute("failures").as_int(), 2);
    EXPECT_EQ(suite.attribute("errors").as_int(), 1);
    EXPECT_TRUE(document.select_node("//testcase[starts-with(@name, 'submit_to')]/failure[@type='limit']"));
    EXPECT_TRUE(document.select_node("//testcase[starts-with(@name, 'recovery')]/failure[@type='unsettled']"));
    EXPECT_TRUE(document.select_node("//testcase[starts-with(@name, 'nothing')]/error"));
    EXPECT_FALSE(document.select_node("//testcase[starts-with(@name, 'herd')]/*"));
}

TEST(ComparisonJunit, AFailedRunIsAFailureAndAMissingOneAnError) {
    Comparison comparison = hostile_comparison();
    comparison.complete = false;
    const auto document = parsed(comparison_junit(comparison, analyse(comparison)));
    EXPECT_EQ(document.child("testsuites").attribute("failures").as_int(), 1);
    EXPECT_EQ(document.child("testsuites").attribute("errors").as_int(), 1);
}

}  // namespace
}  // namespace lockstep::reports
