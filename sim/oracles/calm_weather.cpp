#include "sim/oracles/calm_weather.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/capacity_keys.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using engine::Duration;
using fakes::EventKind;
using fakes::When;

/// Who submits compensations (wire.md 2.2).
constexpr std::string_view kRollbacks = "cordum-scheduler-saga";
constexpr std::string_view kTenantLines = "lockstep:tenant:";

/// What a link has held up arrives this soon after it has healed: the server may have sent it long before.
constexpr auto kHeldUp = std::chrono::seconds{1};
/// Whoever finds out late that a connection was dead has done so by then.
constexpr auto kLastingCalm = std::chrono::seconds{30};

/// Something goes wrong that may cost somebody a try.
bool is_trouble(const fakes::Event& event) {
    switch (event.kind) {
        case EventKind::fault:
        case EventKind::node_up:
        case EventKind::node_down:
        case EventKind::paused:
        case EventKind::resumed:
        case EventKind::connection_broken:
        case EventKind::lock_expired:
        case EventKind::slow_consumer: return true;
        default:
            return fakes::is_call(event.kind) && event.when == When::answered &&
                   (event.outcome != fakes::EventOutcome::applied || event.payload.starts_with('-'));
    }
}

/// Of a run, or of a workflow whose runs cannot be told apart (redis-schema.md 5).
bool is_lock_of_a_rollback(std::string_view key) {
    return key.starts_with("lockstep:saga:lock:") || (key.starts_with("saga:") && key.ends_with(":lock"));
}

}  // namespace

CalmWeather::Job& CalmWeather::at(std::string_view job) {
    const auto found = jobs_.find(job);
    return found != jobs_.end() ? found->second : jobs_.emplace(job, Job{}).first->second;
}

void CalmWeather::on_event(const fakes::Event& event, Time now) {
    if (event.kind == EventKind::connection_broken) judge_connection(event, now);
    if (is_trouble(event)) ++troubles_;
    heartbeats_heard_.on_event(event, present(), now);
    judge_heartbeats(now);
    switch (event.kind) {
        case EventKind::deliver: on_deliver(event, now); break;
        case EventKind::ack:
        case EventKind::nak:
        case EventKind::term:
            if (event.when == When::before) on_verdict(event, now);
            if (event.when == When::applied) on_handed_back(event, now);
            break;
        case EventKind::lock_acquired:
        case EventKind::lock_released:
        case EventKind::lock_expired:
            if (!event.job.empty())
                on_lock(event, now);
            else
                on_other_lock(event, now);
            break;
        case EventKind::state: on_state(event, now); break;
        case EventKind::kernel_check:
            if (event.when == When::before && !event.job.empty()) on_check(event, now);
            // About a job that nobody has submitted only who rolls back asks.
            if (event.when != When::applied && !event.job.empty() && at(event.job).submitted == kBeforeAll)
                undoing_[event.node] = event.when == When::before ? now + tunables_.safety_timeout : now;
            break;
        case EventKind::publish:
            if (event.when == When::before && event.packet != nullptr && event.packet->sender_id() == kRollbacks)
                undoing_[event.node] = now;
            break;
        case EventKind::fault:
            // The numbers of what it took are given out again.
            if (event.name == "nats.power_cut") lose_messages(now);
            break;
        case EventKind::approve:
            if (event.when == When::before) ++at(event.job).occasions;
            break;
        case EventKind::heartbeat:
            heard_of(event.name, now);
            workers_.insert_or_assign(std::string(event.name), event.node);
            break;
        default: break;
    }
}

void CalmWeather::heard_of(std::string_view worker, Time now) {
    const auto [entry, first] = heartbeats_.try_emplace(std::string(worker), Heartbeats{now, now});
    if (!first) entry->second = {now, entry->second.last};
}

// Messages -------------------------------------------------------------------------------------------------------------

