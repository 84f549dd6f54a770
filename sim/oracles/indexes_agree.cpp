#include "sim/oracles/indexes_agree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using fakes::redis::Keyspace;

constexpr std::array<std::string_view, 11> kStates{
    "PENDING", "APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED", "RUNNING",           "SUCCEEDED",
    "FAILED",  "CANCELLED",         "TIMEOUT",   "DENIED",     "OUTPUT_QUARANTINED"};

template <class Container>
const Container* read(const Keyspace& keys, std::string_view key) {
    const auto* entry = keys.find(key);
    return entry == nullptr ? nullptr : std::get_if<Container>(&entry->value);
}

bool in_zset(const Keyspace& keys, std::string_view key, std::string_view member) {
    const auto* zset = read<fakes::redis::SortedSet>(keys, key);
    return zset != nullptr && zset->score(member) != nullptr;
}

constexpr std::string_view kIndexPrefix = "job:index:";
constexpr std::array<std::string_view, 6> kIndexesOfEnds{"succeeded", "failed", "cancelled",
                                                         "timeout",   "denied", "output_quarantined"};
/// Settings that change may make it as long.
constexpr engine::Duration kLongInterval = std::chrono::seconds{30};
constexpr std::string_view kHistoryPrefix = "job:events:";

std::optional<std::string_view> job_of_history(std::string_view key) {
    if (!key.starts_with(kHistoryPrefix)) return std::nullopt;
    return key.substr(kHistoryPrefix.size());
}

/// The states of an event list, whose entries are `<micros>|<STATE>`.
std::deque<std::string> states_in(const fakes::redis::List& events) {
    std::deque<std::string> states;
    for (const std::string& event : events) states.push_back(event.substr(event.find('|') + 1));
    return states;
}

}  // namespace

void IndexesAgree::command(fakes::NodeId, std::span<const std::string_view>, std::int64_t now_ms) {
    settle();
    now_ms_ = now_ms;
}

void IndexesAgree::settle() {
    for (const StruckOff& struck_off : struck_off_) {
        exercise();
        const std::string state = recorded_state(struck_off.job);
        if (!is_final(state) || index_key(state) != struck_off.index || is_torn(struck_off.job)) continue;
        violated(struck_off.by, struck_off.job,
                 fmt::format("it is {} and known, and it is struck off {}", state, struck_off.index));
    }
    struck_off_.clear();
}

void IndexesAgree::zset_removed(fakes::NodeId client, std::string_view key, std::string_view member, double) {
    if (!is_scheduler(client) || !key.starts_with(kIndexPrefix)) return;
    const bool of_ends = std::ranges::find(kIndexesOfEnds, key.substr(kIndexPrefix.size())) != kIndexesOfEnds.end();
    if (of_ends) struck_off_.push_back({client, std::string(key), std::string(member)});
}

void IndexesAgree::zset_set(fakes::NodeId, std::string_view key, std::string_view member, const double*, double) {
    std::erase_if(struck_off_, [key, member](const StruckOff& struck_off) {
        return struck_off.index == key && struck_off.job == member;
    });
}

void IndexesAgree::check_forgotten(std::string_view index, const fakes::redis::SortedSet& listed) {
    const auto pages =
        static_cast<std::int64_t>(listed.ranking().size()) / std::max<std::int64_t>(tunables_.reconciler_batch, 1);
    const engine::Duration ticks =
        (10 + 4 * pages) * std::max<engine::Duration>(tunables_.reconciler_interval, kLongInterval);
    const auto calm = weather_.lasts_for(now_);
    if (!calm || *calm < ticks) return;
    for (const auto& entry : listed.ranking()) {
        const auto gone = gone_.find(entry.member);
        if (gone == gone_.end()) continue;
        exercise();
        const auto limit = static_cast<std::int64_t>(entry.score / 1000) + engine::to_millis(tunables_.job_meta_ttl);
        const std::int64_t since = std::max(limit, gone->second);
        if (now_ms_ - since > engine::to_millis(ticks))
            violated({}, entry.member,
                     fmt::format("{} lists it, and for {} ms nobody has known it any more", index, now_ms_ - since));
    }
}

void IndexesAgree::at_rest(const RestView& view) {
    for (const std::string_view key : view.redis.keys()) {
        if (const auto job = job_of_hash(key)) check_job(view.redis, *job);
    }
    check_strays(view.redis);
}

void IndexesAgree::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                            std::string_view after) {
    const auto job = job_of_hash(key);
    if (!job) return;
    if (field == "state" && !gone_.empty()) gone_.erase(std::string(*job));
    if (field == "state") written_[std::string(*job)].emplace_back(after);
    if (field != "deadline_unix") return;
    if (client.valid() && !by_user(client))
        scheduler_s_deadline_.emplace(*job);
    else if (const auto known = scheduler_s_deadline_.find(*job); known != scheduler_s_deadline_.end())
        scheduler_s_deadline_.erase(known);
}

void IndexesAgree::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view,
                              std::int64_t, std::int64_t) {
    const auto job = job_of_state_key(key);
    if (!job) return;
    // Nobody's doing: it was damaged.
    if (!client.valid()) without_mirror_.emplace(*job);
    const auto known = without_mirror_.find(*job);
    if (client.valid() && known != without_mirror_.end()) without_mirror_.erase(known);
}

void IndexesAgree::list_removed(fakes::NodeId, std::string_view key, std::size_t index, std::string_view) {
    const auto job = job_of_history(key);
    const auto written = job ? written_.find(*job) : written_.end();
    if (written != written_.end() && index == 0 && !written->second.empty()) written->second.pop_front();
}

