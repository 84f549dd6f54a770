#include "sim/oracles/sent_out.h"

#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kWorkerField = "ls_worker";

}  // namespace

void SentOut::look_again(std::string_view job, EventNumber event) {
    Dispatch& dispatch = dispatches_[std::string(job)];
    const bool out = at_work(states_.of(job));
    if (dispatch.out == out) return;
    dispatch.out = out;
    dispatch.since = event;
}

void SentOut::name(std::string_view job, std::string_view worker, EventNumber event) {
    Dispatch& dispatch = dispatches_[std::string(job)];
    if (dispatch.worker == worker) return;
    dispatch.worker = worker;
    dispatch.since = event;
}

void SentOut::string_set(std::string_view key, EventNumber event) {
    if (const auto job = job_of_state_key(key)) look_again(*job, event);
}

void SentOut::hash_set(std::string_view key, std::string_view field, std::string_view after, EventNumber event) {
    const auto job = job_of_hash(key);
    if (!job) return;
    if (field == "state") look_again(*job, event);
    if (field == kWorkerField) name(*job, after, event);
}

void SentOut::hash_removed(std::string_view key, std::string_view field, EventNumber event) {
    const auto job = job_of_hash(key);
    if (job && field == kWorkerField) name(*job, {}, event);
}

void SentOut::key_removed(std::string_view key, EventNumber event) {
    if (const auto job = job_of_hash(key)) {
        name(*job, {}, event);
        look_again(*job, event);
    }
    if (const auto job = job_of_state_key(key)) look_again(*job, event);
}

void SentOut::restored(const fakes::redis::Keyspace& now, EventNumber event) {
    for (auto& [job, dispatch] : dispatches_) {
        const std::string key = std::string(kJobHashPrefix) + job;
        dispatch = {hash_field(now, key, kWorkerField).value_or(""), at_work(states_.of(job)), event};
    }
}

bool SentOut::is_out(std::string_view job) const {
    const auto found = dispatches_.find(job);
    return found != dispatches_.end() && found->second.out;
}

std::string SentOut::worker_of(std::string_view job) const {
    const auto found = dispatches_.find(job);
    return found == dispatches_.end() ? std::string{} : found->second.worker;
}

bool SentOut::believes(std::string_view job, std::string_view worker, bool any_worker) const {
    const std::string sent_to = worker_of(job);
    return is_out(job) && !worker.empty() && (any_worker || sent_to.empty() || sent_to == worker);
}

EventNumber SentOut::since(std::string_view job) const {
    const auto found = dispatches_.find(job);
    return found == dispatches_.end() ? 0 : found->second.since;
}

}  // namespace lockstep::sim
