#include "engine/workflow/run_scripts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

namespace lockstep::engine {
namespace {

using ::testing::UnorderedElementsAreArray;

// A name that only one side knows would be left out in silence: by the call, or by the script.
TEST(RunScripts, ReadTheNamesOfTheListAndNoOthers) {
    const RunScripts scripts;
    std::set<std::string> read;
    for (const RedisScript* script : {&scripts.take_run, &scripts.commit_run}) {
        const std::string text(script->text());
        const std::regex name(R"(\bargs\.([a-z_0-9]+))");
        for (std::sregex_iterator found(text.begin(), text.end(), name), end; found != end; ++found)
            read.insert((*found)[1].str());
    }
    EXPECT_THAT(read, UnorderedElementsAreArray(kRunScriptArguments));
    EXPECT_TRUE(std::ranges::is_sorted(kRunScriptArguments)) << "they are looked up by bisection";
}

}  // namespace
}  // namespace lockstep::engine
