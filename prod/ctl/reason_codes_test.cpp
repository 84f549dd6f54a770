// X5: every code has its place, and what is printed leads there.
#include "prod/ctl/reason_codes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "engine/wire/error_codes.h"
#include "engine/wire/messages.h"
#include "prod/ctl/test_output_schema.h"
#include "prod/ctl/waiting.h"

namespace lockstep::prod {
namespace {

const std::filesystem::path kRoot = LOCKSTEP_SOURCE_FOLDER;

std::string content_of(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::set<std::string> found_in(const std::string& text, const char* pattern) {
    const std::regex wanted(pattern);
    std::set<std::string> words;
    for (auto it = std::sregex_iterator(text.begin(), text.end(), wanted); it != std::sregex_iterator(); ++it)
        words.insert((*it)[1]);
    return words;
}

/// The engine's sources without their tests, one after the other.
std::string engine_sources() {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "engine")) {
        const std::string name = entry.path().filename().string();
        if ((name.ends_with(".cpp") || name.ends_with(".h")) && name.find("test") == std::string::npos)
            all += content_of(entry.path());
    }
    return all;
}

/// The codes of the table in wire.md 8.2.
std::set<std::string> documented() {
    const std::string page = content_of(kRoot / "engine/wire/wire.md");
    const auto from = page.find("| code | of |");
    std::string first_cells;
    std::istringstream rows(page.substr(from, page.find("\n\n", from) - from));
    for (std::string row; std::getline(rows, row);) first_cells += row.substr(0, row.find('|', 1));
    return found_in(first_cells, "`([a-z_]+)`");
}

TEST(ReasonCodes, ThoseOfTheProtocolAndThoseWithANumberAreAllExplained) {
    const auto of_protocol = documented();
    EXPECT_GT(of_protocol.size(), 15U);
    for (const auto& code : of_protocol) EXPECT_NE(find_reason_code(code), nullptr) << code;
    const auto numbered = found_in(content_of(kRoot / "engine/wire/error_codes.cpp"), "word == \"([a-z_]+)\"");
    EXPECT_GT(numbered.size(), 4U);
    for (const auto& code : numbered) {
        EXPECT_NE(engine::wire::error_code_of(code), engine::wire::error_code_of("")) << code;
        EXPECT_NE(find_reason_code(code), nullptr) << code;
    }
}

TEST(ReasonCodes, WhatIsSaidToBeOursIsWrittenByTheEngineAndDocumented) {
    const auto of_protocol = documented();
    const auto literals = found_in(engine_sources(), "\"([a-z_]+)\"");
    std::set<std::string_view> seen;
    for (const ReasonCode& one : reason_codes()) {
        EXPECT_TRUE(seen.insert(one.code).second) << one.code << " twice";
        EXPECT_TRUE(!one.ours || literals.contains(std::string(one.code))) << one.code;
        EXPECT_TRUE(!one.ours || of_protocol.contains(std::string(one.code))) << one.code;
        EXPECT_FALSE(one.says.empty() || one.mend.empty()) << one.code;
    }
}

TEST(ReasonCodes, ArePrintedAsThePageHasThem) {
    EXPECT_EQ(content_of(kRoot / "prod/deploy/dead_letters.md"), reason_codes_page())
        << "write it anew: lockstepctl dlq reasons > prod/deploy/dead_letters.md";
    EXPECT_EQ(testing::misfits(LOCKSTEP_OUTPUT_SCHEMA, "dlq reasons", reason_codes_json()), "");
}

TEST(ReasonCodes, AnExplanationNamesAPlaceThatIsThere) {
    const std::string page = reason_codes_page();
    for (const ReasonCode& one : reason_codes()) {
        const auto anchors = found_in(explain_reason_code(one.code), "dead_letters\\.md#([a-z_]+)");
        ASSERT_EQ(anchors.size(), 1U) << one.code;
        EXPECT_NE(page.find("\n## " + *anchors.begin() + "\n"), std::string::npos) << one.code;
    }
    EXPECT_NE(explain_reason_code("out_of_paper").find("out_of_paper: a code of whoever reported"), std::string::npos);
}

TEST(ReasonCodes, WhyNamesTheLetterOfAJobThatEndedBadly) {
    const auto hint_for = [](const char* state) {
        JobOnFile job;
        job.job = "j";
        job.fields = {{"state", state}};
        return why_it_waits(job, {}).hint;
    };
    for (const char* badly : {"FAILED", "DENIED", "TIMEOUT", "OUTPUT_QUARANTINED"})
        EXPECT_NE(hint_for(badly).find("lockstepctl dlq show j"), std::string::npos) << badly;
    EXPECT_EQ(hint_for("SUCCEEDED"), "");
    EXPECT_EQ(hint_for("CANCELLED"), "");
}

}  // namespace
}  // namespace lockstep::prod
