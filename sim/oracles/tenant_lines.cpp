#include "sim/oracles/tenant_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>

#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using engine::Duration;

constexpr std::string_view kSlotsOf = "lockstep:tenant:slots:";
constexpr std::string_view kLineOf = "lockstep:tenant:waiting:";
constexpr std::string_view kCalledOf = "lockstep:tenant:woken:";
constexpr std::string_view kTurnsOf = "lockstep:tenant:turns:";
constexpr std::string_view kLinedUp = "lockstep:tenants:waiting";

/// How long a slot is kept for somebody who was called.
constexpr Duration kKeptInReserve = std::chrono::seconds{10};
/// A script reads the clock a little after it has begun.
constexpr Duration kWithinAScript = std::chrono::milliseconds{100};
/// More of them are left to the next call.
constexpr std::size_t kLookedAtOnce = 16;
constexpr Duration kSlackForATick = std::chrono::seconds{30};

std::optional<std::string_view> rest_of(std::string_view prefix, std::string_view key) {
    if (!key.starts_with(prefix)) return std::nullopt;
    return key.substr(prefix.size());
}

std::int64_t whole_number(std::string_view text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

TenantLines::TenantLines(const engine::Tunables& tunables, const Model& model) : tunables_(tunables), model_(model) {}

std::vector<TenantLines::Finding> TenantLines::command(fakes::NodeId client, std::span<const std::string_view> words,
                                                       std::int64_t now_ms, Time now, Time calm_since) {
    if (client_.valid()) judge(now, calm_since);
    Step done;
    std::swap(done, step_);
    client_ = words.empty() || !is_scheduler(client) ? fakes::NodeId{} : client;
    now_ms_ = now_ms;
    now_ = now;
    return std::move(done.found);
}

void TenantLines::touch(fakes::NodeId client, Tenant& tenant) {
    tenant.moved = now_;
    tenant.unsure = tenant.unsure || !client.valid() || client != client_;
}

void TenantLines::zset_listed(std::string_view key) { step_.ticks = step_.ticks || key == kLinedUp; }

void TenantLines::zset_set(fakes::NodeId client, std::string_view key, std::string_view member, double score) {
    if (key == kLinedUp) {
        listed_.emplace(member);
        return;
    }
    std::string job(member);
    if (const auto slots = rest_of(kSlotsOf, key)) {
        Tenant& tenant = tenants_[std::string(*slots)];
        touch(client, tenant);
        tenant.slots.insert(std::move(job));
    } else if (const auto line = rest_of(kLineOf, key)) {
        std::string name(*line);
        Tenant& tenant = tenants_[name];
        touch(client, tenant);
        std::erase_if(tenant.waiting, [&job](const Place& place) { return place.second == job; });
        tenant.waiting.emplace(score, job);
        step_.standing.emplace_back(std::move(name), std::move(job));
    } else if (const auto called = rest_of(kCalledOf, key)) {
        std::string name(*called);
        Tenant& tenant = tenants_[name];
        touch(client, tenant);
        tenant.woken.insert_or_assign(job, score);
        step_.called.emplace_back(std::move(name), std::move(job));
    }
}

void TenantLines::zset_removed(fakes::NodeId client, std::string_view key, std::string_view member, double before) {
    if (key == kLinedUp) {
        if (const auto listed = listed_.find(member); listed != listed_.end()) listed_.erase(listed);
        step_.unlisted.emplace(member);
        return;
    }
    std::string job(member);
    if (const auto slots = rest_of(kSlotsOf, key)) {
        std::string name(*slots);
        Tenant& tenant = tenants_[name];
        touch(client, tenant);
        tenant.slots.erase(job);
        step_.struck.insert(std::move(name));
    } else if (const auto line = rest_of(kLineOf, key)) {
        Tenant& tenant = tenants_[std::string(*line)];
        touch(client, tenant);
        tenant.waiting.erase(Place{before, job});
        step_.left.insert_or_assign(std::move(job), before);
    } else if (const auto called = rest_of(kCalledOf, key)) {
        Tenant& tenant = tenants_[std::string(*called)];
        touch(client, tenant);
        tenant.woken.erase(job);
        step_.uncalled.insert_or_assign(std::move(job), before);
    }
}

void TenantLines::hash_set(std::string_view key, std::string_view field, const std::string* before,
                           std::string_view value) {
    if (const auto turns = rest_of(kTurnsOf, key)) {
        if (field != "look" && field != "asked_at")
            tenants_[std::string(*turns)].limits.insert_or_assign(std::string(field), whole_number(value));
        return;
    }
    if (!field.starts_with("ls_")) return;
    const auto name = job_of_hash(key);
    if (!name) return;
    if (field == "ls_waits_since") {
        jobs_[std::string(*name)].since = value;
        if (before != nullptr && !before->empty() && *before != value && client_.valid())
            object(*name, fmt::format("it has waited in its tenant's line since {}, and is put there as of {}", *before,
                                      value));
    } else if (field == "ls_waits_limit") {
        jobs_[std::string(*name)].limit = value;
        step_.told.emplace_back(*name);
    } else if (field == "ls_next_attempt_at") {
        jobs_[std::string(*name)].has_delay = true;
    }
}

void TenantLines::hash_removed(std::string_view key, std::string_view field) {
    if (const auto turns = rest_of(kTurnsOf, key)) {
        const auto tenant = tenants_.find(*turns);
        if (tenant == tenants_.end()) return;
        const auto limit = tenant->second.limits.find(field);
        if (limit != tenant->second.limits.end()) tenant->second.limits.erase(limit);
        return;
    }
    if (!field.starts_with("ls_")) return;
    const auto name = job_of_hash(key);
    const auto job = name ? jobs_.find(*name) : jobs_.end();
    if (job == jobs_.end()) return;
    if (field == "ls_waits_since") job->second.since.clear();
    if (field == "ls_waits_limit") job->second.limit.clear();
    if (field == "ls_next_attempt_at") job->second.has_delay = false;
    if (job->second == Job{}) jobs_.erase(job);
}

void TenantLines::key_removed(std::string_view key, fakes::redis::Removal why) {
    // The last member of a set has been told of before; what went otherwise is lost.
    const bool lost = why != fakes::redis::Removal::deleted;
    if (key == kLinedUp) {
        listed_.clear();
        list_unsure_ = list_unsure_ || lost;
        return;
    }
    for (const std::string_view prefix : {kSlotsOf, kLineOf, kCalledOf, kTurnsOf}) {
        const auto name = rest_of(prefix, key);
        const auto tenant = name ? tenants_.find(*name) : tenants_.end();
        if (tenant == tenants_.end()) continue;
        if (prefix == kSlotsOf) tenant->second.slots.clear();
        if (prefix == kLineOf) tenant->second.waiting.clear();
        if (prefix == kCalledOf) tenant->second.woken.clear();
        if (prefix == kTurnsOf) tenant->second.limits.clear();
        tenant->second.unsure = tenant->second.unsure || lost;
    }
    if (const auto name = job_of_hash(key))
        if (const auto job = jobs_.find(*name); job != jobs_.end()) jobs_.erase(job);
}

void TenantLines::restored(const fakes::redis::Keyspace& now) {
    jobs_.clear();
    for (const std::string_view key : now.keys()) {
        if (!job_of_hash(key)) continue;
        for (const std::string_view field : {"ls_waits_since", "ls_waits_limit", "ls_next_attempt_at"})
            if (const auto value = hash_field(now, key, field)) hash_set(key, field, nullptr, *value);
    }
    for (auto& [name, tenant] : tenants_) tenant.unsure = true;
    list_unsure_ = true;
    step_ = {};
}

void TenantLines::object(std::string_view job, std::string detail) {
    step_.found.push_back({client_, std::string(job), std::move(detail)});
}

bool TenantLines::stands(const std::string& job) const {
    const std::string_view state = model_.recorded_state(job);
    const auto known = jobs_.find(job);
    return !state.empty() && !is_final(state) && !on_its_way(state) && known != jobs_.end() &&
           !known->second.since.empty();
}

std::int64_t TenantLines::limit_of(const Tenant& tenant, const std::string& job) const {
    const auto known = jobs_.find(job);
    const std::string& told = known == jobs_.end() ? job : known->second.limit;
    const auto now = tenant.limits.find(told);
    return known == jobs_.end() ? 0 : now != tenant.limits.end() ? now->second : whole_number(told);
}

bool TenantLines::was_called_long_ago(double called) const {
    const auto kept = static_cast<double>(engine::to_millis(kKeptInReserve + kWithinAScript));
    return !clocks_set_ && static_cast<double>(now_ms_) - called / 1000 > kept;
}

void TenantLines::judge(Time now, Time calm_since) {
    for (const std::string& name : step_.struck)
        if (const Tenant& tenant = tenants_[name]; !tenant.unsure) judge_free_slot(name, tenant);
    for (const auto& [name, job] : step_.called)
        if (const Tenant& tenant = tenants_[name]; !tenant.unsure) judge_call(tenant, job);
    std::set<std::string, std::less<>> callers;
    for (const auto& [name, job] : step_.called) callers.insert(name);
    for (const std::string& name : callers)
        if (const Tenant& tenant = tenants_[name]; !tenant.unsure) judge_number_called(name, tenant);
    for (const auto& [name, job] : step_.standing)
        if (const Tenant& tenant = tenants_[name]; !tenant.unsure) judge_place(tenant, job);
    for (const std::string& job : step_.told) {
        const auto known = jobs_.find(job);
        if (known != jobs_.end() && !known->second.since.empty() && known->second.has_delay)
            object(job,
                   "it comes into its tenant's line with the delay of an earlier try, and would wait for that when it "
                   "is called");
    }
    for (const std::string& name : step_.unlisted) {
        const auto tenant = tenants_.find(name);
        if (tenant == tenants_.end() || tenant->second.unsure || list_unsure_ || listed_.contains(name)) continue;
        if (tenant->second.waiting.empty() && tenant->second.woken.empty()) continue;
        object({},
               fmt::format(
                   "tenant {} is taken off the tenants with a line, and {} stand in it, and {} were called out of it",
                   name, tenant->second.waiting.size(), tenant->second.woken.size()));
    }
    if (step_.ticks) judge_tick(now, calm_since);
}

void TenantLines::judge_free_slot(const std::string& name, const Tenant& tenant) {
    if (!tenant.waiting.empty() || !tenant.woken.empty()) ++handed_on_;
    if (tenant.woken.size() <= kLookedAtOnce) {
        for (const auto& [job, called] : tenant.woken)
            if (was_called_long_ago(called) && stands(job))
                object(job,
                       fmt::format(
                           "it was called for a slot of tenant {} {:.0f} ms ago and has not come, and one that is free "
                           "is not handed on",
                           name, static_cast<double>(now_ms_) - called / 1000));
    }
    const auto taken = static_cast<std::int64_t>(tenant.slots.size() + tenant.woken.size());
    std::size_t looked_at = step_.left.size();  // whom this command has called or struck off it has looked at, too
    for (const auto& [since, job] : tenant.waiting) {
        if (++looked_at > kLookedAtOnce) return;
        const std::int64_t limit = limit_of(tenant, job);
        if (!stands(job) || (limit != 0 && taken >= limit)) continue;
        object(job, fmt::format(
                        "a slot of tenant {} is given back, {} of {} are taken or kept for somebody, and it stands in "
                        "line and is not called",
                        name, taken, limit));
        return;
    }
}

void TenantLines::judge_call(const Tenant& tenant, const std::string& job) {
    const auto place = step_.left.find(job);
    if (place == step_.left.end() || !tenant.woken.contains(job)) return;
    const std::int64_t limit = limit_of(tenant, job);
    for (const auto& [since, other] : tenant.waiting) {
        if (since >= place->second) return;
        const std::int64_t others = limit_of(tenant, other);
        const bool no_stricter = others == 0 || (limit != 0 && others >= limit);
        if (!no_stricter || !stands(other)) continue;
        object(job, fmt::format("it is called out of its tenant's line, and {} stands before it", other));
        return;
    }
}

/// A tick calls one for whom there is no room, to ask policy; that one alone.
void TenantLines::judge_number_called(const std::string& name, const Tenant& tenant) {
    std::int64_t widest = 0;
    int called = 0;
    for (const auto& [of, job] : step_.called) {
        if (of != name || !tenant.woken.contains(job)) continue;
        const std::int64_t limit = limit_of(tenant, job);
        if (limit == 0) return;
        widest = std::max(widest, limit);
        ++called;
    }
    const auto taken = static_cast<std::int64_t>(tenant.slots.size() + tenant.woken.size());
    if (called < 2 || taken <= widest) return;
    object(step_.called.back().second,
           fmt::format("{} are called out of the line of tenant {}, and {} have a slot or one in reserve where {} may",
                       called, name, taken, widest));
}

void TenantLines::judge_place(const Tenant& tenant, const std::string& job) {
    const auto known = jobs_.find(job);
    const auto place = std::ranges::find(tenant.waiting, job, &Place::second);
    if (known == jobs_.end() || known->second.since.empty() || place == tenant.waiting.end()) return;
    const auto since = static_cast<double>(whole_number(known->second.since));
    if (place->first <= since) return;
    // What is to come was written before the clock was set back.
    const auto called = step_.uncalled.find(job);
    const bool did_not_come =
        called != step_.uncalled.end() &&
        (clocks_set_ || static_cast<double>(now_ms_) - called->second / 1000 >=
                            static_cast<double>(engine::to_millis(kKeptInReserve - kWithinAScript)));
    // It may have gone to the end before.
    const auto before = step_.left.find(job);
    const bool stays = before != step_.left.end() && before->second >= place->first;
    if (!did_not_come && !stays && !clocks_set_)
        object(job,
               fmt::format("it has waited in its tenant's line since {}, and is put there behind who has come since",
                           known->second.since));
}

void TenantLines::judge_tick(Time now, Time calm_since) {
    if (clocks_set_) return;
    const Duration bound =
        kKeptInReserve + 4 * tunables_.replayer_interval + tunables_.circuit_open_for + kSlackForATick;
    if (now - calm_since <= bound) return;
    for (const auto& [name, tenant] : tenants_) {
        if (tenant.unsure || (tenant.waiting.empty() && tenant.woken.empty()) || now - tenant.moved <= bound) continue;
        const std::string& job = tenant.waiting.empty() ? tenant.woken.begin()->first : tenant.waiting.begin()->second;
        if (!stands(job)) continue;
        object(job, fmt::format("nothing has moved in the line of tenant {} for {} ms, and no tick has called it", name,
                                engine::to_millis(now - tenant.moved)));
    }
}

}  // namespace lockstep::sim
