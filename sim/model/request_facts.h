// What of a request stands in its job's hash (redis-schema.md 2; D-06).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/text.h"

namespace lockstep::sim {

/// Empty: its environment names none. Blanks do not count.
[[nodiscard]] inline std::string_view tenant_in_environment(const cap::JobRequest& request) {
    const auto found = request.env().find("tenant_id");
    return found == request.env().end() ? std::string_view() : engine::wire::trim(found->second);
}

/// The tenant rule: what the request names itself, else its environment, else `default`; blanks do not count.
[[nodiscard]] inline std::string tenant_named_by(const cap::JobRequest& request) {
    std::string_view tenant = engine::wire::trim(request.tenant_id());
    if (tenant.empty()) tenant = tenant_in_environment(request);
    return tenant.empty() ? "default" : std::string(tenant);
}

/// An approval or the bus writes this label, and no submitter.
[[nodiscard]] inline bool is_added_on_the_way(std::string_view label) {
    const std::string small = engine::wire::ascii_lower(label);
    return small.starts_with("approval_") || small == engine::wire::kMessageIdLabel;
}

/// Without the labels of which `is_meant` is true.
template <class Labels, class Predicate>
void erase_labels(Labels& labels, Predicate is_meant) {
    std::vector<std::string> erased;
    for (const auto& [label, value] : labels)
        if (is_meant(label)) erased.push_back(label);
    for (const std::string& label : erased) labels.erase(label);
}

/// All of them, as they are to be recorded; an empty one may be left out.
[[nodiscard]] inline std::vector<std::pair<std::string_view, std::string>> fields_of(const cap::JobRequest& request) {
    const cap::JobMetadata& meta = request.meta();
    const auto list = [](const auto& texts) {
        return texts.empty()
                   ? std::string{}
                   : engine::wire::json_text(nlohmann::json(std::vector<std::string>(texts.begin(), texts.end())));
    };
    std::map<std::string, std::string> labels(request.labels().begin(), request.labels().end());
    for (const auto& [name, value] : meta.labels()) labels[name] = value;
    const auto team = request.env().find("team_id");
    std::string actor_type;
    if (meta.actor_type() == cap::ACTOR_TYPE_HUMAN) actor_type = "human";
    if (meta.actor_type() == cap::ACTOR_TYPE_SERVICE) actor_type = "service";
    return {{"topic", std::string(engine::wire::trim(request.topic()))},
            {"tenant", tenant_named_by(request)},
            {"team", team == request.env().end() ? std::string{} : team->second},
            {"principal", request.principal_id()},
            {"memory_id", request.memory_id()},
            {"actor_id", meta.actor_id().empty() ? request.principal_id() : meta.actor_id()},
            {"actor_type", actor_type},
            {"pack_id", meta.pack_id()},
            {"idempotency_key", meta.idempotency_key()},
            {"capability", meta.capability()},
            {"risk_tags", list(meta.risk_tags())},
            {"requires", list(meta.requires_())},
            {"labels", labels.empty() ? std::string{} : engine::wire::json_text(nlohmann::json(labels))}};
}

/// Lists and objects may be spelt in more than one way.
[[nodiscard]] inline bool same_value(std::string_view field, std::string_view recorded, std::string_view expected) {
    if (recorded == expected) return true;
    if (field != "risk_tags" && field != "requires" && field != "labels") return false;
    const auto one = engine::wire::read_json(recorded);
    return !one.is_discarded() && one == engine::wire::read_json(expected);
}

}  // namespace lockstep::sim
