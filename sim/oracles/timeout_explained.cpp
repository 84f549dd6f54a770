#include "sim/oracles/timeout_explained.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/capacity_keys.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using engine::Duration;
using fakes::EventKind;

constexpr int kFewJobs = 5;
/// For messages on their way and handlers that are at other jobs.
constexpr Duration kSlackForATimeout = std::chrono::seconds{30};
/// From when NATS is back until every replica has found that out.
constexpr Duration kUntilReconnected = std::chrono::seconds{10};
/// Beside the calls themselves.
constexpr Duration kOnTop = std::chrono::seconds{1};
/// An input that is not found is looked for again after so long (D-09).
constexpr Duration kInputIsNotFound = std::chrono::seconds{5};
constexpr std::string_view kLinePrefix = "lockstep:tenant:waiting:";

bool is_waiting(std::string_view state) { return state == "PENDING" || state == "SCHEDULED"; }

Duration longest_delay(const engine::Tunables& tunables) {
    return std::max({tunables.backoff_max + tunables.backoff_jitter, tunables.safety_throttle_delay,
                     tunables.safety_unavailable_delay, tunables.retry_delay_no_workers, tunables.retry_delay_publish,
                     tunables.retry_delay_store, kInputIsNotFound});
}

}  // namespace

TimeoutExplained::TimeoutExplained(Judge& judge, const engine::Tunables& tunables)
    : Oracle(judge),
      on_the_way_(tunables.publish_timeout + 2 * tunables.store_op_timeout + kOnTop),
      between_tries_(longest_delay(tunables) + kSlackForATimeout),
      until_found_(tunables.publish_resend_limit + on_the_way_ + kOnTop),
      resend_limit_(tunables.publish_resend_limit) {}

void TimeoutExplained::on_event(const fakes::Event& event, Time now) {
    // First: what goes wrong from now on has not disturbed what was due before.
    judge_due(now);
    note_trouble(event, now);
    switch (event.kind) {
        case EventKind::state: on_state(event, now); break;
        case EventKind::stored:
            if (const auto found = is_worker_subject(event.subject) ? jobs_.find(event.job) : jobs_.end();
                found != jobs_.end())
                found->second.in_stream = true;
            if (event.subject == engine::wire::kSubjectSubmit && !event.job.empty())
                jobs_[std::string(event.job)].asked = now;
            break;
        case EventKind::lock_acquired:
            if (!event.job.empty() && !by_user(event.node)) {
                Job& job = jobs_[std::string(event.job)];
                job.tried = now;
                job.tried_by = event.node;
                job.tried_event = present();
            }
            break;
        case EventKind::core_deliver: on_arrival(event, now); break;
        case EventKind::heartbeat: on_heartbeat(event, now); break;
        case EventKind::node_down:
            lose_worker(event.node);
            lose_answers(event.node);
            break;
        case EventKind::connection_broken:
            lose_worker(event.node);
            lose_worker(event.peer);
            break;
        case EventKind::fault:
            if (event.name == "nats.power_cut") {
                submissions_.clear();
                power_cut_ = now;
                lose_answers({});
            }
            break;
        case EventKind::publish:
            if (event.when == fakes::When::answered) on_sent(event);
            break;
        case EventKind::deliver:
            if (event.name == kSchedulersSubmissions) on_submission(event);
            break;
        case EventKind::ack:
        case EventKind::term:
            if (event.when == fakes::When::before && event.name == kSchedulersSubmissions) on_settled(event);
            break;
        default: break;
    }
}

void TimeoutExplained::note_trouble(const fakes::Event& event, Time now) {
    const bool of_nats = event.node == Topology::kNats || event.name.starts_with("nats.");
    switch (event.kind) {
        case EventKind::node_down:
        case EventKind::node_up:
        case EventKind::paused:
        case EventKind::resumed: (of_nats ? nats_ill_ : ill_[event.node]) = now; break;
        case EventKind::redis:
            if (event.when == fakes::When::answered && event.outcome != fakes::EventOutcome::applied)
                ill_[event.node] = now;
            break;
        case EventKind::fault: {
            if (event.name.starts_with("clock_") || event.name == "nats.power_cut" || event.name == "corrupt")
                clocks_jumped_ = true;
            if (event.name.starts_with("worker.") || event.name.starts_with("output_policy.")) break;
            (of_nats ? nats_ill_ : others_ill_) = now;
            if (end_of_fault(event.name) == FaultEnd::told)
                (of_nats ? nats_faults_ : other_faults_) += event.from == "begin" ? 1 : -1;
            break;
        }
        default: break;
    }
}

