#include "sim/oracles/tenant_walls.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"
#include "fakes/policy/glob.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/undoing.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;
using fakes::EventKind;
using fakes::When;
using Json = nlohmann::json;
using Names = std::vector<std::string>;

constexpr std::string_view kActivePrefix = "job:tenant:active:";
constexpr std::string_view kSettingsPrefix = "cfg:";
constexpr std::string_view kSystem = "cfg:system:default";
/// Slots and line of a tenant (engine/delivery-semantics.md).
constexpr std::string_view kTenantPrefixes[] = {
    "lockstep:tenant:slots:", "lockstep:tenant:waiting:", "lockstep:tenant:woken:"};

std::string normal(std::string_view tenant) {
    const std::string_view bare = wire::trim(tenant);
    return std::string(bare.empty() ? wire::kDefaultTenant : bare);
}

void merge_into(Json& target, const Json& addition) {
    for (const auto& [name, value] : addition.items()) {
        Json& place = target[name];
        if (place.is_object() && value.is_object())
            merge_into(place, value);
        else
            place = value;
    }
}

Json data_of(const std::string& text) {
    const Json document = Json::parse(text, nullptr, false);
    const bool given = document.is_object() && document.contains("data") && document["data"].is_object();
    return given ? document["data"] : Json::object();
}

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
bool within(const Names& allowed, const Names& bounds) {
    return std::ranges::all_of(allowed, [&bounds](const std::string& name) {
        const bool a_topic = name.starts_with("job.") || name.find_first_of("*?[") != std::string::npos;
        return !a_topic || contains(bounds, name) || std::ranges::any_of(bounds, [&name](const std::string& bound) {
            return fakes::policy::glob_matches(bound, name);
        });
    });
}

/// What is wrong with the settings that a question carries, if these two documents bind them; empty: nothing.
std::string lifted(const Json& effective, const std::string& system, const std::string& tenant) {
    Json bound = data_of(system);
    merge_into(bound, data_of(tenant));
    const Names denied = listed(effective, "denied_topics");
    for (const std::string& topic : listed(bound, "denied_topics"))
        if (!contains(denied, topic))
            return fmt::format("\"{}\" is denied for its tenant, and policy is not told so", topic);
    const Names bounds = listed(bound, "allowed_topics");
    const Names allowed = listed(effective, "allowed_topics");
    if (!bounds.empty() && (allowed.empty() || !within(allowed, bounds)))
        return "its tenant is allowed a few topics, and policy is told of others";
    return {};
}

}  // namespace

void TenantWalls::on_event(const fakes::Event& event, Time now) {
    switch (event.kind) {
        case EventKind::lock_acquired:
            if (!is_job_lock(event.key)) break;
            taken_up_.insert_or_assign({event.node, std::string(event.job)}, now);
            given_.insert_or_assign(std::string(event.job), event.node);
            if (const auto renamed = renamed_.find(event.job); renamed != renamed_.end()) renamed_.erase(renamed);
            break;
        case EventKind::lock_released:
            if (const auto given = given_.find(event.job); given != given_.end() && is_job_lock(event.key))
                given_.erase(given);
            break;
        case EventKind::kernel_check:
            if (event.when == When::before) on_question(event);
            break;
        case EventKind::publish:
            if (event.when == When::before && event.packet != nullptr && event.packet->has_job_request() &&
                event.packet->sender_id() == kSagaSender)
                on_compensation(event);
            break;
        default: break;
    }
}

void TenantWalls::note_request(fakes::NodeId client, std::string_view name, std::string_view json) {
    const cap::JobRequest* request = read_request(json);
    if (!request) return;
    std::string tenant(wire::tenant_of(*request));
    const auto [entry, fresh] = jobs_.try_emplace(std::string(name));
    Job& job = entry->second;
    if (!fresh && is_scheduler(client) && job.tenant != tenant && !is_torn(name))
        violated(client, name, fmt::format("its stored request was {}'s, and becomes {}'s", job.tenant, tenant),
                 job.stored);
    tenants_.insert(tenant);
    if (!fresh && job.tenant != tenant) {
        job.former = job.tenant;
        job.replaced = now_;
    }
    job.tenant = std::move(tenant);
    job.conflict = wire::tenant_conflict(*request).value_or("");
    job.stored = upcoming();
}

void TenantWalls::note_document(std::string_view key, std::string_view text) {
    const Json document = Json::parse(text, nullptr, false);
    const bool readable =
        text.empty() || (document.is_object() &&
                         (!document.contains("data") || document["data"].is_object() || document["data"].is_null()));
    restricted_ = restricted_ || text.find("denied_topics") != std::string_view::npos ||
                  text.find("allowed_topics") != std::string_view::npos;
    documents_[std::string(key)].push_back({std::string(text), readable, now_});
}

void TenantWalls::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                             std::int64_t, std::int64_t) {
    if (key.starts_with(kRequestPrefix)) note_request(client, key.substr(kRequestPrefix.size()), after);
    if (key.starts_with(kSettingsPrefix)) note_document(key, after);
}

void TenantWalls::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                              std::int64_t) {
    if (key.starts_with(kRequestPrefix)) {
        const auto job = jobs_.find(key.substr(kRequestPrefix.size()));
        if (job != jobs_.end()) jobs_.erase(job);
    }
    if (key.starts_with(kSettingsPrefix)) note_document(key, "");
}

