#include "engine/expression/value_order.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace lockstep::engine {

namespace {

/// Up to here every whole number is a double of its own.
constexpr double kExactMax = 9007199254740992.0;

/// Numbers of all forms are one kind.
int kind_rank(const nlohmann::json& value) {
    using Type = nlohmann::json::value_t;
    return static_cast<int>(value.is_number() ? Type::number_integer : value.type());
}

template <class T>
int sign_of_order(const T& left, const T& right) {
    return left < right ? -1 : right < left ? 1 : 0;
}

}  // namespace

WideNumber wide_number(const nlohmann::json& value) {
    if (value.is_number_unsigned()) return {true, static_cast<__int128>(value.get<std::uint64_t>()), 0};
    if (value.is_number_integer()) return {true, static_cast<__int128>(value.get<std::int64_t>()), 0};
    const double real = value.get<double>();
    if (std::abs(real) <= kExactMax && std::trunc(real) == real) return {true, static_cast<__int128>(real), 0};
    return {false, 0, real};
}

int order_of_numbers(const WideNumber& left, const WideNumber& right) {
    if (left.whole && right.whole) return sign_of_order(left.integer, right.integer);
    if (!left.whole && !right.whole) return sign_of_order(left.real, right.real);
    if (!left.whole) return -order_of_numbers(right, left);
    // Beyond what 64 bits hold, the double decides; within, its whole part can be compared and then what is behind the
    // point.
    constexpr double kBeyond = 18446744073709551616.0;
    if (right.real >= kBeyond) return -1;
    if (right.real <= -kBeyond) return 1;
    const double whole = std::trunc(right.real);
    const auto integer = static_cast<__int128>(whole);
    return left.integer == integer ? sign_of_order(whole, right.real) : sign_of_order(left.integer, integer);
}

int order_of_values(const nlohmann::json& left, const nlohmann::json& right) {
    if (const int kinds = sign_of_order(kind_rank(left), kind_rank(right)); kinds != 0) return kinds;
    if (left.is_number()) return order_of_numbers(wide_number(left), wide_number(right));
    if (!left.is_structured()) return sign_of_order(left, right);
    auto a = left.begin();
    auto b = right.begin();
    for (; a != left.end() && b != right.end(); ++a, ++b) {
        if (left.is_object())
            if (const int keys = a.key().compare(b.key()); keys != 0) return keys;
        if (const int values = order_of_values(*a, *b); values != 0) return values;
    }
    return sign_of_order(left.size(), right.size());
}

bool deeper_than(const nlohmann::json& value, std::size_t depth) {
    if (!value.is_structured() || value.empty()) return false;
    return depth == 0 || std::any_of(value.begin(), value.end(),
                                     [depth](const nlohmann::json& part) { return deeper_than(part, depth - 1); });
}

}  // namespace lockstep::engine
