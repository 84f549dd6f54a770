#include "sim/oracles/lifetimes_kept.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "fakes/redis/keyspace_events.h"
#include "sim/model/job_keys.h"
#include "sim/model/run_document.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kResultPointer = "job:result_ptr:";
constexpr std::string_view kOfRuns = "lockstep:wf:";
constexpr std::array kJobRecords{kJobHashPrefix, kJobStatePrefix, kRequestPrefix, kResultPointer};

/// Fields of a job's hash with which the hash gets its full time (redis-schema.md 3.2 to 3.7).
constexpr std::array<std::string_view, 6> kRenewing{"state",           "worker_id",     "trace_id",
                                                    "safety_decision", "output_safety", "topic"};

template <class Words>
bool is_one_of(const Words& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

bool is_record(std::string_view key) {
    return std::ranges::any_of(kJobRecords, [key](std::string_view prefix) { return key.starts_with(prefix); });
}

/// A real server counts the expiries of a script from its beginning, and tells the time of each of its commands.
std::int64_t tolerance(std::int64_t life) { return life / 64 + 20; }

}  // namespace

bool LifetimesKept::judges(fakes::NodeId client) const { return is_scheduler(client) && client == client_; }

void LifetimesKept::command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) {
    settle();
    client_ = words.empty() ? fakes::NodeId{} : client;
    now_ms_ = now_ms;
}

LifetimesKept::Written& LifetimesKept::written(std::string_view key, const Lifetime* life,
                                               std::int64_t expires_before) {
    const auto known = std::ranges::find(written_, key, &Written::key);
    if (known != written_.end()) return *known;
    return written_.emplace_back(Written{std::string(key), life, expires_before, expires_before});
}

void LifetimesKept::remember(std::string_view key, std::int64_t expires_at) {
    const auto known = expiries_.find(key);
    if (known != expiries_.end())
        known->second = expires_at;
    else
        expiries_.emplace(key, expires_at);
}

void LifetimesKept::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                               std::int64_t expires_before, std::int64_t expires_at) {
    if (is_record(key)) remember(key, expires_at);
    note_run(key, after);
    if (!judges(client)) return;
    const Lifetime* life = lifetimes_.of(key, after);
    Written& text = written(key, life, expires_before);
    text.life = life;
    text.expires_at = expires_at;
    text.made = text.renewed = true;
}

void LifetimesKept::note_run(std::string_view key, std::string_view document) {
    const std::string_view run = run_of_document_key(key);
    if (run.empty()) return;
    const bool is_over = is_run_over(member_text(nlohmann::json::parse(document, nullptr, false), "status"));
    if (is_over)
        open_runs_.erase(std::string(run));
    else
        open_runs_.emplace(run);
}

bool LifetimesKept::is_of_an_open_run(std::string_view key) const {
    if (!key.starts_with(kOfRuns)) return false;
    const std::size_t colon = key.find(':', kOfRuns.size());
    return colon != std::string_view::npos && open_runs_.contains(key.substr(colon + 1));
}

LifetimesKept::Written* LifetimesKept::on_content(fakes::NodeId client, std::string_view key, bool renews) {
    const Lifetime* life = lifetimes_.of(key);
    if (life == nullptr && judges(client)) written(key, life, fakes::redis::kNever);
    if (life == nullptr || life->for_ever) return nullptr;
    auto known = expiries_.find(key);
    const bool made = known == expiries_.end();
    if (made) known = expiries_.emplace(key, fakes::redis::kNever).first;
    if (!judges(client)) return nullptr;
    Written& container = written(key, life, known->second);
    container.expires_at = known->second;
    container.made = container.made || made;
    container.renewed = container.renewed || renews;
    return &container;
}

void LifetimesKept::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                             std::string_view) {
    const bool of_job = key.starts_with(kJobHashPrefix);
    Written* hash = on_content(client, key, !of_job || is_one_of(kRenewing, field));
    if (hash != nullptr && of_job && field == "state") hash->moved = true;
}

