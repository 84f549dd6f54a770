#include "engine/expression/expression.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/expression/expression_budget.h"
#include "engine/expression/expression_program.h"

namespace lockstep::engine {

using nlohmann::json;

Expression::Expression(std::shared_ptr<const expression::Program> program) : program_(std::move(program)) {}

tl::expected<Expression, ExpressionError> Expression::parse(std::string_view text, const ExpressionLimits& limits) {
    auto program = expression::compiled(text, limits);
    if (!program) return tl::unexpected(std::move(program.error()));
    return Expression(std::make_shared<const expression::Program>(std::move(*program)));
}

tl::expected<json, ExpressionError> Expression::evaluate(const json& scope) const {
    expression::Budget budget(program_->limits);
    auto value = expression::run(*program_, scope, budget);
    if (value && !budget.keep_value(*value, budget.limits().depth))
        return tl::unexpected(ExpressionError{fmt::format("the expression {}", budget.reason()), 0});
    return value;
}

bool truthy(const json& value) {
    switch (value.type()) {
        case json::value_t::null:
        case json::value_t::discarded: return false;
        case json::value_t::boolean: return value.get<bool>();
        case json::value_t::string: return !value.get_ref<const std::string&>().empty();
        case json::value_t::number_integer: return value.get<std::int64_t>() != 0;
        case json::value_t::number_unsigned: return value.get<std::uint64_t>() != 0;
        case json::value_t::number_float: return value.get<double>() != 0;
        default: return true;
    }
}

tl::expected<json, ExpressionError> evaluate(std::string_view text, const json& scope, const ExpressionLimits& limits) {
    const auto read = Expression::parse(text, limits);
    if (!read) return tl::unexpected(read.error());
    return read->evaluate(scope);
}

}  // namespace lockstep::engine
