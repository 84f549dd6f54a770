// The names of fields in protobuf's JSON form, checked against the messages themselves: what a scenario file says of a packet
// must be something that a packet can have.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wire/fwd.h"
#include "sim/scenario/check.h"

namespace google::protobuf {
class Descriptor;
}  // namespace google::protobuf

namespace lockstep::sim::detail {

/// Reports every name in `object`, at `pointer`, that the message of this type does not have, with the nearest. Whether there was
/// one.
bool refuse_unknown_fields(const nlohmann::json& object, const google::protobuf::Descriptor& type,
                           const std::string& pointer, std::vector<Finding>& findings);

/// Names of fields of a BusPacket with dots between them, such as job_result.error_code: what is wrong with them, or nothing.
[[nodiscard]] std::string complaint_about_field(std::string_view path);

/// The value at such a path of the packet's JSON form, as text; empty when it is at its default.
[[nodiscard]] std::string field_text(const nlohmann::json& packet, std::string_view path);

}  // namespace lockstep::sim::detail
