#include "sim/spec/tenant_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/wire/json_text.h"
#include "fakes/policy/glob.h"
#include "sim/model/json_document.h"
#include "sim/spec/layered_settings.h"

namespace lockstep::sim::spec {

namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

Json data_of(std::string_view text) { return data_in(text).value_or(Json::object()); }

/// A list of policy's part of the settings.
Names listed(const Json& settings, const char* name) {
    const Json* safety = settings.contains("safety") ? &settings["safety"] : nullptr;
    if (safety == nullptr && settings.contains("data") && settings["data"].is_object() &&
        settings["data"].contains("safety"))
        safety = &settings["data"]["safety"];
    Names names;
    if (safety == nullptr || !safety->is_object() || !safety->contains(name) || !(*safety)[name].is_array())
        return names;
    for (const Json& entry : (*safety)[name])
        if (entry.is_string()) names.push_back(entry.get<std::string>());
    return names;
}

bool contains(const Names& names, const std::string& name) { return std::ranges::count(names, name) > 0; }

/// Whether what is allowed is no more than what these patterns take. What does not begin as a topic does allows nothing.
bool is_within(const Names& allowed, const Names& bounds) {
    return std::ranges::all_of(allowed, [&bounds](const std::string& name) {
        const bool is_topic = name.starts_with("job.") || name.find_first_of("*?[") != std::string::npos;
        return !is_topic || contains(bounds, name) || std::ranges::any_of(bounds, [&name](const std::string& bound) {
            return fakes::policy::glob_matches(bound, name);
        });
    });
}

std::string lifted(const Json& settings, std::string_view of_system, std::string_view of_tenant) {
    Json bound = data_of(of_system);
    merge(bound, data_of(of_tenant));
    const Names denied = listed(settings, "denied_topics");
    for (const std::string& topic : listed(bound, "denied_topics"))
        if (!contains(denied, topic))
            return fmt::format("\"{}\" is denied for its tenant, and policy is not told so", topic);
    const Names bounds = listed(bound, "allowed_topics");
    const Names allowed = listed(settings, "allowed_topics");
    if (!bounds.empty() && (allowed.empty() || !is_within(allowed, bounds)))
        return "its tenant is allowed a few topics, and policy is told of others";
    return {};
}

}  // namespace

std::string lifted_limits(std::string_view settings, std::span<const std::string_view> of_system,
                          std::span<const std::string_view> of_tenant) {
    Json told = engine::wire::read_json(settings);
    if (!told.is_object()) told = Json::object();
    std::string complaint;
    for (const std::string_view system : of_system) {
        for (const std::string_view own : of_tenant) {
            complaint = lifted(told, system, own);
            if (complaint.empty()) return {};
        }
    }
    return complaint;
}

}  // namespace lockstep::sim::spec
