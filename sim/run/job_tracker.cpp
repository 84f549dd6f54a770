#include "sim/run/job_tracker.h"

#include <algorithm>
#include <utility>

#include "sim/model/job_keys.h"

namespace lockstep::sim {

void JobTracker::on_event(const fakes::Event& event, Time) {
    const auto [entry, fresh] = jobs_.try_emplace(std::string(event.job));
    if (fresh) count(entry->second, 1);
    if (event.kind == fakes::EventKind::state) enter(entry->second, std::string(event.to));
    const bool declined = event.kind == fakes::EventKind::submit && event.when == fakes::When::answered &&
                          event.outcome == fakes::EventOutcome::not_applied;
    if (declined != entry->second.declined) {
        count(entry->second, -1);
        entry->second.declined = declined;
        count(entry->second, 1);
    }
}

void JobTracker::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view after,
                            std::int64_t, std::int64_t) {
    recorded_.string_set(key, after);
}

void JobTracker::hash_set(fakes::NodeId, std::string_view key, std::string_view field, const std::string*,
                          std::string_view after) {
    recorded_.hash_set(key, field, after);
    if (field != "failure_reason") return;
    const auto name = job_of_hash(key);
    if (const auto found = name ? jobs_.find(*name) : jobs_.end(); found != jobs_.end()) found->second.reason = after;
}

void JobTracker::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why, const fakes::redis::Value&,
                             std::int64_t) {
    recorded_.key_removed(key);
    const auto name = job_of_hash(key) ? job_of_hash(key) : job_of_state_key(key);
    const auto found = name ? jobs_.find(*name) : jobs_.end();
    if (found == jobs_.end()) return;
    if (why == fakes::redis::Removal::expired) found->second.expired = true;
    read_again(found->first, found->second);
}

void JobTracker::restored(const fakes::redis::Keyspace& now) {
    recorded_.restored(now);
    for (auto& [name, job] : jobs_) read_again(name, job);
}

void JobTracker::read_again(const std::string& name, Job& job) {
    std::string state = recorded_.of(name);
    if (state.empty() && job.expired) return;
    enter(job, std::move(state));
}

void JobTracker::enter(Job& job, std::string state) {
    count(job, -1);
    job.known = job.known || !state.empty();
    job.expired = job.expired && state.empty();
    job.state = std::move(state);
    count(job, 1);
}

void JobTracker::count(const Job& job, int by) {
    if (job.state.empty() && job.declined) return;
    if (job.state.empty() && job.known) {
        forgotten_ += static_cast<std::size_t>(by);
    } else if (!is_final(job.state) && job.state != "APPROVAL_REQUIRED") {
        unfinished_ += static_cast<std::size_t>(by);
    }
}

std::map<std::string, std::int64_t> JobTracker::states() const {
    std::map<std::string, std::int64_t> counts;
    for (const auto& [name, job] : jobs_) ++counts[job.state];
    return counts;
}

std::string JobTracker::one_of(std::string_view state, bool in_it) const {
    const auto found =
        std::ranges::find_if(jobs_, [&](const auto& entry) { return (entry.second.state == state) == in_it; });
    return found == jobs_.end() ? std::string{} : found->first;
}

std::vector<JobEnd> JobTracker::bad_ends() const {
    std::vector<JobEnd> ends;
    for (const auto& [name, job] : jobs_)
        if (!job.declined && job.state != "SUCCEEDED") ends.push_back({name, job.state, job.reason});
    return ends;
}

std::string JobTracker::state_of(std::string_view job) const {
    const auto found = jobs_.find(job);
    return found == jobs_.end() ? std::string{} : found->second.state;
}

}  // namespace lockstep::sim
