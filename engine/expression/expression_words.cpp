#include "engine/expression/expression_words.h"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/config/nearest.h"
#include "engine/wire/text.h"

namespace lockstep::engine::expression {

namespace {

/// The reference refuses an expression in which one of these occurs, in whatever case and be it a part of a word.
constexpr std::array<std::string_view, 10> kBlocked{"import", "require", "reflect",     "unsafe",    "runtime",
                                                    "exec",   "os.exit", "constructor", "prototype", "__proto__"};

constexpr int kOr = 10;
constexpr int kAnd = 15;
constexpr int kCompare = 20;
constexpr int kSum = 30;
constexpr int kProduct = 60;
constexpr int kPresent = 500;

constexpr std::array<Infix, 20> kInfixes{{{"or", kOr, Op::branch_true},
                                          {"||", kOr, Op::branch_true},
                                          {"and", kAnd, Op::branch_false},
                                          {"&&", kAnd, Op::branch_false},
                                          {"==", kCompare, Op::binary, BinaryOp::equal},
                                          {"!=", kCompare, Op::binary, BinaryOp::unequal},
                                          {"<", kCompare, Op::binary, BinaryOp::less},
                                          {"<=", kCompare, Op::binary, BinaryOp::less_equal},
                                          {">", kCompare, Op::binary, BinaryOp::greater},
                                          {">=", kCompare, Op::binary, BinaryOp::greater_equal},
                                          {"in", kCompare, Op::binary, BinaryOp::in, true},
                                          {"contains", kCompare, Op::binary, BinaryOp::contains, true},
                                          {"startsWith", kCompare, Op::binary, BinaryOp::starts_with, true},
                                          {"endsWith", kCompare, Op::binary, BinaryOp::ends_with, true},
                                          {"+", kSum, Op::binary, BinaryOp::add},
                                          {"-", kSum, Op::binary, BinaryOp::subtract},
                                          {"*", kProduct, Op::binary, BinaryOp::multiply},
                                          {"/", kProduct, Op::binary, BinaryOp::divide},
                                          {"%", kProduct, Op::binary, BinaryOp::remainder},
                                          {"??", kPresent, Op::branch_present}}};

}  // namespace

const Infix* infix_of(const Token& token) {
    const auto found = std::ranges::find_if(kInfixes, [&token](const Infix& infix) { return token.is(infix.written); });
    return found == kInfixes.end() ? nullptr : &*found;
}

bool is_word_of_the_language(const Token& token) { return token.is("not") || infix_of(token) != nullptr; }

std::string operator_suggestion(std::string_view name) {
    std::vector<std::string> words;
    for (const Infix& infix : kInfixes)
        if (infix.written.front() >= 'a' && infix.written.front() <= 'z') words.emplace_back(infix.written);
    return suggestion(name, words);
}

std::optional<std::pair<std::size_t, std::string_view>> blocked_word(std::string_view text) {
    const std::string lowered = wire::ascii_lower(text);
    std::optional<std::pair<std::size_t, std::string_view>> first;
    for (const std::string_view word : kBlocked) {
        const std::size_t place = lowered.find(word);
        if (place != std::string::npos && (!first || place < first->first)) first.emplace(place, word);
    }
    return first;
}

}  // namespace lockstep::engine::expression
