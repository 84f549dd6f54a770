#include "sim/measure/delay_times.h"

#include <nlohmann/json.hpp>

#include "engine/runtime/time.h"
#include "engine/wire/json_text.h"
#include "sim/model/job_keys.h"
#include "sim/model/run_document.h"

namespace lockstep::sim {

using nlohmann::json;

void DelayTimes::command(fakes::NodeId /*client*/, std::span<const std::string_view> words, std::int64_t now_ms) {
    if (!words.empty()) redis_ms_ = now_ms;
}

void DelayTimes::string_set(fakes::NodeId /*client*/, std::string_view key, const std::string* /*before*/,
                            std::string_view after, std::int64_t /*expires_before*/, std::int64_t /*expires_at*/) {
    const std::string_view name = run_of_document_key(key);
    if (name.empty()) return;
    const json run = engine::wire::read_json(after);
    DueTimes& waiting = waiting_[std::string(name)];
    DueTimes still;
    for (const auto& [id, step] : steps_of(run).items()) {
        const auto due = time_of(step, "next_attempt_at");
        const std::string status = step_status(step);
        if (due && !is_step_over(status)) {
            still.emplace(id, engine::to_unix_micros(*due) / 1000);
            continue;
        }
        const auto waited = waiting.find(id);
        const bool goes_on = status == "succeeded" || status == "running";
        if (waited != waiting.end() && goes_on) late_.push_back(static_cast<double>(redis_ms_ - waited->second));
    }
    waiting = std::move(still);
}

void DelayTimes::report(MeasuredRun& run) const { run.samples["delay_lateness"] = late_; }

}  // namespace lockstep::sim
