#include "sim/oracles/result_from_its_worker.h"

#include <fmt/core.h>

#include "engine/wire/subjects.h"
#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

void ResultFromItsWorker::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                                   const std::string* before, std::string_view after) {
    if (const auto job = job_of_hash(key)) {
        if (field == "topic" && engine::wire::is_approval_gate(after)) gates_.emplace(*job);
        if (field == "worker_id") on_result(client, *job, after);
        if (field == "state" && after == "SUCCEEDED")
            on_success(client, *job, before == nullptr || before->empty() ? recorded_.mirror_of(*job) : *before);
    }
}

void ResultFromItsWorker::on_result(fakes::NodeId client, std::string_view job, std::string_view worker) {
    exercise();
    const std::string state = recorded_.of(job);
    if (is_final(state) || sent_.believes(job, worker, any_worker_)) return;
    violated(
        client, job,
        sent_.is_out(job)
            ? fmt::format("a result of worker \"{}\" ends it, and it was sent to {}", worker, sent_.worker_of(job))
            : fmt::format("a result of worker \"{}\" ends it, and it is \"{}\": it was not sent out", worker, state),
        sent_.since(job));
}

void ResultFromItsWorker::on_success(fakes::NodeId client, std::string_view job, std::string_view state) {
    if (SentOut::at_work(state) || is_final(state) || gates_.contains(job)) return;
    violated(client, job, fmt::format("it succeeds, and it was \"{}\": it has not been sent out", state),
             sent_.since(job));
}

}  // namespace lockstep::sim