void CalmWeather::on_deliver(const fakes::Event& event, Time now) {
    if (!event.name.starts_with(kSchedulersDurables)) return;
    const auto [entry, fresh] = messages_.try_emplace(MessageId{is_schedulers_results(event.name), event.sequence});
    Message& message = entry->second;
    const auto called_for = std::ranges::find_if(message.due, [now](Time due) { return due <= now; });
    const bool due = called_for != message.due.end();
    if (due) message.due.erase(called_for);
    if (!fresh && message.in_hand && !due && message.deliveries < event.number) {
        exercise();
        const Time since = message.delivered - kHeldUp;
        if (weather_.clear_for(message.node, since) && weather_.clear_at(event.node, since))
            violated(event.node, event.job,
                     fmt::format("message {} is delivered again {} ms after an undisturbed replica was given it, which "
                                 "has not handed it back",
                                 event.sequence, engine::to_millis(now - message.delivered)),
                     message.event);
    }
    Job& job = at(event.job);
    if (fresh && ++job.unsettled > 1) job.crowded = now;
    if (event.name == kSchedulersSubmissions) {
        ++job.occasions;
        job.compensation = job.compensation || (event.packet != nullptr && event.packet->sender_id() == kRollbacks);
        if (job.submitted == kBeforeAll) {
            job.submitted = now;
            job.troubles_before = troubles_;
        }
    }
    message.job = event.job;
    message.node = event.node;
    message.copied = message.copied || message.in_hand;
    message.in_hand = true;
    message.delivered = now;
    message.deliveries = std::max(message.deliveries, event.number);
    message.event = present();
    message.takings = job.takings;
    message.lock_taken = job.holder.valid() || job.locked;
}

void CalmWeather::on_verdict(const fakes::Event& event, Time now) {
    if (!event.name.starts_with(kSchedulersDurables)) return;
    const auto entry = messages_.find(MessageId{is_schedulers_results(event.name), event.sequence});
    if (entry == messages_.end()) return;
    // About a message that had this number before the server lost it.
    if (entry->second.job != event.job) return;
    // The word of a replica whose delivery is no longer the last one counts for the server all the same.
    if (event.kind != EventKind::nak) return settle(entry, now);
    Message& message = entry->second;
    message.in_hand = false;
    if (event.number == 0 && !weather_.stopping(event.node) && has_delays())
        violated(event.node, event.job,
                 fmt::format("message {} is handed back to come again at once, and its replica is not asked to end",
                             event.sequence),
                 message.event);
    const auto job = jobs_.find(message.job);
    if (job != jobs_.end() && message.node == event.node && !message.copied)
        judge_hand_back(event, message, job->second);
}

void CalmWeather::on_handed_back(const fakes::Event& event, Time now) {
    if (event.kind != EventKind::nak || event.outcome != fakes::EventOutcome::applied) return;
    if (!event.name.starts_with(kSchedulersDurables)) return;
    const auto entry = messages_.find(MessageId{is_schedulers_results(event.name), event.sequence});
    // The server goes by the number alone: a late word about a message that it lost counts for the one that has its number now.
    if (entry != messages_.end()) entry->second.due.push_back(now + Duration{event.number});
}

void CalmWeather::settle(std::map<MessageId, Message>::iterator message, Time now) {
    const auto job = jobs_.find(message->second.job);
    if (job != jobs_.end()) {
        if (job->second.unsettled > 1) job->second.crowded = now;
        if (job->second.unsettled > 0) --job->second.unsettled;
    }
    messages_.erase(message);
}

void CalmWeather::lose_messages(Time now) {
    messages_.clear();
    for (auto& [name, job] : jobs_) {
        job.uncounted = job.uncounted || job.unsettled > 0;
        job.unsettled = 0;
        job.crowded = now;
    }
}

bool CalmWeather::has_delays() const {
    return std::ranges::none_of(std::array{tunables_.retry_delay_store, tunables_.retry_delay_publish,
                                           tunables_.retry_delay_busy, tunables_.retry_delay_no_workers,
                                           tunables_.safety_throttle_delay, tunables_.safety_unavailable_delay},
                                [](Duration delay) { return delay == Duration{0}; });
}

void CalmWeather::judge_connection(const fakes::Event& event, Time now) {
    const auto is_asked = [](fakes::NodeId node) { return node == Topology::kRedis || node == Topology::kNats; };
    const fakes::NodeId client = is_asked(event.node) ? event.peer : event.node;
    const fakes::NodeId server = is_asked(event.node) ? event.node : event.peer;
    if (!is_asked(server) || is_asked(client) || !client.valid() || by_user(client)) return;
    exercise();
    if (weather_.clear_for(client, now - kLastingCalm))
        violated(client, {},
                 fmt::format("its connection to {} breaks, and nothing has disturbed either of them for {} ms",
                             server == Topology::kRedis ? "Redis" : "NATS", engine::to_millis(kLastingCalm)));
}

