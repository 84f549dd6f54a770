#include "sim/oracles/stored_result_wins.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/store/job_state.h"
#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using engine::Duration;
using fakes::EventKind;
using fakes::When;

/// Clocks of a cluster drift, and a store that is told of an instant tells it in whole milliseconds.
constexpr Duration kTolerance = std::chrono::seconds{1};
/// Results that a tick reads, and how long each takes at least: a share of a round trip on a slow link.
constexpr std::uint64_t kReadAtMost = 1'000;
constexpr Duration kPerResult = std::chrono::milliseconds{20};
/// Between a report and the end that it brings.
constexpr Duration kReported = std::chrono::seconds{5};
/// Calls, one after the other, before a tick comes to its first overdue job. A window that does not hold them may never get there.
constexpr std::int64_t kCallsBeforeTheFirst = 10;
constexpr std::string_view kReconcilerLock = "cordum:reconciler:default";
/// Beyond the intervals: the calls of a look, and those of an end.
constexpr Duration kSoonAfter = std::chrono::seconds{5};
/// Of fewer, a look at who is overdue may leave some to the next one.
constexpr std::int64_t kPagesAtOnce = 5;
/// Of more, a look at what may be unheard may not come to the end.
constexpr std::uint64_t kResultsLookedAt = 900;

/// A worker may also report what no job at work can become, such as DENIED.
bool ends_work(cap::JobStatus status) {
    const auto end = engine::state_of_result(status);
    return end && engine::transition_allowed(engine::JobState::dispatched, *end) &&
           engine::transition_allowed(engine::JobState::running, *end);
}

}  // namespace

void StoredResultWins::on_event(const fakes::Event& event, Time now) {
    switch (event.kind) {
        case EventKind::redis:
            if (is_tick_lock(event.key)) follow_tick(event, now);
            return;
        case EventKind::connection_broken:
            if (event.peer == Topology::kNats) broken_[event.node] = now;
            return;
        case EventKind::fault:
            if (event.name == "nats.power_cut") unheard_.clear();
            return;
        case EventKind::deliver:
        case EventKind::read_back:
            if (is_result_in_hand(event) && event.packet->job_result().status() == cap::JOB_STATUS_TIMEOUT)
                reported_.insert(event.packet->job_result().job_id());
            return;
        case EventKind::stored: return on_stored(event, now);
        case EventKind::state:
            if (event.to == "DISPATCHED" || event.to == "RUNNING") {
                at_work_.emplace(event.job);
                most_at_work_ = std::max(most_at_work_, at_work_.size());
            } else if (const auto left = at_work_.find(event.job); left != at_work_.end())
                at_work_.erase(left);
            return;
        case EventKind::ack:
        case EventKind::term:
            if (event.when == When::before && is_schedulers_results(event.name)) unheard_.erase(event.sequence);
            return;
        default: return;
    }
}

/// How long an answer takes here and now is seen from the ticks themselves.
void StoredResultWins::follow_tick(const fakes::Event& event, Time now) {
    RoundTrip& ticks = ticks_[event.node];
    if (event.when == When::before) ticks.asked = now;
    // What breaks in the middle of a tick is noted by the next one.
    const auto broken = broken_.find(event.node);
    if (event.when == When::before && event.key == kReconcilerLock && broken != broken_.end())
        connected_after_[event.node] = broken->second;
    if (event.when != When::answered) return;
    ticks.took = now - ticks.asked;
    const bool unanswered =
        event.outcome == fakes::EventOutcome::not_applied || event.outcome == fakes::EventOutcome::unknown;
    if (event.key == kReconcilerLock && unanswered) unanswered_[event.node] = now;
}

