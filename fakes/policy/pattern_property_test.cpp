// Pattern beside RE2, whose dialect it takes: what compiles here compiles there, and both find the same in every content.
#include "fakes/policy/pattern.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <re2/re2.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::fakes::policy {
namespace {

using Spans = std::vector<std::pair<std::size_t, std::size_t>>;

/// Bytes, not characters, and nothing to be said about what does not compile.
RE2::Options options() {
    RE2::Options options(RE2::Latin1);
    options.set_log_errors(false);
    return options;
}

Spans found_by_re2(const RE2& pattern, std::string_view content) {
    Spans spans;
    const re2::StringPiece text(content.data(), content.size());
    for (std::size_t from = 0; from <= content.size();) {
        re2::StringPiece match;
        if (!pattern.Match(text, from, content.size(), RE2::UNANCHORED, &match, 1)) break;
        const auto offset = static_cast<std::size_t>(match.data() - content.data());
        if (!match.empty()) spans.emplace_back(offset, match.size());
        from = offset + std::max<std::size_t>(match.size(), 1);
    }
    return spans;
}

Spans found(const Pattern& pattern, std::string_view content) {
    Spans spans;
    std::uint64_t budget = Pattern::kBudget;
    const auto all = pattern.find_all(content, budget);
    RC_ASSERT(all.has_value());
    for (const auto& [offset, length] : *all) spans.emplace_back(offset, length);
    return spans;
}

std::string one_of(const std::vector<std::string>& choices, const char* what) {
    return *rc::gen::elementOf(choices).as(what);
}

// By the grammar; at most three groups deep.
std::string alternatives(int depth);

std::string atom(int depth) {
    static const std::vector<std::string> kAtoms{
        "a",      "b",    "B",     "1",    "_",    " ",      "-",      ".",        "\\.",  "\\d",
        "\\D",    "\\w",  "\\W",   "\\s",  "\\S",  "\\b",    "\\B",    "\\A",      "\\z",  "^",
        "$",      "\\n",  "\\x41", "[ab]", "[^a]", "[a-c1]", "[\\w-]", "[^\\s]",   "[]a]", "[^]a]",
        "[a\\]]", "[-a]", "(?i)",  "(?s)", "(?m)", "(?-i)",  "x{y}",   "[^\\d\\n]"};
    static const std::vector<std::string> kGroups{"(", "(?:", "(?i:", "(?s:", "(?m:", "(?i-s:", "(?P<name>"};
    const bool group = depth > 0 && *rc::gen::weightedElement<bool>({{3, false}, {1, true}});
    if (!group) return one_of(kAtoms, "atom");
    return one_of(kGroups, "group") + alternatives(depth - 1) + ")";
}

std::string alternatives(int depth) {
    static const std::vector<std::string> kQuantifiers{"",
                                                       "",
                                                       "",
                                                       "*",
                                                       "+",
                                                       "?",
                                                       "*?",
                                                       "+?",
                                                       "?"
                                                       "?",
                                                       "{2}",
                                                       "{1,}",
                                                       "{0,2}",
                                                       "{1,3}?"};
    std::string text;
    const int branches = *rc::gen::weightedElement<int>({{3, 1}, {1, 2}});
    for (int branch = 0; branch < branches; ++branch) {
        if (branch > 0) text += '|';
        const int length = *rc::gen::inRange(0, 4);
        for (int i = 0; i < length; ++i) {
            const std::string one = atom(depth);
            // Flags are no atom: there is nothing to repeat.
            const bool flags = one.starts_with("(?") && one.ends_with(")") && one.find(':') == std::string::npos &&
                               one.find('<') == std::string::npos;
            text += one;
            if (!flags) text += one_of(kQuantifiers, "quantifier");
        }
    }
    return text;
}

std::string content() {
    static constexpr std::string_view kBytes = "aabAB1_- \n.cxy{}]\xe9\xc9\t";
    return *rc::gen::container<std::string>(rc::gen::elementOf(std::string(kBytes))).as("content");
}

void must_agree(const Pattern& ours, const RE2& theirs, const std::string& text) {
    for (int i = 0; i < 4; ++i) {
        const std::string in = content();
        RC_LOG() << "pattern " << text << "\ncontent " << in << '\n';
        RC_ASSERT(found(ours, in) == found_by_re2(theirs, in));
    }
}

RC_GTEST_PROP(PatternProperty, FindsWhatRe2Finds, ()) {
    const std::string text = alternatives(3);
    const auto ours = Pattern::compile(text);
    RC_PRE(ours.has_value());
    const RE2 theirs(text, options());
    RC_LOG() << "pattern " << text << '\n';
    RC_ASSERT(theirs.ok());
    must_agree(*ours, theirs, text);
}

// Text that only looks like a pattern: where it is taken for one, RE2 takes it for the same.
RC_GTEST_PROP(PatternProperty, TakesForAPatternOnlyWhatRe2Does, ()) {
    static constexpr std::string_view kSigns = "ab1|()[]{}*+?.^$\\-,:<>P!=ismdwbAzx04n";
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string(kSigns))).as("pattern");
    const auto ours = Pattern::compile(text);
    RC_CLASSIFY(ours.has_value(), "a pattern");
    if (!ours) return;
    const RE2 theirs(text, options());
    RC_ASSERT(theirs.ok());
    must_agree(*ours, theirs, text);
}

}  // namespace
}  // namespace lockstep::fakes::policy