void CalmWeather::judge_heartbeats(Time now) {
    for (const HeardByAll::Missed& missed : heartbeats_heard_.missed(weather_, now))
        violated(
            missed.by, {},
            fmt::format("it has heard heartbeats and not this one, which NATS took at {} ms, and nothing has disturbed "
                        "either of them: heartbeats are for everybody",
                        engine::to_millis(missed.taken.time_since_epoch())),
            missed.event);
}

bool CalmWeather::is_due_elsewhere(Duration delay) const {
    return delay == tunables_.retry_delay_no_workers || delay == tunables_.safety_throttle_delay ||
           delay == tunables_.safety_unavailable_delay || delay == tunables_.retry_delay_busy || delay == Duration{0};
}

void CalmWeather::judge_hand_back(const fakes::Event& event, const Message& message, const Job& job) {
    if (job.forgotten || job.given_delay || !weather_.clear_for(event.node, message.delivered)) return;
    exercise();
    const Duration delay{event.number};
    const bool for_servers = delay == tunables_.retry_delay_store || delay == tunables_.retry_delay_publish;
    if (for_servers && !is_due_elsewhere(delay)) {
        violated(event.node, event.job,
                 fmt::format("it is handed back for {} ms, as if a server did not answer, and every server has",
                             engine::to_millis(delay)),
                 message.event);
        return;
    }
    if (delay != tunables_.retry_delay_busy) return;
    const bool others = job.replayed >= message.delivered || message.lock_taken || job.takings > message.takings + 1 ||
                        job.unsettled > 1 || job.uncounted || job.crowded >= message.delivered ||
                        job.written_by_others >= message.delivered || job.locked ||
                        (job.holder.valid() && job.holder != event.node);
    if (!others)
        violated(event.node, event.job,
                 fmt::format("it is handed back for {} ms as a job in other hands, and nobody else has been at it",
                             engine::to_millis(delay)),
                 message.event);
}

// Locks and states -----------------------------------------------------------------------------------------------------

void CalmWeather::on_lock(const fakes::Event& event, Time now) {
    Job& job = at(event.job);
    job.locked = false;
    switch (event.kind) {
        case EventKind::lock_acquired:
            if (job.written != kBeforeAll && now - job.written >= tunables_.pending_age) job.replayed = now;
            job.holder = event.node;
            job.held_since = now;
            job.held_event = present();
            ++job.takings;
            return;
        case EventKind::lock_expired:
            exercise();
            if (!event.flag && job.holder.valid() && !by_user(job.holder) &&
                weather_.clear_for(job.holder, job.held_since - 2 * tunables_.store_op_timeout))
                violated(job.holder, event.job,
                         fmt::format("its lock runs out {} ms after it was taken, and nothing has disturbed its holder",
                                     engine::to_millis(now - job.held_since)),
                         job.held_event);
            break;
        default: exercise(); break;
    }
    job.holder = {};
}

void CalmWeather::on_other_lock(const fakes::Event& event, Time now) {
    // A tick keeps its lock to the end of its window (single_ticker).
    if (is_tick_lock(event.key) || is_run_tick_lock(event.key) || event.key == kCapacityTick) return;
    if (event.kind == EventKind::lock_acquired) {
        holds_.insert_or_assign(std::string(event.key), Hold{event.node, now, present()});
        return;
    }
    const auto hold = holds_.find(event.key);
    if (hold == holds_.end()) return;
    exercise();
    const Hold was = hold->second;
    holds_.erase(hold);
    if (event.kind != EventKind::lock_expired || event.flag || !was.by.valid() || by_user(was.by)) return;
    // A rollback that takes all its time ends in the midst of an undoing: it can be told apart from one that has been left.
    const auto undoing = undoing_.find(was.by);
    if (is_lock_of_a_rollback(event.key) && undoing != undoing_.end() &&
        now - undoing->second < tunables_.publish_timeout + tunables_.store_op_timeout)
        return;
    // Whoever rolls back asks policy under the lock.
    const bool calm = weather_.clear_for(was.by, was.since - 2 * tunables_.store_op_timeout) &&
                      weather_.clear_at(Topology::kKernel, was.since - 2 * tunables_.store_op_timeout);
    if (calm)
        violated(was.by, {},
                 fmt::format("{} runs out {} ms after it was taken, and nothing has disturbed its holder", event.key,
                             engine::to_millis(now - was.since)),
                 was.event);
}