void TimeoutExplained::judge_found(const Watch& watch, const Job& job) {
    if (job.state != "DISPATCHED" || !job.in_stream || clocks_jumped_) return;
    const auto ill = ill_.find(watch.by);
    const bool disturbed = (ill != ill_.end() && ill->second >= watch.begun) || others_ill_ >= watch.begun ||
                           other_faults_ != 0 || nats_faults_ != 0 || !weather_.clear_at(Topology::kRedis, watch.begun);
    if (disturbed || nats_ill_ + kUntilReconnected > watch.begun + resend_limit_) return;
    exercise();
    violated(watch.by, watch.job,
             fmt::format("the stream has its dispatch, NATS has been back for long enough to look for it within {} ms, "
                         "and it is not RUNNING: nothing but its result or its limit will end it",
                         engine::to_millis(resend_limit_)),
             watch.event);
}

void TimeoutExplained::on_submission(const fakes::Event& event) {
    const bool fresh = submissions_.try_emplace(event.sequence, event.job).second;
    if (fresh) ++jobs_[std::string(event.job)].messages;
}

void TimeoutExplained::on_settled(const fakes::Event& event) {
    const auto submission = submissions_.find(event.sequence);
    // Of a message that had this number before the server lost it: not the one that has it now.
    if (submission == submissions_.end() || submission->second != event.job) return;
    const auto found = jobs_.find(submission->second);
    submissions_.erase(submission);
    if (found == jobs_.end()) return;
    Job& job = found->second;
    const bool only_one = job.messages-- == 1;
    if (!only_one || job.stored_by != event.node || !event.node.valid()) return;
    exercise();
    if (job.state == "DISPATCHED" && !job.worker.empty())
        violated(
            event.node, event.job,
            "its message is acknowledged by whoever has sent it, who knows that the dispatch is in the stream, and it "
            "is still DISPATCHED: nothing but its result or its limit will end it",
            job.tried_event);
}

void TimeoutExplained::on_sent(const fakes::Event& event) {
    const bool known = event.outcome == fakes::EventOutcome::applied && engine::wire::worker_of(event.subject);
    const auto found = known ? jobs_.find(event.job) : jobs_.end();
    if (found != jobs_.end()) found->second.stored_by = event.node;
}

void TimeoutExplained::lose_worker(fakes::NodeId node) {
    std::erase_if(workers_, [node](const auto& worker) { return worker.second.node == node; });
}

void TimeoutExplained::lose_answers(fakes::NodeId replica) {
    for (auto& [name, job] : jobs_) {
        if (replica.valid() && job.stored_by != replica) continue;
        job.stored_by = {};
        if (!replica.valid()) job.messages = 0;
    }
}

void TimeoutExplained::on_heartbeat(const fakes::Event& event, Time now) {
    if (workers_.find(event.name) == workers_.end()) workers_.emplace(event.name, Announced{event.node, now});
}

void TimeoutExplained::on_arrival(const fakes::Event& event, Time now) {
    const auto worker = engine::wire::worker_of(event.subject);
    const auto found = worker ? jobs_.find(event.job) : jobs_.end();
    if (found == jobs_.end()) return;
    const auto announced = workers_.find(*worker);
    if (announced != workers_.end() && announced->second.node == event.node && *worker == found->second.worker)
        found->second.arrived = now;
}

void TimeoutExplained::hash_set(fakes::NodeId, std::string_view key, std::string_view field, const std::string*,
                                std::string_view after) {
    const auto name = field == "ls_worker" ? job_of_hash(key) : std::nullopt;
    if (name) jobs_[std::string(*name)].worker = after;
}

void TimeoutExplained::zset_set(fakes::NodeId, std::string_view key, std::string_view member, const double*, double) {
    if (key.starts_with(kLinePrefix) || key == kCapacityWaiting) jobs_[std::string(member)].stood_in_line = true;
}

