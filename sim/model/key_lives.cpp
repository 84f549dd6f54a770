#include "sim/model/key_lives.h"

#include <algorithm>
#include <array>

#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

using fakes::redis::kNever;

constexpr std::string_view kCircuitPrefix = "cordum:cb:";
/// Those whose expiry a change of state leaves alone until the time that `ls_kept` notes (redis-schema.md 1).
constexpr std::array kKeptTogether{kJobHashPrefix, kRequestPrefix, kResultPointerPrefix};
/// Fields of a job's hash with which the hash gets its full time (redis-schema.md 3.2 to 3.7).
constexpr std::array<std::string_view, 6> kRenewing{"state",           "worker_id",     "trace_id",
                                                    "safety_decision", "output_safety", "topic"};

bool is_record(std::string_view key) {
    return key.starts_with("job:") &&
           (key.starts_with(kJobStatePrefix) ||
            std::ranges::any_of(kKeptTogether, [key](std::string_view prefix) { return key.starts_with(prefix); }));
}

/// Empty for a key that is not kept so.
std::string_view job_kept_by(std::string_view key) {
    for (const std::string_view prefix : kKeptTogether)
        if (key.starts_with(prefix)) return key.substr(prefix.size());
    return {};
}

/// The first number of `<micros> <tenant>`.
std::string_view time_of(std::string_view kept) { return kept.substr(0, kept.find(' ')); }

}  // namespace

void KeyLives::begin(fakes::NodeId scheduler, std::int64_t now_ms) {
    scheduler_ = scheduler;
    now_ms_ = now_ms;
    written_.clear();
}

WrittenKey& KeyLives::written(std::string_view key, std::int64_t expires_before) {
    const auto known = std::ranges::find(written_, key, &WrittenKey::key);
    if (known != written_.end()) return *known;
    return written_.emplace_back(
        WrittenKey{.key = std::string(key), .expires_before = expires_before, .expires_at = expires_before});
}

void KeyLives::text_set(fakes::NodeId client, std::string_view key, std::string_view after, std::int64_t expires_before,
                        std::int64_t expires_at) {
    if (is_record(key)) {
        const bool by_others = client != scheduler_ && is_left_alone(key);
        expiries_.insert_or_assign(std::string(key), Expiry{.at = expires_at, .given_by_others = by_others});
    }
    if (!client.valid() || client != scheduler_) return;
    WrittenKey& text = written(key, expires_before);
    if (key.starts_with(kCircuitPrefix)) text.text = after;
    text.expires_at = expires_at;
    text.made = text.renewed = true;
}

WrittenKey* KeyLives::content_set(fakes::NodeId client, std::string_view key, bool renews) {
    const bool by_scheduler = client.valid() && client == scheduler_;
    // A command writes one field of a hash after the other.
    if (by_scheduler && !written_.empty() && written_.back().key == key) {
        written_.back().renewed |= renews;
        return &written_.back();
    }
    auto known = expiries_.find(key);
    const bool made = known == expiries_.end();
    if (made) known = expiries_.emplace(key, Expiry{}).first;
    if (!by_scheduler) return nullptr;
    WrittenKey& container = written(key, known->second.at);
    container.expires_at = known->second.at;
    container.given_by_others = known->second.given_by_others;
    container.made |= made;
    container.renewed |= renews;
    return &container;
}

void KeyLives::field_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                         std::string_view after) {
    const bool of_job = key.starts_with(kJobHashPrefix);
    WrittenKey* hash = content_set(client, key, !of_job || std::ranges::find(kRenewing, field) != kRenewing.end());
    if (!of_job) return;
    if (field == "ls_kept" && (before == nullptr || time_of(*before) != time_of(after))) {
        note(key);
        if (hash != nullptr) hash->given_by_others = false;
    }
    if (hash != nullptr && field == "state") hash->moved = true;
}

void KeyLives::note(std::string_view hash_key) {
    const std::string_view job = hash_key.substr(kJobHashPrefix.size());
    for (const std::string_view prefix : kKeptTogether)
        if (const auto known = expiries_.find(std::string(prefix) + std::string(job)); known != expiries_.end())
            known->second.given_by_others = false;
    if (const auto hash = expiries_.find(hash_key); hash != expiries_.end()) hash->second.noted = true;
}

bool KeyLives::is_left_alone(std::string_view key) const {
    const std::string_view job = job_kept_by(key);
    if (job.empty()) return false;
    const Expiry* hash = find(std::string(kJobHashPrefix) + std::string(job));
    return hash != nullptr && hash->noted;
}

void KeyLives::expiry_set(fakes::NodeId client, std::string_view key, std::int64_t before, std::int64_t after) {
    const bool by_scheduler = client.valid() && client == scheduler_;
    if (const auto known = expiries_.find(key); known != expiries_.end()) {
        known->second.at = after;
        known->second.given_by_others = !by_scheduler && is_left_alone(key);
    }
    if (!by_scheduler) return;
    WrittenKey& renewed = written(key, before);
    renewed.expires_at = after;
    renewed.renewed = true;
    renewed.given_by_others = false;
}

void KeyLives::removed(std::string_view key) {
    if (const auto known = expiries_.find(key); known != expiries_.end()) expiries_.erase(known);
    std::erase_if(written_, [key](const WrittenKey& gone) { return gone.key == key; });
}

void KeyLives::restored(const fakes::redis::Keyspace& now) {
    expiries_.clear();
    written_.clear();
    for (const std::string_view key : now.keys()) {
        const auto* entry = now.find(key);
        if (std::holds_alternative<std::string>(entry->value) && !is_record(key)) continue;
        Expiry& known = expiries_[std::string(key)];
        known.at = entry->expires_at;
        known.noted = key.starts_with(kJobHashPrefix) && hash_field(now, key, "ls_kept").has_value();
    }
}

}  // namespace lockstep::sim