void CalmWeather::on_state(const fakes::Event& event, Time now) {
    Job& job = at(event.job);
    job.written = now;
    // Neither the reconciler takes a lock, nor who is told to cancel.
    if (by_user(event.node) || event.to == "TIMEOUT" || event.to == "CANCELLED") job.written_by_others = now;
    const std::string before = std::exchange(job.state, std::string(event.to));
    if (event.to == "DISPATCHED") {
        job.dispatched_by = event.node;
        job.dispatch_begun = job.holder == event.node ? job.held_since : now;
        exercise();
    }
    if (before != "DISPATCHED" || event.to != "SCHEDULED" || by_user(event.node)) return;
    if (job.forgotten || event.node != job.dispatched_by || !weather_.clear_for(event.node, job.dispatch_begun)) return;
    // A worker that has fallen silent, or may have seemed so to that replica.
    const auto worker = workers_.find(job.worker);
    const auto heard = heartbeats_.find(job.worker);
    if (worker == workers_.end() || heard == heartbeats_.end()) return;
    // The last one may still be on its way.
    const Time said = now - heard->second.last < kHeldUp ? heard->second.before : heard->second.last;
    const bool lives = weather_.clear_at(worker->second, job.dispatch_begun - tunables_.worker_ttl) &&
                       said + tunables_.worker_ttl / 2 >= now;
    if (lives && weather_.clear_for(event.node, job.dispatch_begun - tunables_.worker_ttl))
        violated(event.node, event.job,
                 fmt::format("its dispatch to {} is taken back, and neither that worker nor its replica was disturbed",
                             job.worker));
}

void CalmWeather::on_check(const fakes::Event& event, Time now) {
    Job& job = at(event.job);
    if (job.forgotten || job.compensation || job.submitted == kBeforeAll) return;
    exercise();
    ++job.asked;
    const std::int64_t replays =
        tunables_.pending_age > Duration{0} ? (now - job.submitted) / tunables_.pending_age : 0;
    const int troubles = troubles_ - job.troubles_before;
    const std::int64_t allowed = job.occasions + replays + troubles;
    if (job.asked > allowed)
        violated(
            event.node, event.job,
            fmt::format("policy is asked about it {} times, and there were {} occasions to, {} times that something "
                        "went wrong among them",
                        job.asked, allowed, troubles),
            job.asked_event);
    job.asked_event = present();
}

void CalmWeather::hash_set(fakes::NodeId, std::string_view key, std::string_view field, const std::string*,
                           std::string_view after) {
    if (field != "ls_worker" && field != "ls_next_attempt_at") return;
    const auto name = job_of_hash(key);
    if (!name) return;
    Job& job = at(*name);
    if (field == "ls_worker" && !after.empty()) job.worker = after;
    if (field != "ls_next_attempt_at") return;
    job.given_delay = true;
    ++job.occasions;
}

void CalmWeather::zset_set(fakes::NodeId, std::string_view key, std::string_view member, const double*, double) {
    if (key.starts_with(kTenantLines) || is_place_for_capacity(key)) ++at(member).occasions;
}

void CalmWeather::zset_removed(fakes::NodeId, std::string_view key, std::string_view member, double) {
    if (key.starts_with(kTenantLines) || is_place_for_capacity(key)) ++at(member).occasions;
}

void CalmWeather::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                              std::int64_t) {
    const auto name = job_of_hash(key);
    const auto found = name ? jobs_.find(*name) : jobs_.end();
    if (found != jobs_.end()) forget(found->second);
}

void CalmWeather::forget(Job& job) {
    job.forgotten = true;
    job.holder = {};
}

void CalmWeather::restored(const fakes::redis::Keyspace& now) {
    for (auto& [name, job] : jobs_) {
        // Of a lock that is lost, or back, nobody is told.
        job.holder = {};
        job.locked = now.find(fmt::format("{}{}", kJobLockPrefix, name)) != nullptr;
        if (loss_of(name).any()) forget(job);
    }
}

}  // namespace lockstep::sim