void TimeoutExplained::count_waiting(std::string_view before, std::string_view after) {
    waiting_ += static_cast<int>(is_waiting(after)) - static_cast<int>(is_waiting(before));
}

void TimeoutExplained::on_state(const fakes::Event& event, Time now) {
    Job& job = jobs_[std::string(event.job)];
    if (event.to == "TIMEOUT" && !by_user(event.node) && is_waiting(job.state)) judge_untried(event, job, now);
    count_waiting(job.state, event.to);
    const bool in_time =
        job.state == "DISPATCHED" && event.to == "RUNNING" && weather_.clear_for(event.node, job.tried);
    if (in_time) exercise();
    job.state = event.to;
    if (event.to == "DISPATCHED") {
        job.in_turn = job.dispatch = ++dispatches_;
        job.stored_by = {};
        job.in_stream = false;
        if (job.tried_by == event.node) {
            for (const auto& [watches, time] : {std::pair(&watches_, on_the_way_), std::pair(&searches_, until_found_)})
                watches->push_back(
                    {now + time, std::string(event.job), job.dispatch, event.node, job.tried, present()});
        }
    } else if (event.to != "RUNNING") {
        job.dispatch = 0;
    }
    if (!is_final(event.to)) return;
    count_waiting(job.state, {});
    jobs_.erase(jobs_.find(event.job));
}

void TimeoutExplained::judge_due(Time now) {
    while (!searches_.empty() && searches_.front().due <= now) {
        const Watch search = std::move(searches_.front());
        searches_.pop_front();
        const auto found = jobs_.find(search.job);
        if (found != jobs_.end() && found->second.in_turn == search.dispatch) judge_found(search, found->second);
    }
    while (!watches_.empty() && watches_.front().due <= now) {
        const Watch watch = std::move(watches_.front());
        watches_.pop_front();
        const auto found = jobs_.find(watch.job);
        if (found == jobs_.end() || found->second.dispatch != watch.dispatch) continue;
        judge(watch, found->second);
    }
}

void TimeoutExplained::judge(const Watch& watch, Job& job) {
    job.dispatch = 0;
    if (!weather_.clear_for(watch.by, watch.begun)) return;
    exercise();
    if (job.state == "DISPATCHED") {
        violated(
            watch.by, watch.job,
            fmt::format("it has been DISPATCHED for {} ms and is not RUNNING, and nothing has disturbed its replica, "
                        "Redis or NATS: nothing but its limit will end it",
                        engine::to_millis(on_the_way_)),
            watch.event);
        return;
    }
    const auto worker = workers_.find(job.worker);
    if (worker == workers_.end() || job.arrived >= watch.begun) return;
    if (worker->second.since >= watch.begun || !weather_.clear_at(worker->second.node, watch.begun)) return;
    violated(
        watch.by, watch.job,
        fmt::format("it has been sent to {} for {} ms, which has not got it, and nothing has disturbed that worker, "
                    "the sender or NATS: nothing but its limit will end it",
                    job.worker, engine::to_millis(on_the_way_)),
        watch.event);
}

void TimeoutExplained::judge_untried(const fakes::Event& event, const Job& job, Time now) {
    if (job.stood_in_line || job.tried == kBeforeAll || waiting_ > kFewJobs || !weather_.clear_everywhere(job.tried))
        return;
    // Nobody is asked again but by the replayer, for which the limit need not wait.
    if (power_cut_ != kBeforeAll && job.asked <= power_cut_) return;
    exercise();
    if (now - job.tried > between_tries_)
        violated(event.node, event.job,
                 fmt::format("it timed out while it was {}, nobody has tried it for {} ms, and nothing was disturbed",
                             job.state, engine::to_millis(now - job.tried)),
                 job.tried_event);
}

void TimeoutExplained::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal,
                                   const fakes::redis::Value&, std::int64_t) {
    const auto name = job_of_hash(key);
    const auto found = name ? jobs_.find(*name) : jobs_.end();
    if (found == jobs_.end()) return;
    count_waiting(found->second.state, {});
    jobs_.erase(found);
}

void TimeoutExplained::restored(const fakes::redis::Keyspace&) {
    std::erase_if(jobs_, [this](const auto& job) {
        if (!loss_of(job.first).any()) return false;
        count_waiting(job.second.state, {});
        return true;
    });
}

}  // namespace lockstep::sim