void IndexesAgree::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why,
                               const fakes::redis::Value&, std::int64_t) {
    const auto of = job_of_hash(key) ? job_of_hash(key) : job_of_state_key(key);
    if (of && recorded_state(*of).empty()) gone_.insert_or_assign(std::string(*of), now_ms_);
    const bool by_itself = why != fakes::redis::Removal::deleted;
    const auto job = job_of_hash(key);
    if (job && why == fakes::redis::Removal::expired) expired_.emplace(*job);
    if (const auto mirrored = job_of_state_key(key); mirrored && by_itself) without_mirror_.emplace(*mirrored);
    if (const auto history = job_of_history(key); history && by_itself) written_[std::string(*history)].clear();
}

/// What is left is what later changes add to.
void IndexesAgree::restored(const Keyspace& now) {
    gone_.clear();
    struck_off_.clear();
    written_.clear();
    for (const std::string_view key : now.keys()) {
        const auto job = job_of_history(key);
        const auto* events = job ? read<fakes::redis::List>(now, key) : nullptr;
        if (events != nullptr) written_.insert_or_assign(std::string(*job), states_in(*events));
        const auto known = job_of_hash(key);
        if (known) written_.try_emplace(std::string(*known));  // that it was evicted once is not to be seen any more
        if (known && now.find(fmt::format("{}{}", kJobStatePrefix, *known)) == nullptr) without_mirror_.emplace(*known);
    }
}

void IndexesAgree::check_job(const Keyspace& keys, std::string_view job) {
    const std::string state = job_state(keys, job);
    if (state.empty() || is_torn(job)) return;
    exercise();
    for (const std::string_view candidate : kStates) {
        const bool listed = in_zset(keys, index_key(candidate), job);
        if (listed != (candidate == state))
            violated({}, job,
                     fmt::format("its state is {} and it is {} {}", state, listed ? "listed in" : "missing from",
                                 index_key(candidate)));
    }
    check_mirror(keys, job, state);
    check_history(keys, job, state);
    check_deadline(keys, job, state);
    const std::string tenant = hash_field(keys, fmt::format("job:meta:{}", job), "tenant").value_or("");
    const auto* active = read<fakes::redis::Set>(keys, fmt::format("job:tenant:active:{}", tenant));
    const bool counted = active != nullptr && active->contains(job);
    if (counted && is_final(state))
        violated({}, job, fmt::format("it ended {} and still counts as active for {}", state, tenant));
    const bool engine_wrote_it = state != "PENDING" && state != "APPROVAL_REQUIRED";
    if (!counted && !tenant.empty() && !is_final(state) && engine_wrote_it)
        violated({}, job, fmt::format("it is {} and does not count as active for {}", state, tenant));
}

void IndexesAgree::check_mirror(const Keyspace& keys, std::string_view job, std::string_view state) {
    const auto* mirror = read<std::string>(keys, fmt::format("{}{}", kJobStatePrefix, job));
    const bool lost = without_mirror_.contains(job);
    if (mirror != nullptr && *mirror != state && !lost)
        violated({}, job, fmt::format("its hash says {} and job:state says {}", state, *mirror));
    if (mirror == nullptr && !lost)
        violated({}, job, fmt::format("its hash says {} and job:state says nothing", state));
}

void IndexesAgree::check_history(const Keyspace& keys, std::string_view job, std::string_view state) {
    const auto* events = read<fakes::redis::List>(keys, fmt::format("{}{}", kHistoryPrefix, job));
    const States recorded = events == nullptr ? States{} : states_in(*events);
    const std::string_view last = recorded.empty() ? std::string_view{} : recorded.back();
    const auto written = written_.find(job);
    // It was evicted or ran out, and nothing has been added since.
    if (recorded.empty() && written != written_.end() && written->second.empty()) return;
    if (last != state) {
        violated({}, job, fmt::format("its state is {} and its history ends with {}", state, last));
        return;
    }
    if (written != written_.end() && recorded != written->second)
        violated({}, job,
                 fmt::format("it went through {}, and its history tells of {}", fmt::join(written->second, ", "),
                             fmt::join(recorded, ", ")));
}

void IndexesAgree::check_deadline(const Keyspace& keys, std::string_view job, std::string_view state) {
    const auto* listed = read<fakes::redis::SortedSet>(keys, kDeadlines);
    const double* score = listed == nullptr ? nullptr : listed->score(job);
    if (is_final(state)) {
        if (score != nullptr) violated({}, job, fmt::format("it ended {} and its deadline is still listed", state));
        return;
    }
    const auto deadline = hash_field(keys, fmt::format("job:meta:{}", job), "deadline_unix");
    if (!deadline || loss_of(job).any() || !scheduler_s_deadline_.contains(job)) return;
    if (score == nullptr)
        violated({}, job, fmt::format("it is {}, is due by {}, and {} does not list it", state, *deadline, kDeadlines));
    else if (fmt::format("{:.0f}", *score) != *deadline)
        violated({}, job, fmt::format("it is due by {}, and {} lists it for {:.0f}", *deadline, kDeadlines, *score));
}

void IndexesAgree::check_strays(const Keyspace& keys) {
    for (const std::string_view state : kStates) {
        const auto* index = read<fakes::redis::SortedSet>(keys, index_key(state));
        if (index == nullptr) continue;
        if (is_final(state)) check_forgotten(index_key(state), *index);
        for (const auto& entry : index->ranking()) {
            if (is_torn(entry.member)) continue;
            if (job_state(keys, entry.member).empty() && !expired_.contains(entry.member))
                violated({}, entry.member, fmt::format("{} lists it and it has no hash", index_key(state)));
        }
    }
}

}  // namespace lockstep::sim
