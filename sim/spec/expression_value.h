// What expressions and templates of workflow definitions are worth (workflow.md 5.5, engine/expression/expression.h), evaluated while
// they are read. Written by itself, from those pages: the engine's compiler and this are each the other's test.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::sim {

struct ExpressionBounds {
    std::size_t bytes = 4096;    // of an expression
    std::size_t items = 10'000;  // of a list or map that it gives
};

/// The names that an expression may use. Whatever is not among them is nil.
class Scope {
public:
    /// `value` outlives the scope.
    Scope& with(std::string_view name, const nlohmann::json& value) {
        values_.emplace_back(name, &value);
        return *this;
    }
    /// Of an object, whose members are the names.
    Scope& with_members(const nlohmann::json& object) {
        for (const auto& [name, value] : object.items()) values_.emplace_back(name, &value);
        return *this;
    }
    [[nodiscard]] const nlohmann::json& operator[](std::string_view name) const;

private:
    std::vector<std::pair<std::string_view, const nlohmann::json*>> values_;
};

/// nil, false, "" and 0 are false.
[[nodiscard]] bool is_true(const nlohmann::json& value);

/// An expression as it stands in a member that holds nothing else: `${...}` around it does not count.
[[nodiscard]] std::string_view without_braces(std::string_view text);

/// Nothing: a mistake, of form or of what it does with its values.
[[nodiscard]] std::optional<nlohmann::json> value_of(std::string_view expression, const Scope& scope,
                                                     const ExpressionBounds& bounds = {});

/// The document with its templates filled in; nothing where one of them is a mistake.
[[nodiscard]] std::optional<nlohmann::json> filled_in(const nlohmann::json& pattern, const Scope& scope,
                                                      const ExpressionBounds& bounds = {});

}  // namespace lockstep::sim
