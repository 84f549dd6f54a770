// What one evaluation may cost.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/expression/expression.h"

namespace lockstep::engine::expression {

/// What is left of the work that one evaluation may do. Whatever is about to walk through a value asks first, and so
/// never walks deeper than the limit.
class Budget {
public:
    explicit Budget(const ExpressionLimits& limits) : limits_(limits), steps_(limits.steps) {}

    /// False: there is less left than that, and the evaluation ends.
    [[nodiscard]] bool spend(std::size_t steps);
    [[nodiscard]] bool spend_text(std::size_t bytes) { return spend(bytes / 64); }
    /// What it costs to copy a value, or to look at all of it.
    [[nodiscard]] bool spend_value(const nlohmann::json& value) { return walk(value, limits_.depth, false); }
    /// Once more so many bytes of the result.
    [[nodiscard]] bool keep(std::size_t bytes);
    /// A value of the result, which may nest so deep there.
    [[nodiscard]] bool keep_value(const nlohmann::json& value, std::size_t depth) { return walk(value, depth, true); }

    [[nodiscard]] const ExpressionLimits& limits() const { return limits_; }
    /// After one of these has said no: why, as the rest of a sentence about what asked.
    [[nodiscard]] std::string reason() const;

private:
    [[nodiscard]] bool walk(const nlohmann::json& value, std::size_t depth, bool kept);

    enum class End { none, steps, depth, bytes };

    ExpressionLimits limits_;
    std::size_t steps_;
    std::size_t kept_ = 0;
    End end_ = End::none;
};

}  // namespace lockstep::engine::expression
