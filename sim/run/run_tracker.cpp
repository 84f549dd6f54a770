#include "sim/run/run_tracker.h"

#include <algorithm>
#include <utility>

#include "engine/wire/json_text.h"
#include "fakes/redis/keyspace.h"
#include "sim/model/job_keys.h"
#include "sim/model/run_document.h"
#include "sim/spec/run_rules.h"

namespace lockstep::sim {

using nlohmann::json;

void RunTracker::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view after,
                            std::int64_t, std::int64_t) {
    const std::string_view run = run_of_document_key(key);
    if (run.empty()) return;
    json document = engine::wire::read_json(after);
    runs_.insert_or_assign(std::string(run), document.is_object() ? std::move(document) : json::object());
}

void RunTracker::restored(const fakes::redis::Keyspace& now) {
    // Of a run that Redis has lost nobody knows any more that there was one.
    runs_.clear();
    for (const std::string_view key : now.keys()) {
        const auto* text = std::get_if<std::string>(&now.find(key)->value);
        if (text != nullptr) string_set({}, key, nullptr, *text, 0, 0);
    }
}

bool RunTracker::all_at_rest(const JobTracker& jobs) const {
    const auto state_of = [&jobs](std::string_view job) { return jobs.state_of(job); };
    return std::ranges::all_of(runs_, [&](const auto& entry) {
        const RunWaits waits = run_waits(entry.second, state_of);
        if (waits.over) return true;
        if (!waits.otherwise.empty()) return false;
        // Of a run that has begun another one, that one may be what waits for a human.
        const auto begun = runs_.upper_bound(entry.first + ".");
        return waits.for_a_human || (begun != runs_.end() && begun->first.starts_with(entry.first + "."));
    });
}

std::map<std::string, std::int64_t> RunTracker::statuses() const {
    std::map<std::string, std::int64_t> counts;
    for (const auto& [name, run] : runs_) ++counts[member_text(run, "status")];
    return counts;
}

std::string RunTracker::status_of(const std::string& run) const {
    const auto found = runs_.find(run);
    return found == runs_.end() ? std::string{} : member_text(found->second, "status");
}

std::string RunTracker::status_of_step(const std::string& run, const std::string& step) const {
    const auto found = runs_.find(run);
    if (found == runs_.end()) return {};
    const json& steps = steps_of(found->second);
    const auto record = steps.find(step);
    return record == steps.end() ? std::string{} : step_status(*record);
}

}  // namespace lockstep::sim
