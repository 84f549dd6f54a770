#include "engine/store/job_fields.h"

#include <map>
#include <nlohmann/json.hpp>

#include "engine/store/keys.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

using Labels = std::map<std::string, std::string>;

std::string env_of(const cap::JobRequest& request, const std::string& key) {
    const auto found = request.env().find(key);
    return found == request.env().end() ? std::string{} : found->second;
}

Labels merged_labels(const cap::JobRequest& request) {
    Labels labels(request.labels().begin(), request.labels().end());
    for (const auto& [key, value] : request.meta().labels()) labels[key] = value;
    return labels;
}

std::string actor_type(const cap::JobMetadata& meta) {
    switch (meta.actor_type()) {
        case cap::ACTOR_TYPE_HUMAN: return "human";
        case cap::ACTOR_TYPE_SERVICE: return "service";
        default: return {};
    }
}

template <class Repeated>
std::string json_list(const Repeated& values) {
    if (values.empty()) return {};
    return wire::json_text(nlohmann::json(std::vector<std::string>(values.begin(), values.end())));
}

}  // namespace

std::vector<std::string> job_meta_fields(const cap::JobRequest& request) {
    const cap::JobMetadata& meta = request.meta();
    std::vector<std::string> fields{"topic",     request.topic(),
                                    "tenant",    std::string(wire::tenant_of(request)),
                                    "team",      env_of(request, "team_id"),
                                    "principal", request.principal_id(),
                                    "memory_id", request.memory_id()};
    const auto add = [&fields](const char* name, std::string value) {
        if (value.empty()) return;
        fields.emplace_back(name);
        fields.push_back(std::move(value));
    };
    add("actor_id", meta.actor_id().empty() ? request.principal_id() : meta.actor_id());
    add("actor_type", actor_type(meta));
    add("idempotency_key", meta.idempotency_key());
    add("capability", meta.capability());
    add("pack_id", meta.pack_id());
    add("risk_tags", json_list(meta.risk_tags()));
    add("requires", json_list(meta.requires_()));
    const Labels labels = merged_labels(request);
    if (!labels.empty()) add("labels", wire::json_text(nlohmann::json(labels)));
    return fields;
}

std::string idempotency_key_of(const cap::JobRequest& request) {
    const std::string_view key = wire::trim(request.meta().idempotency_key());
    if (key.empty()) return {};
    return keys::idempotency(wire::tenant_of(request), key);
}

}  // namespace lockstep::engine
