// What lockstepctl says of a command line that it does not understand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <sstream>

#include "engine/testing/hostile_text.h"
#include "prod/ctl/parser.h"
#include "reports/usage/command_outline.h"

namespace lockstep::prod {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Said {
    int exit = 0;
    std::string text;
};

Said parsed(std::vector<const char*> words) {
    words.insert(words.begin(), "lockstepctl");
    ::testing::internal::CaptureStderr();
    Parser parser;
    const auto done = parser.parse(static_cast<int>(words.size()), words.data());
    return {done ? 0 : done.error(), ::testing::internal::GetCapturedStderr()};
}

// C11
TEST(CtlRefusal, NamesTheNearestOptionOfTheCommandOrTheProgram) {
    const Said own = parsed({"submit", "--topci", "job.sample"});
    EXPECT_EQ(own.exit, 2);
    EXPECT_EQ(
        own.text,
        "lockstepctl submit: --topci: no such option; did you mean \"--topic\"?\nSee lockstepctl submit --help.\n");
    EXPECT_THAT(parsed({"dlq", "list", "--limti", "5"}).text,
                StartsWith("lockstepctl dlq list: --limti: no such option; did you mean \"--limit\"?"));
    EXPECT_THAT(parsed({"workers", "--jsno"}).text, HasSubstr("--jsno: no such option; did you mean \"--json\"?"));
    EXPECT_THAT(parsed({"--nast", "x", "workers"}).text, HasSubstr("--nast: no such option; did you mean \"--nats\"?"));
    // What the command lacks because of the slip is not what is wrong with it.
    EXPECT_THAT(parsed({"dlq", "purge", "--al"}).text, HasSubstr("--al: no such option; did you mean \"--all\"?"));
}

// C11
TEST(CtlRefusal, NamesTheNearestCommandAtEachLevel) {
    const Said first = parsed({"sumbit", "--topic", "job.sample"});
    EXPECT_EQ(first.exit, 2);
    EXPECT_EQ(first.text,
              "lockstepctl: \"sumbit\": no such command; did you mean \"submit\"?\nSee lockstepctl --help.\n");
    EXPECT_THAT(parsed({"dlq", "lsit"}).text,
                StartsWith("lockstepctl dlq: \"lsit\": no such command; did you mean \"list\"?"));
    EXPECT_THAT(parsed({"dql", "list"}).text, HasSubstr("\"dql\": no such command; did you mean \"dlq\"?"));
    EXPECT_THAT(parsed({"workflow", "strat", "w"}).text, HasSubstr("did you mean \"start\"?"));
    EXPECT_THAT(parsed({"workers", "all"}).text, HasSubstr("\"all\": one word more than it takes"));
    EXPECT_THAT(parsed({"completion", "fisch"}).text, HasSubstr("there is no \"fisch\"; did you mean \"fish\"?"));
}

using Words = std::vector<std::string>;

/// A command line that gives `value` to one option of one command, and what the option is called.
struct Asked {
    Words words;
    std::string option;
};

/// For every option and argument of every command.
std::vector<Asked> asked_with(const std::string& value) {
    Parser parser;
    std::vector<Asked> all;
    for (const usage::OutlinedCommand& command : usage::outline_commands(parser.app())) {
        for (const usage::OutlinedOption& option : command.options) {
            if (!option.takes_value) continue;
            Asked one{command.path, option.names.empty() ? option.place : option.names.front()};
            if (!option.names.empty()) one.words.push_back(one.option);
            one.words.push_back(value);
            all.push_back(std::move(one));
        }
    }
    return all;
}

/// What ends the parse: nothing where the command line is taken.
std::optional<usage::Program::Ending> ending_of(const Words& words) {
    Parser parser;
    return static_cast<const usage::Program&>(parser.app()).parse(words);
}

RC_GTEST_PROP(CtlRefusal, AnyValueOfAnyOptionIsTakenOrRefusedWithASentence, ()) {
    std::string value = *engine::testing::hostile_text();
    value.resize(std::min(value.find('\0'), value.size()));  // as far as the system hands it over
    const auto all = asked_with(value);
    for (int i = 0; i < 5; ++i) {
        const Asked& asked = all[*rc::gen::inRange<std::size_t>(0, all.size())];
        const auto ending = ending_of(asked.words);
        if (ending && ending->code != 0) RC_ASSERT(ending->text.starts_with("lockstepctl"));
    }
}

TEST(CtlRefusal, WhatIsNotUtf8IsRefusedByTheNameOfItsOptionAndAPayloadIsAnyBytes) {
    const auto all = asked_with("k=\xff");
    EXPECT_GT(all.size(), 60U);
    for (const Asked& asked : all) {
        const auto ending = ending_of(asked.words);
        const bool bytes = asked.option.starts_with("--payload") || asked.option == "file" || asked.option == "--html";
        const std::string text = ending ? ending->text : "";
        EXPECT_EQ(text.find("expected UTF-8, and byte 3 is 0xff") == std::string::npos, bytes) << asked.option << text;
        if (!bytes) EXPECT_THAT(text, HasSubstr(asked.option));
    }
    EXPECT_FALSE(ending_of({"submit", "--payload", "caf\xe9"}));
}

TEST(CtlRefusal, IdsOfStepsAreKeptForWorkflowRuns) {
    for (const Words& words : {Words{"submit", "--id", "R1:gate@1"}, Words{"submit", "--id", " r:a[2].b@0 "},
                               Words{"submit", "--id", "r:s@", "--count", "2"}}) {
        const auto ending = ending_of(words);
        ASSERT_TRUE(ending) << words[2];
        EXPECT_THAT(ending->text, HasSubstr("has the form RUN:STEP@ATTEMPT")) << words[2];
    }
    for (const char* id : {"R1:gate", "gate@1", ":gate@1", "R1:@1", "R1:gate@1-again", "R1:gate@x"})
        EXPECT_FALSE(ending_of({"submit", "--id", id})) << id;
}

TEST(CtlRefusal, IdentifiersAreTrimmedAndNeitherBlankNorLongerThanAMessageMayHave) {
    const std::string long_name(1025, 'x');
    for (const char* option : {"--id", "--topic", "--tenant", "--idempotency-key", "--principal", "--requires"}) {
        EXPECT_THAT(ending_of({"submit", option, " \t"})->text,
                    HasSubstr(std::string(option) + ": expected more than blanks"));
        EXPECT_THAT(ending_of({"submit", option, long_name})->text, HasSubstr("expected at most 1024 bytes, got 1025"));
    }
    EXPECT_THAT(ending_of({"submit", "--label", " =x"})->text,
                HasSubstr("--label: expected more than blanks before the ="));
    EXPECT_THAT(ending_of({"status", "  "})->text, HasSubstr("job: expected more than blanks"));
    EXPECT_FALSE(ending_of({"submit", "--id", " j ", "--label", " k = v "}));
    for (const char* rate : {"nan", "-1", "inf", "1e300"})
        EXPECT_THAT(ending_of({"submit", "--rate", rate})->text,
                    HasSubstr("--rate: expected a number from 0 to 1000000"));
    EXPECT_THAT(ending_of({"submit", "--deadline", "600000h600000h600000h600000h600000h"})->text,
                HasSubstr("--deadline: expected at most ten years"));
}

}  // namespace
}  // namespace lockstep::prod
