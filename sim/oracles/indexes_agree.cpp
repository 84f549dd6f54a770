#include "sim/oracles/indexes_agree.h"

#include <fmt/core.h>

#include <array>

#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

namespace {

using fakes::redis::Keyspace;

constexpr std::array<std::string_view, 11> kStates{"PENDING", "APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED", "RUNNING",
                                                   "SUCCEEDED", "FAILED", "CANCELLED", "TIMEOUT", "DENIED",
                                                   "OUTPUT_QUARANTINED"};

std::string index_key(std::string_view state) {
    std::string key = "job:index:";
    for (const char c : state) key += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return key;
}

template <class Container>
const Container* read(const Keyspace& keys, std::string_view key) {
    const auto* entry = keys.find(key);
    return entry == nullptr ? nullptr : std::get_if<Container>(&entry->value);
}

bool in_zset(const Keyspace& keys, std::string_view key, std::string_view member) {
    const auto* zset = read<fakes::redis::SortedSet>(keys, key);
    return zset != nullptr && zset->score(member) != nullptr;
}

std::string last_event(const Keyspace& keys, std::string_view job) {
    const auto* events = read<fakes::redis::List>(keys, fmt::format("job:events:{}", job));
    if (events == nullptr || events->empty()) return {};
    const std::string& last = events->back();
    return last.substr(last.find('|') + 1);
}

}  // namespace

void IndexesAgree::at_rest(const RestView& view) {
    for (const std::string_view key : view.redis.keys()) {
        if (const auto job = job_of_hash(key)) check_job(view.redis, *job);
    }
    check_strays(view.redis);
}

void IndexesAgree::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why,
                               const fakes::redis::Value&, std::int64_t) {
    const auto job = job_of_hash(key);
    if (job && why == fakes::redis::Removal::expired) expired_.emplace(*job);
}

void IndexesAgree::check_job(const Keyspace& keys, std::string_view job) {
    const std::string state = job_state(keys, job);
    if (state.empty()) return;
    exercise();
    for (const std::string_view candidate : kStates) {
        const bool listed = in_zset(keys, index_key(candidate), job);
        if (listed != (candidate == state))
            violated({}, job, fmt::format("its state is {} and it is {} {}", state, listed ? "listed in" : "missing from",
                                          index_key(candidate)));
    }
    const auto* mirror = read<std::string>(keys, fmt::format("job:state:{}", job));
    if (mirror != nullptr && *mirror != state)
        violated({}, job, fmt::format("its hash says {} and job:state says {}", state, *mirror));
    if (const std::string last = last_event(keys, job); last != state)
        violated({}, job, fmt::format("its state is {} and its history ends with {}", state, last));
    const std::string tenant = hash_field(keys, fmt::format("job:meta:{}", job), "tenant").value_or("");
    const auto* active = read<fakes::redis::Set>(keys, fmt::format("job:tenant:active:{}", tenant));
    const bool counted = active != nullptr && active->contains(job);
    if (counted && is_final(state)) violated({}, job, fmt::format("it ended {} and still counts as active for {}", state, tenant));
    const bool engine_wrote_it = state != "PENDING" && state != "APPROVAL_REQUIRED";
    if (!counted && !tenant.empty() && !is_final(state) && engine_wrote_it)
        violated({}, job, fmt::format("it is {} and does not count as active for {}", state, tenant));
    if (is_final(state) && in_zset(keys, "job:deadline", job))
        violated({}, job, fmt::format("it ended {} and its deadline is still listed", state));
}

void IndexesAgree::check_strays(const Keyspace& keys) {
    for (const std::string_view state : kStates) {
        const auto* index = read<fakes::redis::SortedSet>(keys, index_key(state));
        if (index == nullptr) continue;
        for (const auto& entry : index->ranking()) {
            if (job_state(keys, entry.member).empty() && !expired_.contains(entry.member))
                violated({}, entry.member, fmt::format("{} lists it and it has no hash", index_key(state)));
        }
    }
}

}  // namespace lockstep::sim
