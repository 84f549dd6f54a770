// A definition as its author has it in a file: every mistake with its line and column, before anything is stored.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/runs/definition.h"

namespace lockstep::engine {

struct PlacedMistake {
    int line = 0;  // from 1; 0: of the text as a whole
    int column = 0;
    std::string pointer;  // may be empty
    std::string message;

    /// `file:line:column: at <pointer>: message`, with what of it is known.
    [[nodiscard]] std::string describe(std::string_view file) const;
};

struct DefinitionText {
    nlohmann::json document;
    WorkflowDefinition definition;
    std::vector<PlacedMistake> warnings;  // what is carried out, and perhaps meant otherwise; in the order of the text
};

/// JSON, in which comments are allowed. All mistakes that there are, in the order of the text: those that `read_definition` finds,
/// probable slips, keys that stand twice, what is no JSON, and, of a definition without any of these, what no engine would carry out.
/// `now`: as `remarks_on` takes it.
[[nodiscard]] tl::expected<DefinitionText, std::vector<PlacedMistake>> read_definition_text(
    std::string_view text, const DefinitionLimits& limits = {}, std::optional<WallTime> now = std::nullopt);

/// Larger ones are refused: each run keeps a copy.
inline constexpr std::size_t kDefinitionBytesMax = 1U << 20U;

}  // namespace lockstep::engine