void StoredResultWins::on_stored(const fakes::Event& event, Time now) {
    if (event.subject != engine::wire::kSubjectResult) return;
    unheard_.erase(event.sequence);  // a server that has lost its power gives numbers out again
    ++results_;
    if (!event.job.empty()) named_.try_emplace(std::string(event.job), now);
    Result& stored = unheard_[event.sequence];
    stored.stored_at = now;
    stored.event = present();
    if (event.packet == nullptr || !event.packet->has_job_result()) return;
    const auto& result = event.packet->job_result();
    if (engine::wire::rejection(result) || !ends_work(result.status())) return;
    stored.job = result.job_id();
    stored.worker = result.worker_id();
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
    if (job && field == "ls_worker") workers_.insert_or_assign(std::string(*job), after);
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
    if (by_itself && left.unheard && has_just_connected(client)) {
        violated(client, job,
                 fmt::format("it timed out although a result of it may be unheard, {} ms after the connection of its "
                             "replica to NATS broke: it has to have been connected for {} ms",
                             engine::to_millis(now_ - connected_after_.at(client)), engine::to_millis(patience())));
        return;
    }
    if (by_itself && left.unheard && has_just_been_unanswered(client)) {
        violated(client, job,
                 fmt::format(
                     "it timed out although a result of it may be unheard, {} ms after its replica had no answer from "
                     "Redis: nobody may have been able to handle a result, and there have to be {} ms for it",
                     engine::to_millis(now_ - unanswered_.at(client)), engine::to_millis(patience())));
        return;
    }
    if (kCallsBeforeTheFirst * slowest_answer() > 2 * tunables_.reconciler_interval) return;
    const auto calm = weather_.lasts_for(now_);
    if (by_itself && unheard != nullptr && calm && *calm > overdue + tunables_.job_lock_ttl &&
        may_be_taken_from_the_stream(job, unheard->second)) {
        violated(client, job,
                 fmt::format("it timed out {} ms after its limit, and result number {} of its own worker stood in the "
                             "stream all the time, which anybody could have read there: nothing has disturbed the "
                             "cluster for {} ms",
                             engine::to_millis(overdue), unheard->first, engine::to_millis(*calm)),
                 unheard->second.event);
        return;
    }
    const auto named = named_.find(job);
    const bool alone = named == named_.end() || named->second + kReported >= now_;
    for (const bool waited_for : {true, false}) {
        const Duration most = bound(waited_for);
        if (!waited_for && (!alone || !all_are_looked_at() || !surely_calm())) continue;
        const Duration slack =
            waited_for ? tunables_.reconciler_interval + time_to_read() + time_for_all() : Duration{0};
        if (left.surely_late <= most + slack || !calm || *calm <= most + slack) continue;
        violated(
            client, job,
            fmt::format("it became {} {} ms after its limit, and nothing has disturbed the cluster for {} ms: {} ms is "
                        "how long {} for",
                        left.to, engine::to_millis(left.surely_late), engine::to_millis(*calm), engine::to_millis(most),
                        waited_for ? "a result that may be unheard is waited" : "one without a result has to wait"));
        return;
    }
}

bool StoredResultWins::may_be_taken_from_the_stream(std::string_view job, const Result& result) const {
    const auto worker = workers_.find(job);
    return worker != workers_.end() && worker->second == result.worker && all_are_looked_at();
}

bool StoredResultWins::has_just_connected(fakes::NodeId client) const {
    const auto after = connected_after_.find(client);
    return after != connected_after_.end() && is_too_soon_after(after->second);
}

bool StoredResultWins::has_just_been_unanswered(fakes::NodeId client) const {
    const auto last = unanswered_.find(client);
    return last != unanswered_.end() && is_too_soon_after(last->second);
}

bool StoredResultWins::is_too_soon_after(Time began) const {
    // An eighth, for a clock that goes too fast.
    return now_ - began < patience() - patience() / 8;
}

Duration StoredResultWins::bound(bool waited_for) const {
    const Duration interval = std::max(tunables_.reconciler_interval, ends_.longest_interval());
    return waited_for ? patience() + 3 * tunables_.reconciler_interval : 3 * interval + kSoonAfter;
}

Duration StoredResultWins::slowest_answer() const {
    Duration longest{};
    for (const auto& [node, ticks] : ticks_) longest = std::max(longest, ticks.took);
    return longest;
}

/// A tick reads the results that may be unheard, a few at a time, and does nothing else meanwhile.
Duration StoredResultWins::time_to_read() const {
    return std::max(kPerResult, 2 * slowest_answer()) *
           static_cast<std::int64_t>(std::min<std::uint64_t>(results_, kReadAtMost));
}

bool StoredResultWins::all_are_looked_at() const {
    return tunables_.reconciler_max_iterations >= kPagesAtOnce && results_ < kResultsLookedAt &&
           looked_at_in_a_tick() > 2 * at_work_.size();
}

std::uint64_t StoredResultWins::looked_at_in_a_tick() const {
    return static_cast<std::uint64_t>(tunables_.reconciler_batch * tunables_.reconciler_max_iterations);
}

/// Each tick goes on where the one before it has stopped, and who ends meanwhile had a turn before.
Duration StoredResultWins::time_for_all() const {
    return tunables_.reconciler_interval * static_cast<std::int64_t>(most_at_work_ / looked_at_in_a_tick());
}

bool StoredResultWins::surely_calm() const {
    const auto calm = weather_.lasts_for(now_);
    return calm && now_ - *calm < Time{kTolerance};
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
