// The single values of outputs, and how they are made others.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sim/model/output_members.h"

namespace lockstep::sim {

/// Nothing: it is none.
[[nodiscard]] std::optional<std::int64_t> as_whole_number(std::string_view text);
/// Enough of a time of day to be noticed, and one of anything else.
[[nodiscard]] std::int64_t another(std::int64_t number);
/// Another day, of an RFC 3339 time; false: it is none, and stays.
bool set_another_day(std::string& text);

[[nodiscard]] std::string scalar_text(const nlohmann::ordered_json& scalar);
[[nodiscard]] std::string scalar_text(const FieldPlace& place);
/// Removes what is discarded.
void prune(nlohmann::ordered_json& document);
/// The scalar that stands first at this path; null: none.
[[nodiscard]] const nlohmann::ordered_json* member_at(const nlohmann::ordered_json& document, std::string_view wanted);

/// REQUIRES: the place is a part of a message that may be changed.
void set_field(const FieldPlace& place, std::string_view text);
void clear_field(const FieldPlace& place);

}  // namespace lockstep::sim
