#include "fakes/gateway/record_fields.h"

#include <fmt/core.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"

namespace lockstep::fakes::records {
namespace {

using nlohmann::json;

std::string env_of(const cap::JobRequest& request, const char* key) {
    const auto found = request.env().find(key);
    return found == request.env().end() ? std::string() : found->second;
}

std::string list_of(const google::protobuf::RepeatedPtrField<std::string>& values) {
    return values.empty() ? std::string()
                          : engine::wire::json_text(json(std::vector<std::string>(values.begin(), values.end())));
}

std::string labels_of(const cap::JobRequest& request) {
    std::map<std::string, std::string> labels(request.labels().begin(), request.labels().end());
    for (const auto& [label, value] : request.meta().labels()) labels[label] = value;
    return labels.empty() ? std::string() : engine::wire::json_text(json(labels));
}

std::string actor_type_of(const cap::JobMetadata& meta) {
    if (meta.actor_type() == cap::ACTOR_TYPE_HUMAN) return "human";
    if (meta.actor_type() == cap::ACTOR_TYPE_SERVICE) return "service";
    return {};
}

}  // namespace

std::string meta_key(std::string_view job) { return fmt::format("job:meta:{}", job); }
std::string request_key(std::string_view job) { return fmt::format("job:req:{}", job); }
std::string lock_key(std::string_view job) { return fmt::format("cordum:scheduler:job:{}", job); }

std::string idempotency_key(const cap::JobRequest& request) {
    const std::string_view key = engine::wire::trim(request.meta().idempotency_key());
    if (key.empty()) return {};
    return fmt::format("job:idempotency:{}:{}", engine::wire::tenant_of(request), key);
}

std::string tenant_field(const cap::JobRequest& request) {
    if (!request.meta().tenant_id().empty()) return request.meta().tenant_id();
    if (!request.tenant_id().empty()) return request.tenant_id();
    return env_of(request, "tenant_id");
}

engine::RedisCommand set_meta(const cap::JobRequest& request) {
    const cap::JobMetadata& meta = request.meta();
    engine::RedisCommand command{"HSET", meta_key(request.job_id())};
    const auto always = [&command](const char* field, const std::string& value) {
        command.emplace_back(field);
        command.push_back(value);
    };
    const auto unless_empty = [&always](const char* field, const std::string& value) {
        if (!value.empty()) always(field, value);
    };
    always("topic", request.topic());
    always("tenant", tenant_field(request));
    always("team", env_of(request, "team_id"));
    always("principal", request.principal_id());
    always("memory_id", request.memory_id());
    unless_empty("actor_id", meta.actor_id().empty() ? request.principal_id() : meta.actor_id());
    unless_empty("actor_type", actor_type_of(meta));
    unless_empty("idempotency_key", meta.idempotency_key());
    unless_empty("capability", meta.capability());
    unless_empty("pack_id", meta.pack_id());
    unless_empty("risk_tags", list_of(meta.risk_tags()));
    unless_empty("requires", list_of(meta.requires_()));
    unless_empty("labels", labels_of(request));
    return command;
}

std::string rfc3339(engine::WallTime time) {
    const auto since_epoch = time.time_since_epoch();
    const auto day = std::chrono::floor<std::chrono::days>(since_epoch);
    const std::chrono::year_month_day date{std::chrono::sys_days{day}};
    const std::chrono::hh_mm_ss clock{since_epoch - day};
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::string micros(engine::WallTime time) { return fmt::format("{}", engine::to_unix_micros(time)); }

}  // namespace lockstep::fakes::records
