#include "sim/oracles/settings_in_force.h"

#include <utility>

#include "fakes/redis/value.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim {

void SettingsInForce::on_event(const fakes::Event& event, Time now) {
    if (event.kind == fakes::EventKind::node_down) {
        former_[event.node] = {std::exchange(read_[event.node], {}), now};
        under_way_.erase(event.node);
        starts_[event.node] = {.over = false};
    }
    if (event.kind != fakes::EventKind::redis || event.key != kSettingsKey || event.command != "GET") return;
    if (event.when == fakes::When::applied && !text_.empty()) under_way_[event.node] = parsed_;
    if (event.when != fakes::When::answered) return;
    std::optional<Document>& found = under_way_[event.node];
    const bool learnt = found && event.outcome == fakes::EventOutcome::applied;
    Start& start = starts_[event.node];
    start.over = start.over || (learnt && start.answered);
    start.answered = learnt;
    auto& versions = read_[event.node];
    if (learnt && (versions.empty() || versions.back().overlay != *found))
        versions.push_back({*found, now, start.over});
    else if (learnt && start.over)
        versions.back().certain = true;
    found.reset();
}

void SettingsInForce::string_set(std::string_view key, std::string_view after) {
    if (key != kSettingsKey || text_ == after) return;
    text_ = after;
    auto overlay = read_settings(after);
    parsed_ = overlay ? std::make_shared<const DocumentedSettings>(std::move(*overlay)) : nullptr;
}

void SettingsInForce::key_removed(std::string_view key) {
    if (key == kSettingsKey) text_.clear();
}

void SettingsInForce::restored(const fakes::redis::Keyspace& now) {
    const auto* entry = now.find(kSettingsKey);
    const auto* text = entry == nullptr ? nullptr : std::get_if<std::string>(&entry->value);
    if (text == nullptr)
        text_.clear();
    else
        string_set(kSettingsKey, *text);
}

}  // namespace lockstep::sim
