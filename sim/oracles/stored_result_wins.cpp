#include "sim/oracles/stored_result_wins.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/store/job_state.h"
#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"
#include "sim/oracles/job_keys.h"
#include "sim/world/topology.h"

namespace lockstep::sim {

namespace {

using engine::Duration;
using fakes::EventKind;
using fakes::When;

/// Clocks of a cluster drift, and a store that is told of an instant tells it in whole milliseconds.
constexpr Duration kTolerance = std::chrono::seconds{1};
/// A thousand results that nobody has heard are enough for nobody to be told apart.
constexpr std::size_t kToldApart = 500;
/// Jobs that one tick can end, where others are never in the way.
constexpr std::int64_t kEnoughAtATime = 200;
constexpr Duration kForTheCalls = std::chrono::seconds{10};

}  // namespace

void StoredResultWins::on_event(const fakes::Event& event, Time now) {
    now_ = now;
    undisturbed_.on_event(event, now);
    switch (event.kind) {
        case EventKind::node_down:
        case EventKind::paused:
        case EventKind::connection_broken: ever_disturbed_ = true; return;
        case EventKind::fault:
            ever_disturbed_ = ever_disturbed_ || event.name != "config.update";
            if (event.name == "nats.power_cut") unheard_.clear();
            return;
        case EventKind::deliver:
            if (is_schedulers_results(event.name) && event.packet != nullptr && event.packet->has_job_result() &&
                event.packet->job_result().status() == cap::JOB_STATUS_TIMEOUT)
                reported_.insert(event.packet->job_result().job_id());
            return;
        case EventKind::stored: return on_stored(event, now);
        case EventKind::ack:
        case EventKind::term:
            if (event.when == When::before && is_schedulers_results(event.name)) note_heard(event.sequence, now);
            return;
        default: return;
    }
}

void StoredResultWins::on_stored(const fakes::Event& event, Time now) {
    if (event.subject != engine::wire::kSubjectResult) return;
    unheard_.erase(event.sequence);  // a server that has lost its power gives numbers out again
    Result& stored = unheard_[event.sequence];
    stored.stored_at = now;
    stored.event = present();
    if (event.packet == nullptr || !event.packet->has_job_result()) return;
    const auto& result = event.packet->job_result();
    if (!engine::wire::rejection(result) && engine::state_of_result(result.status())) stored.job = result.job_id();
}

void StoredResultWins::note_heard(std::uint64_t sequence, Time now) {
    if (unheard_.size() > kToldApart) many_unheard_ = now;
    const auto result = unheard_.extract(sequence);
    if (result && !result.mapped().job.empty()) heard_.insert_or_assign(std::move(result.mapped().job), now);
}

bool StoredResultWins::may_be_named(std::string_view job, Time limit) const {
    if (unheard_.size() > kToldApart || many_unheard_ + kTolerance > limit) return true;
    const auto heard = heard_.find(job);
    if (heard != heard_.end() && heard->second + kTolerance > limit) return true;
    return std::ranges::any_of(unheard_, [job](const auto& entry) { return entry.second.job == job; });
}

Duration StoredResultWins::longest_wait(std::string_view job, Time limit) const {
    const bool few_at_a_time = tunables_.reconciler_batch * tunables_.reconciler_max_iterations < kEnoughAtATime;
    return ever_disturbed_ || few_at_a_time || may_be_named(job, limit) ? patience() : Duration{0};
}

const std::pair<const std::uint64_t, StoredResultWins::Result>* StoredResultWins::unheard_at(std::string_view job,
                                                                                             Time limit) const {
    const auto found = std::ranges::find_if(unheard_, [&](const auto& entry) {
        return entry.second.job == job && entry.second.stored_at + kTolerance < limit;
    });
    return found == unheard_.end() ? nullptr : &*found;
}

void StoredResultWins::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                                std::string_view after) {
    static_cast<void>(ends_.hash_set(client, key, field, after));
    const auto job = job_of_hash(key);
    if (!job || field != "updated_at") return;
    const UnaskedEnds::Departure left = ends_.departure(*job);
    if (left.from_work) on_departure(client, *job, left);
}

void StoredResultWins::on_departure(fakes::NodeId client, std::string_view job, const UnaskedEnds::Departure& left) {
    const Duration overdue = std::max(left.overdue_by, Duration{0});
    const auto* unheard = unheard_at(job, now_ - overdue);
    if (!unheard_.empty() && left.overdue_by > Duration{0}) exercise();
    const bool by_itself = left.to == "TIMEOUT" && client.valid() && client != Topology::kGateway &&
                           client != Topology::kOperator && !reported_.contains(job);
    if (by_itself && unheard != nullptr && (!left.unheard || overdue + kTolerance < patience())) {
        violated(client, job,
                 fmt::format("it timed out {} ms after its limit, and result number {} of it stood in the stream then "
                             "and has not been heard",
                             engine::to_millis(overdue), unheard->first),
                 unheard->second.event);
        return;
    }
    const Time limit = now_ - std::max(left.surely_late, Duration{0});
    const Duration bound = longest_wait(job, limit) + 3 * tunables_.reconciler_interval + kForTheCalls;
    const auto calm = undisturbed_.lasts_for(now_);
    if (left.surely_late > bound + tunables_.reconciler_interval && calm &&
        *calm > bound + tunables_.reconciler_interval)
        violated(client, job,
                 fmt::format(
                     "it became {} {} ms after its limit, and nothing has disturbed the cluster for {} ms: {} ms is "
                     "how long a result that may be unheard is waited for",
                     left.to, engine::to_millis(left.surely_late), engine::to_millis(*calm), engine::to_millis(bound)));
}

void StoredResultWins::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view after,
                                  std::int64_t, std::int64_t) {
    ends_.string_set(key, after);
}

void StoredResultWins::zset_set(fakes::NodeId, std::string_view key, std::string_view member, const double*,
                                double after) {
    ends_.zset_set(key, member, after);
}

void StoredResultWins::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal,
                                   const fakes::redis::Value&, std::int64_t) {
    ends_.key_removed(key);
}

void StoredResultWins::restored(const fakes::redis::Keyspace& now) { ends_.restored(now); }

}  // namespace lockstep::sim
