#include "sim/explain/run_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/wire/json_text.h"
#include "sim/model/job_keys.h"
#include "sim/model/run_document.h"

namespace lockstep::sim {

using nlohmann::json;

void RunRecorder::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view after,
                             std::int64_t, std::int64_t) {
    const std::string_view name = run_of_document_key(key);
    if (name.empty()) return;
    const json document = engine::wire::read_json(after);
    if (!document.is_object()) return;
    const std::int64_t now = now_().time_since_epoch().count();
    const auto [entry, is_new] = log_.runs.try_emplace(std::string(name));
    RunLog::Run& run = entry->second;
    if (is_new) run.from_ns = now;
    run.workflow = member_text(document, "workflow_id");
    const std::string before = std::exchange(run.status, member_text(document, "status"));
    if (is_run_over(run.status) && before != run.status) run.to_ns = now;
    for (const auto& [step, record] : steps_of(document).items()) {
        if (!record.is_object()) continue;
        std::vector<RunLog::Phase>& phases = run.steps[step];
        const auto attempts = record.find("attempts");
        RunLog::Phase phase{step_status(record), 0, member_text(record, "job_id"), now, now};
        if (attempts != record.end() && attempts->is_number_integer()) phase.attempt = attempts->get<std::int64_t>();
        if (!phases.empty()) {
            RunLog::Phase& last = phases.back();
            const bool same = last.status == phase.status && last.attempt == phase.attempt && last.job == phase.job;
            if (same) continue;
            last.to_ns = now;
        }
        phases.push_back(std::move(phase));
    }
}

RunLog RunRecorder::take() {
    const std::int64_t now = now_().time_since_epoch().count();
    for (auto& [name, run] : log_.runs) {
        if (!is_run_over(run.status)) run.to_ns = now;
        // What ran on in a run that is over is nobody's business any more.
        for (auto& [step, phases] : run.steps) phases.back().to_ns = std::max(phases.back().from_ns, run.to_ns);
    }
    return std::exchange(log_, {});
}

}  // namespace lockstep::sim
