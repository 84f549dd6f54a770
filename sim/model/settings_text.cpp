#include "sim/model/settings_text.h"

#include "sim/model/json_document.h"

namespace lockstep::sim {

using Json = nlohmann::json;

Json scheduler_setting(const Json& data, const std::string& name) {
    if (const auto section = data.find("scheduler"); section != data.end() && section->is_object())
        if (const auto value = section->find(name); value != section->end() && !value->is_null()) return *value;
    const auto flat = data.find("scheduler." + name);
    return flat == data.end() ? Json() : *flat;
}

std::optional<SettingsText> read_settings_text(std::string_view document) {
    const Json settings = parse_user_json(document);
    if (!settings.is_object()) return std::nullopt;
    SettingsText text;
    const auto data = settings.find("data");
    if (data == settings.end() || data->is_null()) return text;
    if (!data->is_object()) return std::nullopt;
    if (const Json mode = scheduler_setting(*data, "input_fail_mode"); !mode.is_null())
        text.opens_input_policy = mode == "open";
    const auto limits = data->find("timeouts");
    if (limits == data->end()) return text;
    if (!limits->is_null()) text.limits = time_limits_in(*limits);
    const auto revision = settings.find("revision");
    if (!limits->is_object() || (revision != settings.end() && !revision->is_number_unsigned())) return text;
    const auto hash = data->find("_timeoutsFileHash");
    text.file_of_limits = hash != data->end() && hash->is_string() ? hash->get<std::string>() : std::string{};
    return text;
}

bool is_fingerprint(std::string_view text) {
    constexpr std::size_t kDigits = 64;
    return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace lockstep::sim
