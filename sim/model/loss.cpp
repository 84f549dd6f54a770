#include "sim/model/loss.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include "fakes/redis/keyspace_events.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

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
    return std::ranges::any_of(prefixes, [key](std::string_view prefix) { return key.starts_with(prefix); });
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

bool lists_jobs(std::string_view key) { return starts_with_any(key, kPlaces); }

std::vector<std::string_view> jobs_listed(const Value& value) {
    std::vector<std::string_view> jobs;
    if (const auto* zset = std::get_if<fakes::redis::SortedSet>(&value))
        for (const auto& entry : zset->ranking()) jobs.emplace_back(entry.member);
    if (const auto* set = std::get_if<fakes::redis::Set>(&value))
        for (const std::string& member : *set) jobs.emplace_back(member);
    if (const auto* list = std::get_if<fakes::redis::List>(&value))
        for (const std::string& element : *list) jobs.emplace_back(element);
    return jobs;
}

std::string_view job_of_record(std::string_view key) {
    return starts_with_any(key, kRecords) ? fakes::redis::job_of_key(key) : std::string_view{};
}

void TakenBack::on_fault(const fakes::Event& event) {
    const bool begins = event.from == "begin";
    if (event.name == "redis.failover" && begins) failing_over_ = true;
    // Each of two primaries has what the other one misses: as by as many failovers as the turn changes, the last after the end.
    if (event.name == "redis.two_primaries") {
        twins_ += begins ? 1 : -1;
        failing_over_ = true;
    }
    if (begins && (event.name == "redis.restart" || event.node == Topology::kRedis)) failing_over_ = twins_ > 0;
}

void TakenBack::losing(const Keyspace& before) { before_ = sums_of(before); }

TakenBack::Jobs TakenBack::restored(const Keyspace& now) {
    const Sums before = std::exchange(before_, {});
    const Sums after = sums_of(now);
    Jobs jobs{.by_failover = std::exchange(failing_over_, twins_ > 0)};
    const auto compare = [&jobs](const Sums& these, const Sums& others) {
        for (const auto& [job, sum] : these)
            if (const auto other = others.find(job); other == others.end() || other->second != sum)
                jobs.names.push_back(job);
    };
    compare(before, after);
    compare(after, before);  // what had been removed and is back is a change that was lost, too
    return jobs;
}

TakenBack::Sums TakenBack::sums_of(const Keyspace& keys) {
    Sums sums;
    const auto at = [&sums](std::string_view job) -> std::uint64_t& {
        const auto found = sums.find(job);
        return found != sums.end() ? found->second : sums.emplace(job, 0).first->second;
    };
    for (const std::string_view key : keys.keys()) {
        const Value& value = keys.find(key)->value;
        if (const std::string_view job = job_of_record(key); !job.empty()) at(job) += sum_of(key, value);
        if (lists_jobs(key))
            for (const std::string_view job : jobs_listed(value)) at(job) += mix(key, job);
    }
    return sums;
}

}  // namespace lockstep::sim
