#include "sim/oracles/lost_records.h"

#include <functional>
#include <utility>
#include <variant>

#include "fakes/redis/keyspace_events.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

using fakes::redis::Keyspace;
using fakes::redis::Value;

constexpr std::string_view kRecords[] = {kJobHashPrefix, kJobStatePrefix, kRequestPrefix,
                                         "job:events:", "job:result_ptr:"};
constexpr std::string_view kPlaces[] = {"job:index:",
                                        "job:deadline",
                                        "job:tenant:active:",
                                        "lockstep:tenant:slots:",
                                        "lockstep:tenant:waiting:",
                                        "lockstep:tenant:woken:"};

template <class Prefixes>
bool starts_with_any(std::string_view key, const Prefixes& prefixes) {
    for (const std::string_view prefix : prefixes)
        if (key.starts_with(prefix)) return true;
    return false;
}

/// The job whose record this key is; empty for any other key.
std::string_view job_of_record(std::string_view key) {
    return starts_with_any(key, kRecords) ? fakes::redis::job_of_key(key) : std::string_view{};
}

template <class Visit>
void for_each_member(const Value& value, Visit visit) {
    if (const auto* zset = std::get_if<fakes::redis::SortedSet>(&value))
        for (const auto& entry : zset->ranking()) visit(entry.member);
    if (const auto* set = std::get_if<fakes::redis::Set>(&value))
        for (const auto& member : *set) visit(member);
}

std::uint64_t mix(std::string_view place, std::string_view content) {
    const std::uint64_t a = std::hash<std::string_view>{}(place);
    const std::uint64_t b = std::hash<std::string_view>{}(content);
    return a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6U) + (a >> 2U));
}

/// Fields count in any order, entries of lists in theirs.
std::uint64_t sum_of(std::string_view key, const Value& value) {
    std::uint64_t sum = mix(key, {});
    if (const auto* text = std::get_if<std::string>(&value)) sum += mix(key, *text);
    if (const auto* hash = std::get_if<fakes::redis::Hash>(&value))
        for (const auto& [field, content] : *hash) sum += mix(field, content);
    if (const auto* list = std::get_if<fakes::redis::List>(&value))
        for (const std::string& entry : *list) sum = sum * 31 + mix(key, entry);
    return sum;
}

}  // namespace

void LostRecords::string_set(fakes::NodeId client, std::string_view key, const std::string* before,
                             std::string_view after) {
    const bool cut = is_cut(client, before, after);
    // Whoever finds a request that cannot be read gives its job up.
    const std::string_view job = cut && !key.starts_with(kRequestPrefix) ? job_of_record(key) : std::string_view{};
    if (!job.empty()) note(job);
}

void LostRecords::key_removed(std::string_view key, fakes::redis::Removal why, const Value& last) {
    if (why != fakes::redis::Removal::evicted) return;
    if (const auto job = job_of_hash(key)) {
        note(*job);
        torn_.emplace(*job);
    }
    if (!starts_with_any(key, kPlaces)) return;
    for_each_member(last, [this](std::string_view job) {
        note(job);
        torn_.emplace(job);
    });
}

void LostRecords::note(std::string_view job, bool by_failover) {
    lost_.emplace(job);
    if (!by_failover) lost_otherwise_.emplace(job);
}

void LostRecords::two_primaries(bool begins) {
    twins_ += begins ? 1 : -1;
    failing_over_ = true;  // the last change of turns comes after the end
}

void LostRecords::losing(const Keyspace& before) { before_ = sums_of(before); }

void LostRecords::restored(const Keyspace& now) {
    const Sums before = std::exchange(before_, {});
    const Sums after = sums_of(now);
    const bool by_failover = std::exchange(failing_over_, twins_ > 0);
    const auto differs = [](const Sums& one, const std::string& job, std::uint64_t sum) {
        const auto other = one.find(job);
        return other == one.end() || other->second != sum;
    };
    for (const auto& [job, sum] : before)
        if (differs(after, job, sum)) note(job, by_failover);
    // What had been removed and is back is a change that was lost, too.
    for (const auto& [job, sum] : after)
        if (differs(before, job, sum)) note(job, by_failover);
}

LostRecords::Sums LostRecords::sums_of(const Keyspace& keys) {
    Sums sums;
    const auto at = [&sums](std::string_view job) -> std::uint64_t& {
        const auto found = sums.find(job);
        return found != sums.end() ? found->second : sums.emplace(job, 0).first->second;
    };
    for (const std::string_view key : keys.keys()) {
        const Value& value = keys.find(key)->value;
        if (const std::string_view job = job_of_record(key); !job.empty()) at(job) += sum_of(key, value);
        if (starts_with_any(key, kPlaces))
            for_each_member(value, [&](std::string_view job) { at(job) += mix(key, job); });
    }
    return sums;
}

}  // namespace lockstep::sim
