// What the expressions of a workflow run are worth, by its document before and after a visit (workflow.md 5.5).
//
// A visit evaluates them one after another, and steps that end in it change what the next one sees. So an expression may be worth what
// it is before the visit or after it; where it names what the visit has changed more than once, or at a time of which nothing is known,
// it may be worth anything.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/expression_value.h"

namespace lockstep::sim {

/// A run before and after it was written, and the definition by which it went on. What is referred to outlives it.
struct DocumentChange {
    DocumentChange(const nlohmann::json& definition, const nlohmann::json& before, const nlohmann::json& after);

    const nlohmann::json& definition;
    const nlohmann::json& before;
    const nlohmann::json& after;
    ExpressionBounds bounds{};
    std::int64_t items_most = 1000;  // of a step for each of which a job is run
    std::vector<std::string> ended;  // steps that have succeeded by it
    bool writes_context = false;     // some of them elsewhere in the context than in `steps`
};

/// A step before and after.
struct StepChange {
    const DocumentChange& run;
    const std::string& key;
    const nlohmann::json& was;
    const nlohmann::json& is;
};

/// Whether the definition's step writes to the context outside `steps` when it succeeds.
[[nodiscard]] bool writes_to_context(const nlohmann::json& step);

/// Values that may be; nothing among them: a mistake.
struct Worth {
    std::vector<std::optional<nlohmann::json>> values;
    bool is_open = false;  // or any other

    [[nodiscard]] bool can_be(const std::function<bool(const std::optional<nlohmann::json>&)>& test) const;
    [[nodiscard]] bool can_be(const nlohmann::json& value) const;
    [[nodiscard]] bool can_be_a_mistake() const;
    /// In words, of the first of them.
    [[nodiscard]] std::string text() const;
};

/// Of an expression in a member of its own. `more`: an object of names that it may use beside the run's.
[[nodiscard]] Worth worth_of(const StepChange& change, std::string_view expression, const nlohmann::json& more = {});
/// Of a document with templates.
[[nodiscard]] Worth filled_by(const StepChange& change, const nlohmann::json& pattern, const nlohmann::json& more = {});
/// What a step of this definition works on: its input, or where it has none its run's, and of one of many items nothing
/// (workflow.md 5.1); with the error that has called it.
[[nodiscard]] Worth payload_of(const StepChange& change, const nlohmann::json& step, const nlohmann::json& more = {});

}  // namespace lockstep::sim
