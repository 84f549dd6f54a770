#include "fakes/policy/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep::fakes::policy {
namespace {

/// What the pattern finds, as text; or the reason why it was refused.
std::vector<std::string> found(std::string_view pattern, std::string_view content) {
    const auto compiled = Pattern::compile(pattern);
    if (!compiled) return {"refused: " + compiled.error()};
    std::vector<std::string> texts;
    std::uint64_t budget = Pattern::kBudget;
    const auto spans = compiled->find_all(content, budget);
    if (!spans) return {"given up"};
    for (const auto& [offset, length] : *spans) texts.emplace_back(content.substr(offset, length));
    return texts;
}

using Texts = std::vector<std::string>;

// An alternative that looks for the end again and again is quadratic, and one that is written out has thousands of threads.
TEST(Pattern, GivesUpWhereTheContentWouldTakeForEver) {
    const std::string content(2 * 1024 * 1024, 'a');
    EXPECT_EQ(found("a.*b|a", content), Texts{"given up"});
    EXPECT_EQ(found("(?:[a-z]?){200}[0-9]", content), Texts{"given up"});
    EXPECT_THAT(found("b", content), ::testing::IsEmpty());
    EXPECT_THAT(found("\\b[a-z]+@[a-z]+", content), ::testing::IsEmpty()) << "ordinary ones do not";
}

TEST(Pattern, FindsEveryMatchFromLeftToRight) {
    EXPECT_EQ(found("a+", "caat a"), (Texts{"aa", "a"}));
    EXPECT_EQ(found("x", "abc"), Texts{});
    EXPECT_EQ(found("ab", "xxabyyab"), (Texts{"ab", "ab"}));
}

TEST(Pattern, PrefersTheFirstAlternativeAndTheGreedyOrLazyQuantifier) {
    EXPECT_EQ(found("a|ab", "ab"), Texts{"a"});
    EXPECT_EQ(found("ab|a", "ab"), Texts{"ab"});
    EXPECT_EQ(found("<.*>", "<a><b>"), Texts{"<a><b>"});
    EXPECT_EQ(found("<.*?>", "<a><b>"), (Texts{"<a>", "<b>"}));
    EXPECT_EQ(found("(?:cat|dog)s?", "dogs cat"), (Texts{"dogs", "cat"}));
}

TEST(Pattern, CountsRepetitions) {
    EXPECT_EQ(found("\\d{3}-\\d{2}-\\d{4}", "ssn 123-45-6789."), Texts{"123-45-6789"});
    EXPECT_EQ(found("a{2,3}", "a aa aaaa"), (Texts{"aa", "aaa"}));
    EXPECT_EQ(found("a{2,}", "a aaaa"), Texts{"aaaa"});
    EXPECT_EQ(found("a{0,2}b", "aaab b"), (Texts{"aab", "b"}));
    EXPECT_EQ(found("x{y}", "x{y}"), Texts{"x{y}"});
    EXPECT_EQ(found("(?:ab|)*", "abab"), Texts{"abab"});
    EXPECT_EQ(found("(?:|ab)*", "ab"), Texts{}) << "what can be empty is, where that is preferred";
}

TEST(Pattern, KnowsSetsClassesAndEscapes) {
    EXPECT_EQ(found("[a-c]+", "xabcx"), Texts{"abc"});
    EXPECT_EQ(found("[^a-c]+", "abxyc"), Texts{"xy"});
    EXPECT_EQ(found("[]x]+", "a]x"), Texts{"]x"});
    EXPECT_EQ(found("[\\w.-]+@[\\w-]+", "to me.x-1@host!"), Texts{"me.x-1@host"});
    EXPECT_EQ(found("\\x41\\.", "A. AB"), Texts{"A."});
    EXPECT_EQ(found("a.c", "a\nc abc"), Texts{"abc"});
    EXPECT_EQ(found("[a-]+", "-a-"), Texts{"-a-"});
}

TEST(Pattern, KnowsAnchorsAndWordEdges) {
    EXPECT_EQ(found("^a", "aa"), Texts{"a"});
    EXPECT_EQ(found("a$", "aa"), Texts{"a"});
    EXPECT_EQ(found("\\bcat\\b", "concat cat"), Texts{"cat"});
    EXPECT_EQ(found("\\Bcat", "concat cat"), Texts{"cat"});
    EXPECT_EQ(found("(?m)^b$", "a\nb\nc"), Texts{"b"});
}

TEST(Pattern, FlagsLastToTheEndOfTheirGroup) {
    EXPECT_EQ(found("(?i)secret", "SeCrEt"), Texts{"SeCrEt"});
    EXPECT_EQ(found("(?i:a)b", "Ab AB"), Texts{"Ab"});
    EXPECT_EQ(found("((?i)a)b", "Ab AB"), Texts{"Ab"});
    EXPECT_EQ(found("(?s)a.c", "a\nc"), Texts{"a\nc"});
    EXPECT_EQ(found("(?i)[k-m]+", "xKLMx"), Texts{"KLM"});
}

TEST(Pattern, EmptyMatchesAreNotReported) {
    EXPECT_EQ(found("a*", "baab"), Texts{"aa"});
    EXPECT_EQ(found("(a?)*", "baab"), Texts{"aa"});
    EXPECT_EQ(found("$", "abc"), Texts{});
}

TEST(Pattern, RefusesWhatThePolicyForbids) {
    const auto refused = [](std::string_view pattern) { return !Pattern::compile(pattern).has_value(); };
    EXPECT_TRUE(refused(""));
    EXPECT_TRUE(refused(std::string(257, 'a')));
    EXPECT_FALSE(refused("a|b|c|d|e|f"));
    EXPECT_TRUE(refused("a|b|c|d|e|f|g"));
    EXPECT_TRUE(refused("(a+)+"));
    EXPECT_TRUE(refused("(?:a*b)*"));
    EXPECT_TRUE(refused("a**"));
    EXPECT_FALSE(refused("(?:a+b){3}"));
}

TEST(Pattern, RefusesWhatIsMalformedOrUnknown) {
    for (const char* pattern :
         {"(a",    "a)",       "[a",      "*a",         "a{1001}",         "a{3,2}", "\\q",
          "(?=a)", "(?<a)",    "(a)\\1",  "a\\",        "[[:alpha:]]",     "[b-a]",  "(?:(?:a{100}){100}){100}",
          "\\x4",  "a{2}{2}",  "a?+",     "{2}",        "a|{1,}",          "(?i)*a", "a(?m)+",
          "(?-)a", "(?i--s)a", "(?P<>a)", "(?P<a-b>a)", "(?P<a>x)(?P<a>y)"}) {
        EXPECT_FALSE(Pattern::compile(pattern).has_value()) << pattern;
    }
}

TEST(Pattern, AnErrorNamesThePlace) { EXPECT_EQ(Pattern::compile("ab\\q").error(), "an unknown escape (at 4)"); }

TEST(Pattern, LongContentCostsLinearTimeAndNoStack) {
    std::string content(2'000'000, 'a');
    EXPECT_EQ(found("(?:a?){5}b", content), Texts{});
    content += 'b';
    EXPECT_EQ(found("a+b", content).size(), 1u);
}

}  // namespace
}  // namespace lockstep::fakes::policy
