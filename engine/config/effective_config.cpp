#include "engine/config/effective_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/config/bounded_json.h"
#include "engine/wire/messages.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

using Json = nlohmann::json;

/// Merges remembered. Dozens of tenants and workflows fit; beyond, starting over costs less than keeping count of use.
constexpr std::size_t kMergesMax = 256;

void merge_into(Json& target, const Json& addition) {
    for (const auto& [name, value] : addition.items()) {
        Json& place = target[name];
        if (place.is_object() && value.is_object()) {
            merge_into(place, value);
        } else {
            place = value;
        }
    }
}

std::string env_of(const cap::JobRequest& request, const char* name) {
    const auto found = request.env().find(name);
    return found == request.env().end() ? std::string{} : found->second;
}

}  // namespace

std::vector<std::string> config_documents_of(const cap::JobRequest& request) {
    std::vector<std::string> keys{"cfg:system:default"};
    const auto add = [&keys](std::string_view scope, std::string_view id) {
        if (!id.empty()) keys.push_back(fmt::format("cfg:{}:{}", scope, id));
    };
    add("org", wire::tenant_of(request));
    add("team", env_of(request, "team_id"));
    add("workflow", request.workflow_id());
    add("step", env_of(request, "step_id"));
    return keys;
}

tl::expected<std::string, std::string> EffectiveConfig::merge(const std::vector<std::string>& documents) {
    if (std::ranges::all_of(documents, &std::string::empty)) return std::string{};
    if (const auto known = merged_.find(documents); known != merged_.end()) return known->second;
    Json settings = Json::object();
    for (std::size_t i = 0; i < documents.size(); ++i) {
        if (documents[i].empty()) continue;
        const Json document = parse_bounded(documents[i]);
        if (!document.is_object()) return tl::unexpected(fmt::format("config document {} is no JSON object", i));
        const auto data = document.find("data");
        if (data != document.end() && data->is_object()) merge_into(settings, *data);
    }
    std::string text = settings.empty() ? std::string{} : settings.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (merged_.size() >= kMergesMax) merged_.clear();
    merged_.emplace(documents, text);
    return text;
}

}  // namespace lockstep::engine
