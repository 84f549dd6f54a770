#include "sim/cli/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>
#include <vector>

#include "engine/config/nearest.h"
#include "sim/scenario/glob.h"

namespace lockstep::sim::cli {

namespace {

using Parsed = tl::expected<Selector, SelectorError>;

/// Deeper than anybody writes, and far from the end of the stack.
constexpr int kDepthMax = 100;

bool by_name(const std::string& glob, const Scenario& scenario) { return glob_matches(glob, scenario.name); }
bool by_file(const std::string& glob, const Scenario& scenario) {
    return glob_matches(glob, scenario.file) ||
           glob_matches(glob, std::filesystem::path(scenario.file).stem().string());
}
bool by_tag(const std::string& glob, const Scenario& scenario) {
    return std::ranges::any_of(scenario.tags, [&](const std::string& tag) { return glob_matches(glob, tag); });
}

struct Test {
    const char* name;
    bool (*holds)(const std::string& glob, const Scenario& scenario);
};
constexpr Test kTests[] = {{"name", by_name}, {"file", by_file}, {"tag", by_tag}};

std::vector<std::string> names_of_tests() {
    std::vector<std::string> names;
    for (const Test& test : kTests) names.emplace_back(test.name);
    return names;
}

/// By recursive descent; `at_` is the first character that has not been read.
class SelectorParser {
public:
    explicit SelectorParser(std::string_view text) : text_(text) {}

    Parsed whole() {
        auto parsed = any_of();
        if (!parsed) return parsed;
        if (!at_end()) return wrong(fmt::format("expected \"and\", \"or\" or the end, not \"{}\"", next_word()));
        return parsed;
    }

private:
    Parsed any_of() {
        auto left = all_of();
        while (left && (take_word("or") || take('|'))) {
            auto right = all_of();
            if (!right) return right;
            left = [a = std::move(*left), b = std::move(*right)](const Scenario& s) { return a(s) || b(s); };
        }
        return left;
    }

    Parsed all_of() {
        auto left = one();
        while (left && (take_word("and") || take('&'))) {
            auto right = one();
            if (!right) return right;
            left = [a = std::move(*left), b = std::move(*right)](const Scenario& s) { return a(s) && b(s); };
        }
        return left;
    }

    Parsed one() {
        if (depth_ == kDepthMax)
            return wrong(fmt::format("more than {} \"not\" and parentheses in each other", kDepthMax));
        ++depth_;
        auto parsed = take_word("not") || take('!') ? negated() : at('(') ? in_parentheses() : test();
        --depth_;
        return parsed;
    }

    Parsed negated() {
        auto parsed = one();
        if (parsed) parsed = [a = std::move(*parsed)](const Scenario& s) { return !a(s); };
        return parsed;
    }

    Parsed in_parentheses() {
        const std::size_t opened = at_ + 1;
        (void)take('(');
        auto parsed = any_of();
        if (parsed && !take(')')) return wrong(fmt::format("expected \")\" for the \"(\" at {}", opened));
        return parsed;
    }

    Parsed test() {
        if (at_end()) return wrong("expected a test, such as name(redis*), file(*happy*) or tag(slow)");
        const std::size_t begin = at_;
        const std::string word = next_word();
        const auto* known = std::ranges::find(kTests, word, [](const Test& test) { return std::string(test.name); });
        if (known == std::end(kTests)) {
            const auto names = names_of_tests();
            return wrong(fmt::format("there is no test \"{}\"{}", word, engine::suggestion(word, names)));
        }
        at_ += word.size();
        if (!take('(')) return wrong(fmt::format("expected \"(\" behind \"{0}\", as in {0}(slow*)", word));
        const std::size_t end = text_.find(')', at_);
        if (end == std::string_view::npos) {
            at_ = text_.size();
            return wrong(fmt::format("expected \")\" for the \"(\" at {}", begin + word.size() + 1));
        }
        std::string_view glob = text_.substr(at_, end - at_);
        while (glob.starts_with(' ')) glob.remove_prefix(1);
        while (glob.ends_with(' ')) glob.remove_suffix(1);
        if (glob.empty()) return wrong(fmt::format("expected what {}() is to be; * stands for anything", word));
        at_ = end + 1;
        return [holds = known->holds, wanted = std::string(glob)](const Scenario& s) { return holds(wanted, s); };
    }

    void skip_spaces() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    }
    bool at_end() {
        skip_spaces();
        return at_ == text_.size();
    }
    bool at(char c) { return !at_end() && text_[at_] == c; }
    bool take(char c) {
        const bool there = at(c);
        at_ += there ? 1 : 0;
        return there;
    }
    /// The letters from here on, or else the one character that is there.
    std::string next_word() {
        skip_spaces();
        std::size_t end = at_;
        while (end < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_' || text_[end] == '-'))
            ++end;
        return std::string(text_.substr(at_, std::max<std::size_t>(end - at_, 1)));
    }
    bool take_word(std::string_view word) {
        const bool there = !at_end() && next_word() == word;
        at_ += there ? word.size() : 0;
        return there;
    }
    tl::unexpected<SelectorError> wrong(std::string what) {
        skip_spaces();
        return tl::make_unexpected(SelectorError{at_ + 1, std::move(what)});
    }

    const std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

tl::expected<Selector, SelectorError> parse_selector(std::string_view text) { return SelectorParser(text).whole(); }

std::string pointed_at(std::string_view text, const SelectorError& error) {
    return fmt::format("  {}\n  {:>{}}", text, '^', error.column);
}

}  // namespace lockstep::sim::cli
