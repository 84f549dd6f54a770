#include "sim/oracles/result_from_its_worker.h"

#include <fmt/core.h>

#include "engine/wire/subjects.h"
#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

void ResultFromItsWorker::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view after,
                                     std::int64_t, std::int64_t) {
    sent_.string_set(key, after, upcoming());
}

void ResultFromItsWorker::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                                   const std::string*, std::string_view after) {
    if (const auto job = job_of_hash(key)) {
        if (field == "topic" && engine::wire::is_approval_gate(after)) gates_.emplace(*job);
        if (field == "worker_id") on_result(client, *job, after);
        if (field == "state" && after == "SUCCEEDED") on_success(client, *job);
    }
    sent_.hash_set(key, field, after, upcoming());
}

void ResultFromItsWorker::on_result(fakes::NodeId client, std::string_view job, std::string_view worker) {
    exercise();
    const std::string state = sent_.state_of(job);
    if (is_final(state) || sent_.believes(job, worker)) return;
    violated(
        client, job,
        sent_.is_out(job)
            ? fmt::format("a result of worker \"{}\" ends it, and it was sent to {}", worker, sent_.worker_of(job))
            : fmt::format("a result of worker \"{}\" ends it, and it is \"{}\": it was not sent out", worker, state),
        sent_.since(job));
}

void ResultFromItsWorker::on_success(fakes::NodeId client, std::string_view job) {
    const std::string state = sent_.state_of(job);
    if (sent_.is_out(job) || is_final(state) || gates_.contains(job)) return;
    violated(client, job, fmt::format("it succeeds, and it was \"{}\": it has not been sent out", state),
             sent_.since(job));
}

void ResultFromItsWorker::hash_removed(fakes::NodeId, std::string_view key, std::string_view field, std::string_view) {
    sent_.hash_removed(key, field, upcoming());
}

void ResultFromItsWorker::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal,
                                      const fakes::redis::Value&, std::int64_t) {
    sent_.key_removed(key, upcoming());
}

void ResultFromItsWorker::restored(const fakes::redis::Keyspace& now) { sent_.restored(now, present()); }

}  // namespace lockstep::sim
