#include "engine/expression/expression_operators.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/expression/expression_numbers.h"
#include "engine/expression/value_order.h"

namespace lockstep::engine::expression {

namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 15> kSpellings{"+",  "-", "*",  "/",  "%",        "==",         "!=",      "<",
                                                      "<=", ">", ">=", "in", "contains", "startsWith", "endsWith"};

Computed<bool> are_same(const Json& left, const Json& right, Budget& budget) {
    // Of different kinds or sizes: no need to look at what is in them.
    const bool comparable =
        left.type() == right.type() ? left.size() == right.size() : left.is_number() && right.is_number();
    if (!comparable) return false;
    if (!budget.spend_value(left) || !budget.spend_value(right)) return tl::unexpected(budget.reason());
    return order_of_values(left, right) == 0;
}

Computed<Json> compared(BinaryOp op, const Json& left, const Json& right, Budget& budget) {
    int sign = 0;
    if (left.is_number() && right.is_number()) {
        sign = order_of_numbers(wide_number(left), wide_number(right));
    } else if (left.is_string() && right.is_string()) {
        const auto& a = left.get_ref<const std::string&>();
        const auto& b = right.get_ref<const std::string&>();
        if (!budget.spend_text(std::min(a.size(), b.size()))) return tl::unexpected(budget.reason());
        sign = a.compare(b);
    } else {
        return tl::unexpected(needs("two numbers or two texts", left, right));
    }
    if (op == BinaryOp::less) return Json(sign < 0);
    if (op == BinaryOp::less_equal) return Json(sign <= 0);
    if (op == BinaryOp::greater) return Json(sign > 0);
    return Json(sign >= 0);
}

/// In time that grows with the sum of both lengths and not with their product, unlike std::string::find (Knuth, Morris,
/// Pratt).
bool occurs(std::string_view part, std::string_view text) {
    if (part.empty()) return true;
    if (part.size() > text.size()) return false;
    std::vector<std::uint32_t> border(part.size(), 0);
    for (std::size_t i = 1, k = 0; i < part.size(); ++i) {
        while (k > 0 && part[i] != part[k]) k = border[k - 1];
        if (part[i] == part[k]) ++k;
        border[i] = static_cast<std::uint32_t>(k);
    }
    std::size_t matched = 0;
    for (const char c : text) {
        while (matched > 0 && c != part[matched]) matched = border[matched - 1];
        if (c == part[matched]) ++matched;
        if (matched == part.size()) return true;
    }
    return false;
}

Computed<Json> looked_for(BinaryOp op, const Json& left, const Json& right, Budget& budget) {
    if (!left.is_string() || !right.is_string()) return tl::unexpected(needs("two texts", left, right));
    const std::string_view text = left.get_ref<const std::string&>();
    const std::string_view part = right.get_ref<const std::string&>();
    if (op == BinaryOp::starts_with || op == BinaryOp::ends_with) {
        if (!budget.spend_text(part.size())) return tl::unexpected(budget.reason());
        return Json(op == BinaryOp::starts_with ? text.starts_with(part) : text.ends_with(part));
    }
    if (!budget.spend_text(16 * text.size()) || !budget.spend_text(16 * part.size()))
        return tl::unexpected(budget.reason());
    return Json(occurs(part, text));
}

Computed<Json> is_in(const Json& value, const Json& group, Budget& budget) {
    if (group.is_null()) return Json(false);
    if (group.is_object()) return Json(value.is_string() && group.contains(value.get_ref<const std::string&>()));
    if (!group.is_array())
        return tl::unexpected(fmt::format("needs a list or a map behind it, and has {}", kind_of(group)));
    if (!budget.spend(group.size())) return tl::unexpected(budget.reason());
    for (const Json& one : group) {
        const auto equal = are_same(value, one, budget);
        if (!equal) return tl::unexpected(equal.error());
        if (*equal) return Json(true);
    }
    return Json(false);
}

Computed<Json> joined(const std::string& left, const std::string& right, Budget& budget) {
    const std::size_t bytes = left.size() + right.size();
    if (bytes > budget.limits().bytes)
        return tl::unexpected(fmt::format("makes a text of more than {} bytes", budget.limits().bytes));
    if (!budget.spend_text(bytes)) return tl::unexpected(budget.reason());
    return Json(left + right);
}

}  // namespace

std::string_view kind_of(const Json& value) {
    if (value.is_null()) return "nil";
    if (value.is_boolean()) return "a boolean";
    if (value.is_number()) return "a number";
    if (value.is_string()) return "a text";
    if (value.is_array()) return "a list";
    return "a map";
}

std::string needs(std::string_view what, const Json& left, const Json& right) {
    return fmt::format("needs {}, and has {} and {}", what, kind_of(left), kind_of(right));
}

std::string_view spelling(BinaryOp op) { return kSpellings.at(static_cast<std::size_t>(op)); }

Computed<Json> apply(BinaryOp op, const Json& left, const Json& right, Budget& budget) {
    switch (op) {
        case BinaryOp::add:
            if (left.is_string() && right.is_string())
                return joined(left.get_ref<const std::string&>(), right.get_ref<const std::string&>(), budget);
            [[fallthrough]];
        case BinaryOp::subtract:
        case BinaryOp::multiply:
        case BinaryOp::divide:
        case BinaryOp::remainder: return arithmetic(op, left, right);
        case BinaryOp::equal:
        case BinaryOp::unequal: {
            const auto equal = are_same(left, right, budget);
            if (!equal) return tl::unexpected(equal.error());
            return Json(*equal == (op == BinaryOp::equal));
        }
        case BinaryOp::less:
        case BinaryOp::less_equal:
        case BinaryOp::greater:
        case BinaryOp::greater_equal: return compared(op, left, right, budget);
        case BinaryOp::in: return is_in(left, right, budget);
        case BinaryOp::contains:
        case BinaryOp::starts_with:
        case BinaryOp::ends_with: break;
    }
    return looked_for(op, left, right, budget);
}

Computed<const Json*> element(const Json& value, const Json& index) {
    if (value.is_object()) {
        if (index.is_null()) return nullptr;
        if (!index.is_string()) return tl::unexpected(fmt::format("of a map needs a text, and has {}", kind_of(index)));
        return member(value, index.get_ref<const std::string&>());
    }
    if (!value.is_array() || index.is_null()) return nullptr;
    const WideNumber at = index.is_number() ? wide_number(index) : WideNumber{};
    if (!at.whole) return tl::unexpected(fmt::format("of a list needs a whole number, and has {}", kind_of(index)));
    const __int128 size = static_cast<__int128>(value.size());
    const __int128 place = at.integer < 0 ? at.integer + size : at.integer;
    return place >= 0 && place < size ? &value[static_cast<std::size_t>(place)] : nullptr;
}

const Json* member(const Json& value, const std::string& name) {
    if (!value.is_object()) return nullptr;
    const auto found = value.find(name);
    return found == value.end() ? nullptr : &*found;
}

}  // namespace lockstep::engine::expression
