#include "engine/expression/expression_numbers.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/expression/value_order.h"

namespace lockstep::engine::expression {

namespace {

using Json = nlohmann::json;

double real_of(const WideNumber& number) { return number.whole ? static_cast<double>(number.integer) : number.real; }

bool fits_64_bits(const WideNumber& number) {
    return number.whole && number.integer >= std::numeric_limits<std::int64_t>::min() &&
           number.integer <= std::numeric_limits<std::int64_t>::max();
}

Computed<Json> whole_result(__int128 value) {
    if (value < std::numeric_limits<std::int64_t>::min() || value > std::numeric_limits<std::int64_t>::max())
        return tl::unexpected(std::string("gives a whole number beyond 64 bits"));
    return Json(static_cast<std::int64_t>(value));
}

Computed<Json> real_result(double value) {
    if (!std::isfinite(value)) return tl::unexpected(std::string("gives a number beyond the range of a double"));
    const WideNumber number = wide_number(value);
    if (number.whole) return whole_result(number.integer);
    return Json(value);
}

Computed<Json> quotient(const WideNumber& left, const WideNumber& right) {
    if (real_of(right) == 0) return tl::unexpected(std::string("divides by zero"));
    if (fits_64_bits(left) && fits_64_bits(right) && left.integer % right.integer == 0)
        return whole_result(left.integer / right.integer);
    return real_result(real_of(left) / real_of(right));
}

}  // namespace

Computed<Json> arithmetic(BinaryOp op, const Json& left, const Json& right) {
    if (!left.is_number() || !right.is_number()) {
        const bool join = op == BinaryOp::add;
        return tl::unexpected(needs(join ? "two numbers or two texts" : "two numbers", left, right));
    }
    const WideNumber a = wide_number(left);
    const WideNumber b = wide_number(right);
    if (op == BinaryOp::remainder) {
        if (!a.whole || !b.whole) return tl::unexpected(std::string("needs two whole numbers"));
        if (b.integer == 0) return tl::unexpected(std::string("divides by zero"));
        return whole_result(a.integer % b.integer);
    }
    if (op == BinaryOp::divide) return quotient(a, b);
    // 64 bits of each side: in 128 none of these overflows.
    if (fits_64_bits(a) && fits_64_bits(b)) {
        if (op == BinaryOp::add) return whole_result(a.integer + b.integer);
        if (op == BinaryOp::subtract) return whole_result(a.integer - b.integer);
        return whole_result(a.integer * b.integer);
    }
    const double x = real_of(a);
    const double y = real_of(b);
    if (op == BinaryOp::add) return real_result(x + y);
    if (op == BinaryOp::subtract) return real_result(x - y);
    return real_result(x * y);
}

Computed<Json> negated(const Json& value) {
    if (!value.is_number()) return tl::unexpected(fmt::format("needs a number, and has {}", kind_of(value)));
    const WideNumber number = wide_number(value);
    return number.whole ? whole_result(-number.integer) : real_result(-number.real);
}

Computed<Json> affirmed(const Json& value) {
    if (!value.is_number()) return tl::unexpected(fmt::format("needs a number, and has {}", kind_of(value)));
    const WideNumber number = wide_number(value);
    if (!number.whole) return real_result(number.real);
    if (!fits_64_bits(number)) return value;
    return whole_result(number.integer);
}

}  // namespace lockstep::engine::expression
