#include "sim/oracles/tenant_limit.h"

#include <fmt/core.h>

#include "engine/wire/messages.h"
#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

void TenantLimit::on_event(const fakes::Event& event, Time) {
    if (event.kind != fakes::EventKind::kernel_check || event.when != fakes::When::applied || event.job.empty()) return;
    cap::PolicyCheckResponse answer;
    if (!answer.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size()))) return;
    jobs_[std::string(event.job)].limit = answer.constraints().budgets().max_concurrent_jobs();
}

void TenantLimit::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                           std::string_view after) {
    const auto name = job_of_hash(key);
    if (!name || (field != "state" && field != "tenant" && field != "safety_decision")) return;
    const auto entry = jobs_.try_emplace(std::string(*name)).first;
    Job& job = entry->second;
    if (field == "safety_decision") {
        // Let through without an answer, or waiting for one: what an earlier answer said about limits binds nobody.
        if (after == "UNAVAILABLE") job.limit = 0;
        return;
    }
    if (field == "tenant") {
        job.tenant = after.empty() ? "default" : after;
        return;
    }
    const bool joins = after == "SCHEDULED" && !on_its_way(job.state);
    job.state = after;
    if (joins) job.changed = present();
    if (joins && job.limit > 0 && !lost_.in_part(entry->first)) check(client, entry->first, job);
}

void TenantLimit::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                              std::int64_t) {
    const auto name = job_of_hash(key) ? job_of_hash(key) : job_of_state_key(key);
    const auto found = name ? jobs_.find(*name) : jobs_.end();
    if (found != jobs_.end()) found->second.state = recorded_.of(*name);
}

void TenantLimit::restored(const fakes::redis::Keyspace&) {
    for (auto& [name, job] : jobs_) job.state = recorded_.of(name);
}

void TenantLimit::check(fakes::NodeId client, const std::string& name, const Job& job) {
    std::int64_t others = 0;
    std::int64_t waiting = 0;
    EventNumber last_other = 0;  // the one that filled the last place
    for (const auto& [other, facts] : jobs_) {
        if (other == name || facts.tenant != job.tenant || lost_.in_part(other)) continue;
        others += on_its_way(facts.state) ? 1 : 0;
        if (on_its_way(facts.state)) last_other = std::max(last_other, facts.changed);
        waiting += facts.state == "PENDING" ? 1 : 0;
    }
    if (waiting > 0 && others + 1 == job.limit) exercise();
    if (others >= job.limit)
        violated(client, name,
                 fmt::format("it was scheduled at a limit of {} while {} other jobs of its tenant were on their way",
                             job.limit, others),
                 last_other);
}

}  // namespace lockstep::sim