void LifetimesKept::list_inserted(fakes::NodeId client, std::string_view key, std::size_t, std::string_view) {
    on_content(client, key, true);
}

void LifetimesKept::set_added(fakes::NodeId client, std::string_view key, std::string_view) {
    on_content(client, key, true);
}

void LifetimesKept::zset_set(fakes::NodeId client, std::string_view key, std::string_view, const double*, double) {
    on_content(client, key, true);
}

void LifetimesKept::expiry_set(fakes::NodeId client, std::string_view key, std::int64_t before, std::int64_t after) {
    if (const auto known = expiries_.find(key); known != expiries_.end()) known->second = after;
    if (!judges(client)) return;
    Written& renewed = written(key, lifetimes_.of(key), before);
    renewed.expires_at = after;
    renewed.renewed = true;
}

void LifetimesKept::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                                std::int64_t) {
    if (const auto known = expiries_.find(key); known != expiries_.end()) expiries_.erase(known);
    std::erase_if(written_, [key](const Written& gone) { return gone.key == key; });
}

void LifetimesKept::restored(const fakes::redis::Keyspace& now) {
    expiries_.clear();
    written_.clear();
    open_runs_.clear();
    for (const std::string_view key : now.keys()) {
        const auto* entry = now.find(key);
        const bool text = std::holds_alternative<std::string>(entry->value);
        if (text) note_run(key, std::get<std::string>(entry->value));
        const Lifetime* life = text ? nullptr : lifetimes_.of(key);
        if ((life != nullptr && !life->for_ever) || is_record(key)) remember(key, entry->expires_at);
    }
}

void LifetimesKept::settle() {
    for (const Written& key : written_) judge(key);
    for (const Written& key : written_)
        if (key.renewed && key.key.starts_with(kJobHashPrefix)) judge_together(key);
    written_.clear();
}

void LifetimesKept::judge(const Written& key) {
    const Lifetime* life = key.life;
    if (key.key.starts_with(kReadResultsPrefix))
        return;  // of a service that stands beside the schedulers in simulated clusters only
    exercise();
    if (life == nullptr) {
        object(key.key, "is of no kind that redis-schema.md 12 names");
        return;
    }
    if (life->for_ever) {
        if (key.expires_at != fakes::redis::kNever) object(key.key, "is to be kept for ever, and was given an expiry");
        return;
    }
    if (key.expires_at == fakes::redis::kNever) {
        if (key.expires_before != fakes::redis::kNever && !is_of_an_open_run(key.key))
            object(key.key, "had an expiry, and was left without one");
        else if (!life->optional && (key.made || key.renewed))
            object(key.key, "is not to be kept for ever, and was given no expiry");
        return;
    }
    if (!key.renewed) return;
    const std::int64_t lives = key.expires_at - now_ms_;
    if (lives < life->least - tolerance(life->least))
        object(key.key, fmt::format("is to live for {} ms, and was given {} ms", life->least, lives));
    else if (life->most != Lifetime::kAny && lives > life->most + tolerance(life->most))
        object(key.key, fmt::format("is to live for no longer than {} ms, and was given {} ms", life->most, lives));
}

void LifetimesKept::judge_together(const Written& hash) {
    const std::string_view job = std::string_view(hash.key).substr(kJobHashPrefix.size());
    for (const std::string_view prefix : {kJobStatePrefix, kRequestPrefix, kResultPointer}) {
        if (prefix == kResultPointer && !hash.moved) continue;
        const std::string key = fmt::format("{}{}", prefix, job);
        const auto known = expiries_.find(key);
        if (known == expiries_.end() || known->second == fakes::redis::kNever ||
            hash.expires_at == fakes::redis::kNever)
            continue;
        if (known->second + tolerance(hash.expires_at - now_ms_) < hash.expires_at)
            object(key, fmt::format("runs out {} ms before {}, which was renewed", hash.expires_at - known->second,
                                    hash.key));
    }
}

void LifetimesKept::object(std::string_view key, std::string detail) {
    violated(client_, fakes::redis::job_of_key(key), fmt::format("{} {}", key, detail));
}

}  // namespace lockstep::sim
