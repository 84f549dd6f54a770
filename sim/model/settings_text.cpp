#include "sim/model/settings_text.h"

#include <utility>

#include "engine/wire/text.h"
#include "sim/model/json_document.h"

namespace lockstep::sim {

namespace {

using Json = nlohmann::json;

/// What `data` says of a setting of the scheduler, in a section of its own or under a flat dotted name; null: nothing.
Json scheduler_setting(const Json& data, const std::string& name) {
    if (const auto section = data.find("scheduler"); section != data.end() && section->is_object())
        if (const auto value = section->find(name); value != section->end() && !value->is_null()) return *value;
    const auto flat = data.find("scheduler." + name);
    return flat == data.end() ? Json() : *flat;
}

/// Names without the blanks around them; nothing: there is one that is no name.
std::optional<std::vector<std::string>> names_in(const Json& list) {
    if (!list.is_array()) return std::nullopt;
    std::vector<std::string> names;
    for (const Json& item : list) {
        std::string name = item.is_string() ? std::string(engine::wire::trim(item.get_ref<const std::string&>())) : "";
        if (name.empty()) return std::nullopt;
        names.push_back(std::move(name));
    }
    return names;
}

std::optional<PoolsText::Pool> pool_in(const Json& node) {
    PoolsText::Pool pool;
    if (node.is_null()) return pool;
    if (!node.is_object()) return std::nullopt;
    for (const auto& [key, value] : node.items()) {
        if (key == "requires" || key == "Requires") {
            if (value.is_null()) continue;
            const auto names = names_in(value);
            if (!names) return std::nullopt;
            // Of what a pool offers the case does not matter.
            for (const std::string& name : *names) pool.offers.push_back(engine::wire::ascii_lower(name));
        } else if (key == "status" || key == "Status") {
            pool.is_active = value == "active" || value == "";
            if (!pool.is_active && value != "draining" && value != "inactive") return std::nullopt;
        } else if (key != "description" && key != "drain_started_at" && key != "drain_timeout_seconds" &&
                   key != "Description" && key != "DrainStartedAt" && key != "DrainTimeoutSeconds") {
            return std::nullopt;
        }
    }
    return pool;
}

std::optional<PoolsText> pools_in(const Json& document) {
    if (!document.is_object()) return std::nullopt;
    PoolsText table;
    for (const auto& [key, section] : document.items()) {
        const bool topics = key == "topics" || key == "Topics";
        if (!topics && key != "pools" && key != "Pools") return std::nullopt;
        if (section.is_null() && !topics) continue;
        if (!section.is_object()) return std::nullopt;
        for (const auto& [written, value] : section.items()) {
            const std::string name(engine::wire::trim(written));
            if (name.empty()) return std::nullopt;
            if (topics) {
                const auto names = names_in(value.is_string() ? Json::array({value}) : value);
                if (!names || names->empty()) return std::nullopt;
                table.topics.emplace(name, *names);
            } else {
                const auto pool = pool_in(value);
                if (!pool) return std::nullopt;
                table.pools.emplace(name, *pool);
            }
        }
    }
    return table.topics.empty() ? std::nullopt : std::optional(std::move(table));
}

}  // namespace

std::optional<SettingsText> read_settings_text(std::string_view document) {
    const Json settings = parse_user_json(document);
    if (!settings.is_object()) return std::nullopt;
    SettingsText text;
    const auto data = settings.find("data");
    if (data == settings.end() || data->is_null()) return text;
    if (!data->is_object()) return std::nullopt;
    if (const Json mode = scheduler_setting(*data, "input_fail_mode"); !mode.is_null())
        text.opens_input_policy = mode == "open";
    const Json output_mode = scheduler_setting(*data, "output_fail_mode");
    text.says_output_mode = !output_mode.is_null();
    if (output_mode == "open" || output_mode == "closed") text.opens_output_policy = output_mode == "open";
    text.leaves_outputs_unchecked = scheduler_setting(*data, "output_policy_enabled") == false;
    if (const auto pools = data->find("pools"); pools != data->end() && !pools->is_null())
        text.pools = pools_in(*pools);
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
