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

SettingsText read_settings_text(std::string_view document) {
    const Json settings = Json::parse(document, nullptr, false);
    const auto data = settings.is_object() ? settings.find("data") : settings.end();
    if (data == settings.end() || !data->is_object()) return {};
    SettingsText text;
    text.opens_input_policy = scheduler_setting(*data, "input_fail_mode") == "open";
    if (const auto limits = data->find("timeouts"); limits != data->end() && !limits->is_null())
        text.limits = time_limits_in(*limits);
    return text;
}

}  // namespace lockstep::sim
