#include "sim/model/settings_text.h"

#include <nlohmann/json.hpp>

namespace lockstep::sim {

using Json = nlohmann::json;

Json scheduler_setting(const Json& data, const std::string& name) {
    if (const auto section = data.find("scheduler"); section != data.end() && section->is_object())
        if (const auto value = section->find(name); value != section->end() && !value->is_null()) return *value;
    const auto flat = data.find("scheduler." + name);
    return flat == data.end() ? Json() : *flat;
}

bool opens_input_policy(std::string_view document) {
    const Json settings = Json::parse(document, nullptr, false);
    if (!settings.is_object()) return false;
    const auto data = settings.find("data");
    return data != settings.end() && data->is_object() && scheduler_setting(*data, "input_fail_mode") == "open";
}

}  // namespace lockstep::sim
