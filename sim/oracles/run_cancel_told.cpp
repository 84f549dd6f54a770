#include "sim/oracles/run_cancel_told.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/run_documents.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

using nlohmann::json;

void RunCancelTold::on_event(const fakes::Event& event, Time) {
    if (event.when != fakes::When::before || event.subject != engine::wire::kSubjectCancel) return;
    if (event.packet == nullptr || !event.packet->has_job_cancel()) return;
    owed_.erase(event.packet->job_cancel().job_id());
}

void RunCancelTold::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                               std::int64_t, std::int64_t) {
    const std::string_view run = run_of_document_key(key);
    if (run.empty()) return;
    const json document = json::parse(after, nullptr, false);
    AtWork& known = runs_[std::string(run)];
    AtWork at_work;
    for (const auto& [step, record] : steps_of(document).items()) {
        const std::string status = step_status(record);
        if (status != "running" && status != "waiting") continue;
        if (std::string job = member_text(record, "job_id"); !job.empty()) at_work.emplace(step, std::move(job));
    }
    for (const auto& [step, job] : std::exchange(known, std::move(at_work))) {
        const auto record = steps_of(document).find(step);
        const bool is_over = record != steps_of(document).end() && is_step_over(step_status(*record));
        if (by_user(client) || !is_over) continue;
        exercise();
        if (is_final(recorded_state(job))) continue;
        owed_[job] = {client, std::string(run), step, upcoming()};
    }
}

void RunCancelTold::at_rest(const RestView& view) {
    if (!view.quiet) return;
    for (const auto& [job, owed] : owed_) {
        if (loss_of(job).any() || view.redis.find("wf:run:" + owed.run) == nullptr) continue;
        violated(owed.by, job,
                 fmt::format("the step {} of the run {} is over and its job was not, and nobody has called it off",
                             owed.step, owed.run),
                 owed.written);
    }
}

void RunCancelTold::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why,
                                const fakes::redis::Value&, std::int64_t) {
    const bool of_runs = key.starts_with("wf:") || key.starts_with("lockstep:wf:") || key.starts_with("cordum:wf:");
    if (why == fakes::redis::Removal::evicted && of_runs) owed_.clear();
}

void RunCancelTold::restored(const fakes::redis::Keyspace&) {
    runs_.clear();
    owed_.clear();
}

}  // namespace lockstep::sim
