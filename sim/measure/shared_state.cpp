#include "sim/measure/shared_state.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "sim/measure/units.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kCircuitKeys = "lockstep:cb:safety:";
constexpr std::string_view kSnapshotKey = "sys:workers:snapshot";
constexpr std::string_view kLetThrough = "cordum:scheduler:input_fail_open_total";
constexpr std::string_view kDeadLetterKeys = "dlq:entry:";

bool is_trip(std::string_view key) {
    return key.starts_with(kCircuitKeys) && (key.ends_with(":trip") || key == "lockstep:cb:safety:trip");
}

}  // namespace

void SharedState::string_set(fakes::NodeId /*client*/, std::string_view key, const std::string* before,
                             std::string_view after, std::int64_t /*expires_before*/, std::int64_t /*expires_at*/) {
    if (is_trip(key)) note_trip(key);
    if (key == kLetThrough) std::from_chars(after.data(), after.data() + after.size(), let_through_);
    if (key == kSnapshotKey) {
        const Time now = queue_.now();
        if (snapshot_written_) oldest_snapshot_ = std::max(oldest_snapshot_, now - *snapshot_written_);
        snapshot_written_ = now;
    }
    if (before == nullptr && key.starts_with(kDeadLetterKeys)) note_dead_letter(after);
}

void SharedState::hash_set(fakes::NodeId /*client*/, std::string_view key, std::string_view /*field*/,
                           const std::string* /*before*/, std::string_view /*after*/) {
    if (is_trip(key)) note_trip(key);
}

void SharedState::key_removed(fakes::NodeId /*client*/, std::string_view key, fakes::redis::Removal /*why*/,
                              const fakes::redis::Value& /*last*/, std::int64_t /*expires_at*/) {
    if (!key.starts_with(kCircuitKeys)) return;
    const auto trip = open_since_.extract(std::string(key));
    if (!trip.empty()) open_ += queue_.now() - trip.mapped();
}

void SharedState::note_trip(std::string_view key) { open_since_.emplace(key, queue_.now()); }

void SharedState::note_dead_letter(std::string_view entry) {
    const auto document = engine::wire::read_json(entry);
    std::string code = "other";
    if (document.is_object() && document.contains("reason_code") && document["reason_code"].is_string())
        code = document["reason_code"].get<std::string>();
    ++dead_letters_[code];
}

void SharedState::report(MeasuredRun& run, Time end) const {
    Duration open = open_;
    for (const auto& [key, since] : open_since_) open += end - since;
    run.values["circuit_not_closed"] = millis(open);
    if (snapshot_written_)
        run.values["snapshot_age_max"] = millis(std::max(oldest_snapshot_, end - *snapshot_written_));
    run.values["let_through_unseen"] = static_cast<double>(let_through_);
    double total = 0;
    for (const auto& [code, count] : dead_letters_) {
        run.values["dead_letters." + code] = count;
        total += count;
    }
    run.values["dead_letters"] = total;
}

}  // namespace lockstep::sim
