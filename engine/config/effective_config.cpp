#include "engine/config/effective_config.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/config/tightening.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

using Json = nlohmann::json;

/// Merges remembered. Dozens of tenants and workflows fit; beyond, starting over costs less than keeping count of use.
constexpr std::size_t kMergesMax = 256;
/// Documents of which a copy is kept, for as long as they exist.
constexpr std::size_t kCopiesMax = 4096;
/// The system's and the tenant's documents come first and bind the others.
constexpr std::size_t kBindingLayers = 2;

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

/// A JSON object whose `data`, if it has any, is one too.
bool readable(const std::string& text) {
    const Json document = wire::parse_bounded(text);
    if (!document.is_object()) return false;
    const auto data = document.find("data");
    return data == document.end() || data->is_null() || data->is_object();
}

void keep(std::map<std::string, std::string>& copies, const std::string& key, const std::string& text) {
    if (copies.size() >= kCopiesMax && !copies.contains(key)) copies.erase(copies.begin());
    std::string& place = copies[key];
    if (place != text) place = text;
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

MergedSettings EffectiveConfig::merge(const std::vector<std::string>& keys, std::vector<std::string> documents) {
    MergedSettings settings;
    bool complete = true;
    for (std::size_t i = 0; i < documents.size() && i < keys.size(); ++i)
        complete = make_readable(keys[i], documents[i], settings) && complete;
    if (!complete) {
        settings.json.reset();
        return settings;
    }
    if (const auto known = merged_.find(documents); known != merged_.end()) {
        settings.json = known->second;
        return settings;
    }
    settings.json = merged(documents);
    if (merged_.size() >= kMergesMax) merged_.clear();
    merged_.emplace(std::move(documents), *settings.json);
    return settings;
}

void EffectiveConfig::note_readable(const std::string& key, const std::string& document) {
    if (readable(document)) keep(good_, key, document);
}

bool EffectiveConfig::make_readable(const std::string& key, std::string& document, MergedSettings& told) {
    if (document.empty()) {
        good_.erase(key);
        bad_.erase(key);
        return true;
    }
    const auto good = good_.find(key);
    if (good != good_.end() && good->second == document) return true;
    const auto bad = bad_.find(key);
    const bool met_before = bad != bad_.end() && bad->second == document;
    if (!met_before && readable(document)) {
        keep(good_, key, document);
        return true;
    }
    told.unreadable.push_back(key);
    if (!met_before) {
        told.untold.push_back(key);
        keep(bad_, key, document);
    }
    if (good == good_.end()) return false;
    document = good->second;
    return true;
}

std::string EffectiveConfig::merged(const std::vector<std::string>& documents) const {
    Json settings = Json::object();
    for (std::size_t i = 0; i < documents.size(); ++i) {
        if (documents[i].empty()) continue;
        Json document = wire::parse_bounded(documents[i]);
        const auto data = document.find("data");
        if (data == document.end() || !data->is_object()) continue;
        if (i >= kBindingLayers && tightening_) tighten_safety(settings, *data);
        merge_into(settings, *data);
    }
    return settings.empty() ? std::string{} : wire::json_text(settings);
}

}  // namespace lockstep::engine