void TenantWalls::restored(const fakes::redis::Keyspace& now) {
    jobs_.clear();
    for (auto& [key, versions] : documents_)
        if (now.find(key) == nullptr) versions.push_back({"", true, now_});
    for (const std::string_view key : now.keys()) {
        const auto* text = std::get_if<std::string>(&now.find(key)->value);
        if (text == nullptr) continue;
        if (key.starts_with(kRequestPrefix)) note_request({}, key.substr(kRequestPrefix.size()), *text);
        if (key.starts_with(kSettingsPrefix)) note_document(key, *text);
    }
}

/// Null where nothing is stored, or too little is left to say whose it is.
const TenantWalls::Job* TenantWalls::find(std::string_view job) const {
    const auto found = jobs_.find(job);
    return found == jobs_.end() || is_torn(job) ? nullptr : &found->second;
}

void TenantWalls::belongs(fakes::NodeId client, std::string_view name, std::string_view tenant,
                          std::string_view where) {
    const Job* job = is_scheduler(client) ? find(name) : nullptr;
    if (job == nullptr) return;
    if (tenants_.size() > 1) exercise();
    if (normal(tenant) != job->tenant)
        violated(client, name, fmt::format("it is a job of {}, and {} {}", job->tenant, where, normal(tenant)),
                 job->stored);
}

void TenantWalls::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                           std::string_view after) {
    const auto job = field == "tenant" ? job_of_hash(key) : std::nullopt;
    if (!job) return;
    if (!is_scheduler(client)) renamed_.insert_or_assign(std::string(*job), normal(after));
    belongs(client, *job, after, "its record names");
}

/// A job is counted by what its record says, and who took it up does not read that again.
void TenantWalls::counts(fakes::NodeId client, std::string_view job, std::string_view tenant, std::string_view where) {
    const auto renamed = renamed_.find(job);
    const bool as_renamed = renamed != renamed_.end() && renamed->second == normal(tenant);
    if (!as_renamed) belongs(client, job, tenant, where);
}

void TenantWalls::set_added(fakes::NodeId client, std::string_view key, std::string_view member) {
    if (key.starts_with(kActivePrefix)) counts(client, member, key.substr(kActivePrefix.size()), "it counts as one of");
}

void TenantWalls::zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double*, double) {
    for (const std::string_view prefix : kTenantPrefixes)
        if (key.starts_with(prefix)) counts(client, member, key.substr(prefix.size()), "it takes or awaits a slot of");
}

void TenantWalls::on_question(const fakes::Event& event) {
    const Job* known = find(event.job);
    cap::PolicyCheckRequest question;
    if (known == nullptr || !question.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size())))
        return;
    const Job& job = *known;
    if (tenants_.size() > 1) exercise();
    // About the request that it read, it may ask as late as it likes.
    if (question.tenant() == job.former && had_it_before(event.node, event.job, job.replaced)) return;
    if (!job.conflict.empty())
        violated(event.node, event.job, fmt::format("{}, and policy is asked about it", job.conflict), job.stored);
    else if (question.tenant() != job.tenant)
        violated(event.node, event.job,
                 fmt::format("it is a job of {}, and policy is asked as for {}", job.tenant, question.tenant()),
                 job.stored);
    else if (const auto given = given_.find(event.job);
             restricted_ && given != given_.end() && given->second == event.node)
        judge_settings(event, job.tenant, question.effective_config());
}

bool TenantWalls::had_it_before(fakes::NodeId node, std::string_view job, Time then) const {
    const auto taken = taken_up_.find({node, std::string(job)});
    return taken != taken_up_.end() && taken->second <= then;
}

std::vector<std::string> TenantWalls::texts_since(const std::string& key, Time since) const {
    const auto found = documents_.find(key);
    if (found == documents_.end()) return {""};
    const History& history = found->second;
    Names texts;
    bool unreadable = false;
    for (std::size_t i = 0; i < history.size(); ++i) {
        const bool over = i + 1 < history.size() && history[i + 1].from < since;
        if (over) continue;
        unreadable = unreadable || !history[i].readable;
        if (history[i].readable) texts.push_back(history[i].text);
    }
    if (history.front().from >= since) texts.emplace_back();
    for (const Version& version : history)
        if (unreadable && version.readable) texts.push_back(version.text);
    return texts;
}

void TenantWalls::judge_settings(const fakes::Event& event, const std::string& tenant, const std::string& effective) {
    const Time since = taken_up_.at({event.node, std::string(event.job)});
    Json settings = Json::parse(effective, nullptr, false);
    if (!settings.is_object()) settings = Json::object();
    exercise();
    std::string complaint;
    for (const std::string& system : texts_since(std::string(kSystem), since)) {
        for (const std::string& own : texts_since("cfg:org:" + tenant, since)) {
            complaint = lifted(settings, system, own);
            if (complaint.empty()) return;
        }
    }
    if (!complaint.empty()) violated(event.node, event.job, complaint);
}

void TenantWalls::on_compensation(const fakes::Event& event) {
    const cap::JobRequest& undo = event.packet->job_request();
    const Job* job = find(undo.parent_job_id());
    if (job == nullptr) return;
    if (tenants_.size() > 1) exercise();
    const auto conflict = wire::tenant_conflict(undo);
    if (conflict || wire::tenant_of(undo) != job->tenant)
        violated(event.node, undo.parent_job_id(),
                 fmt::format("it is a job of {}, and is undone by one of {}", job->tenant,
                             conflict.value_or(std::string(wire::tenant_of(undo)))),
                 job->stored);
}

}  // namespace lockstep::sim
