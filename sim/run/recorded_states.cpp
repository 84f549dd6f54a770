#include "sim/run/recorded_states.h"

#include "sim/model/job_keys.h"

namespace lockstep::sim {

void RecordedStates::string_set(std::string_view key, std::string_view after) {
    if (const auto job = job_of_state_key(key)) jobs_[std::string(*job)].key = after;
}

void RecordedStates::hash_set(std::string_view key, std::string_view field, std::string_view after) {
    const auto job = field == "state" ? job_of_hash(key) : std::nullopt;
    if (job) jobs_[std::string(*job)].hash = after;
}

void RecordedStates::key_removed(std::string_view key) {
    const bool is_key = job_of_state_key(key).has_value();
    const auto job = is_key ? job_of_state_key(key) : job_of_hash(key);
    const auto found = job ? jobs_.find(*job) : jobs_.end();
    if (found == jobs_.end()) return;
    (is_key ? found->second.key : found->second.hash).clear();
    if (found->second.state().empty()) jobs_.erase(found);
}

void RecordedStates::restored(const fakes::redis::Keyspace& now) {
    jobs_.clear();
    for (const std::string_view key : now.keys()) {
        const fakes::redis::Value& value = now.find(key)->value;
        if (const auto* text = std::get_if<std::string>(&value)) string_set(key, *text);
        if (std::holds_alternative<fakes::redis::Hash>(value)) {
            if (const auto state = hash_field(now, key, "state")) hash_set(key, "state", *state);
        }
    }
}

std::string RecordedStates::of(std::string_view job) const {
    const auto found = jobs_.find(job);
    return found == jobs_.end() ? std::string{} : found->second.state();
}

}  // namespace lockstep::sim
