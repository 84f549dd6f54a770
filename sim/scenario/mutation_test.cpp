// Whatever stands in a scenario file, the loader answers: with a scenario or with errors that have a place.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/scenario/loader.h"
#include "sim/scenario/scenario_test_text.h"

namespace lockstep::sim {
namespace {

using nlohmann::json;

void must_answer(const std::string& text, const std::string& what) {
    const auto scenario = parse_scenario(text, "test.json");
    if (scenario) return;
    EXPECT_FALSE(scenario.error().empty()) << what;
    for (const LoadError& error : scenario.error()) EXPECT_FALSE(error.expected.empty()) << what;
}

TEST(Mutation, EveryValueOfTheExampleMayBeReplacedByAnyOther) {
    const json original = json::parse(kManualExample, nullptr, true, true);
    const std::vector<json> others{json::array(),
                                   json::object(),
                                   nullptr,
                                   -1,
                                   0,
                                   1e300,
                                   18446744073709551615ULL,
                                   true,
                                   "",
                                   "x",
                                   "1s",
                                   "*",
                                   json::array({nullptr}),
                                   json::object({{"", 1}})};
    const json flat = original.flatten();
    for (const auto& [leaf, value] : flat.items()) {
        // The leaf and every container around it.
        for (json::json_pointer at(leaf); !at.empty(); at.pop_back()) {
            for (const json& other : others) {
                json mutated = original;
                mutated[at] = other;
                must_answer(mutated.dump(), at.to_string() + " = " + other.dump());
            }
        }
    }
}

TEST(Mutation, EveryMemberOfTheExampleMayBeMissing) {
    const json original = json::parse(kManualExample, nullptr, true, true);
    const json flat = original.flatten();
    for (const auto& [leaf, value] : flat.items()) {
        const json::json_pointer at(leaf);
        json mutated = original;
        json& parent = mutated[at.parent_pointer()];
        if (parent.is_object())
            parent.erase(at.back());
        else
            parent.erase(parent.begin());
        must_answer(mutated.dump(), "without " + leaf);
    }
}

RC_GTEST_PROP(Mutation, TextThatIsCutOrScrambledIsAnswered, ()) {
    std::string text(kManualExample);
    const auto edits = *rc::gen::inRange(1, 5);
    for (int i = 0; i < edits; ++i) {
        const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
        switch (*rc::gen::inRange(0, 3)) {
            case 0: text[at] = *rc::gen::arbitrary<char>(); break;
            case 1: text.erase(at, *rc::gen::inRange<std::size_t>(1, 20)); break;
            default:
                text.insert(at, *rc::gen::element<std::string>("{", "}", "[", "]", ",", "\"", "/*", "//", "\\", "\xff",
                                                               "null"));
                break;
        }
    }
    must_answer(text, text);
}

}  // namespace
}  // namespace lockstep::sim
