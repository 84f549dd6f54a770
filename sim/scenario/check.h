// Validates a JSON value against a shape and reports everything that is wrong with it, not only the first thing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/shape.h"

namespace lockstep::sim {

/// One thing that is wrong: where, as a JSON pointer, and what was expected there.
struct Finding {
    std::string pointer;
    std::string message;
    bool missing = false;  // something is not there; what is there may be sound
};

/// Appends what is wrong with `value`, which stands at `pointer`. A value of the wrong type is reported once; nothing
/// inside it is looked at.
void check(const Shape& shape, const nlohmann::json& value, const std::string& pointer, std::vector<Finding>& findings);

/// `pointer` extended by one step, escaped as RFC 6901 says.
[[nodiscard]] std::string child(const std::string& pointer, std::string_view key);
[[nodiscard]] std::string child(const std::string& pointer, std::size_t index);

/// How messages show a value: compact, cut when it is long.
[[nodiscard]] std::string shown(const nlohmann::json& value);

}  // namespace lockstep::sim
