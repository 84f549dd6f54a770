#include "engine/store/script_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "engine/runtime/invariant.h"
#include "engine/store/scripts.h"

namespace lockstep::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

TEST(ScriptArguments, AreCountedNamedAndFollowedByWhatComesInOrder) {
    ScriptArguments arguments;
    arguments.text("job", "j1")
        .duration("wait_ms", std::chrono::seconds{2})
        .number("add_attempts", -3)
        .flag("release_lock", true);
    EXPECT_THAT(
        std::move(arguments).argv({"field", ""}),
        ElementsAre("4", "job", "j1", "wait_ms", "2000", "add_attempts", "-3", "release_lock", "1", "field", ""));
}

TEST(ScriptArguments, WhatSaysNothingIsNotGivenUnlessZeroSaysSomething) {
    ScriptArguments arguments;
    arguments.text("job", "").duration("wait_ms", Duration{0}).number("add_attempts", 0).flag("release_lock", false);
    arguments.number_or_zero("tenant_limit", 0).duration_or_zero("limit_delay_ms", Duration{0});
    EXPECT_THAT(std::move(arguments).argv(), ElementsAre("2", "tenant_limit", "0", "limit_delay_ms", "0"));
}

// A name that only one side knows would be left out in silence: by the call, or by the script.
TEST(ScriptArguments, TheScriptsReadTheseNamesAndNoOthers) {
    const StoreScripts scripts;
    std::set<std::string> read;
    for (const RedisScript* script :
         {&scripts.take_up, &scripts.take_lock, &scripts.commit, &scripts.saga_next, &scripts.hand_on}) {
        const std::string text(script->text());
        const std::regex name(R"(\bargs\.([a-z_]+))");
        for (std::sregex_iterator found(text.begin(), text.end(), name), end; found != end; ++found)
            read.insert((*found)[1].str());
    }
    EXPECT_THAT(read, UnorderedElementsAreArray(kScriptArguments));
}

}  // namespace
}  // namespace lockstep::engine
