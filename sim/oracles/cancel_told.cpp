#include "sim/oracles/cancel_told.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::When;

/// As whom schedulers ask for it (wire.md 2.2).
constexpr std::string_view kScheduler = "cordum-scheduler";
/// Beside the call itself.
constexpr engine::Duration kOnTop = std::chrono::seconds{1};

/// So many cancellations a replica works off at a time.
constexpr std::size_t kTogether = 32;

bool at_work(std::string_view state) { return state == "DISPATCHED" || state == "RUNNING"; }
bool called_off(std::string_view state) { return state == "CANCELLED" || state == "TIMEOUT"; }

}  // namespace

CancelTold::CancelTold(Judge& judge, const engine::Tunables& tunables)
    : Oracle(judge),
      tunables_(tunables),
      // The call of the store by which it learns that the job has ended: one that fails is a disturbance.
      soon_(tunables.store_op_timeout + kOnTop) {}

CancelTold::Job& CancelTold::at(std::string_view job) {
    const auto found = jobs_.find(job);
    return found != jobs_.end() ? found->second : jobs_.emplace(job, Job{}).first->second;
}

void CancelTold::on_event(const fakes::Event& event, Time now) {
    judge_due(now);
    switch (event.kind) {
        case EventKind::state: on_state(event, now); break;
        case EventKind::publish:
            if (event.packet != nullptr && event.packet->has_job_request() &&
                event.subject != engine::wire::kSubjectSubmit)
                on_sent(event, now);
            break;
        case EventKind::core_deliver:
            on_dispatch_arrived(event, now);
            on_request_to_cancel(event, now);
            break;
        case EventKind::redis:
            if (event.when == When::answered && event.payload.starts_with('-')) refused_[event.node] = now;
            break;
        case EventKind::deliver:
        case EventKind::read_back:
            if (is_result_in_hand(event)) on_result(event);
            break;
        case EventKind::core_publish:
            if (event.when == When::before) on_cancel(event, now);
            break;
        default: break;
    }
}

void CancelTold::on_state(const fakes::Event& event, Time now) {
    Job& job = at(event.job);
    const std::string before = std::exchange(job.state, std::string(event.to));
    if (event.to != "TIMEOUT" || !at_work(before) || by_user(event.node) || job.worker_ended_it) return;
    if (!tunables_.cancel_on_timeout) return;
    // A call that its replica has given up meanwhile may still have ended the job, unknown to anybody.
    const Time called = now - 2 * tunables_.store_op_timeout;
    owe({now + soon_, std::string(event.job), event.node, now, called, "it timed out", present()});
}

void CancelTold::on_dispatch_arrived(const fakes::Event& event, Time now) {
    if (event.packet == nullptr || !event.packet->has_job_request()) return;
    if (event.subject == engine::wire::kSubjectSubmit) return;
    const auto found = jobs_.find(event.job);
    if (found == jobs_.end() || !called_off(found->second.state)) return;
    // One that nobody has sent is forged; its worker is its own business.
    if (found->second.sent == kBeforeAll) return;
    found->second.too_late = now;
    owe_after_dispatch(event.job, found->second, now);
}

void CancelTold::on_sent(const fakes::Event& event, Time now) {
    Job& job = at(event.job);
    if (event.when == When::before) {
        job.sender = event.node;
        job.sent = now;
        job.stored = kBeforeAll;
        job.too_late = kBeforeAll;
    } else if (event.when == When::answered && event.outcome == fakes::EventOutcome::applied) {
        job.stored = now;
        job.over_by_then = called_off(job.state);
        owe_after_dispatch(event.job, job, now);
    }
}

void CancelTold::owe_after_dispatch(std::string_view name, const Job& job, Time now) {
    if (job.stored == kBeforeAll || !job.over_by_then || job.too_late == kBeforeAll || job.worker_ended_it) return;
    owe({now + soon_, std::string(name), job.sender, std::min(job.stored, job.too_late), job.sent,
         "it reached a worker after it had ended", present()});
}

void CancelTold::on_result(const fakes::Event& event) {
    if (event.packet == nullptr || !event.packet->has_job_result()) return;
    const auto& result = event.packet->job_result();
    const bool ends_so = result.status() == cap::JOB_STATUS_TIMEOUT || result.status() == cap::JOB_STATUS_CANCELLED;
    if (ends_so && !engine::wire::rejection(result)) at(event.job).worker_ended_it = true;
}

void CancelTold::on_cancel(const fakes::Event& event, Time now) {
    if (event.subject != engine::wire::kSubjectCancel || event.packet == nullptr || !event.packet->has_job_cancel())
        return;
    const auto& cancel = event.packet->job_cancel();
    const auto found = jobs_.find(cancel.job_id());
    if (found == jobs_.end()) return;
    found->second.told = now;
    if (by_user(event.node) || cancel.requested_by() != kScheduler) return;
    exercise();
    if (!found->second.state.empty() && !called_off(found->second.state))
        violated(event.node, cancel.job_id(),
                 fmt::format("its worker is told to leave off, and it is {}", found->second.state));
}

void CancelTold::on_request_to_cancel(const fakes::Event& event, Time now) {
    // Each word is for one of the schedulers, who share a queue, and for every worker.
    if (event.subject != engine::wire::kSubjectCancel || event.name.empty() || event.packet == nullptr) return;
    if (!event.packet->has_job_cancel() || event.packet->sender_id() == kScheduler) return;
    const auto found = jobs_.find(event.packet->job_cancel().job_id());
    if (found == jobs_.end() || found->second.state.empty() || is_final(found->second.state)) return;
    exercise();
    const auto rounds = static_cast<std::int64_t>(1 + asked_of_[event.node]++ / kTogether);
    asked_.emplace(now + rounds * tunables_.store_op_timeout + kOnTop, Asked{found->first, event.node, now, present()});
}

void CancelTold::judge_requests(Time now) {
    while (!asked_.empty() && asked_.begin()->first <= now) {
        const Asked asked = std::move(asked_.begin()->second);
        asked_.erase(asked_.begin());
        --asked_of_[asked.of];
        const auto found = jobs_.find(asked.job);
        if (found == jobs_.end() || found->second.state.empty() || is_final(found->second.state)) continue;
        const auto refused = refused_.find(asked.of);
        if (refused != refused_.end() && refused->second >= asked.since) continue;
        if (!weather_.clear_but_slow_for(asked.of, asked.since)) continue;
        violated(asked.of, asked.job,
                 fmt::format("a scheduler has heard that it is to be cancelled, and it is still {}, though nothing has "
                             "disturbed the replica, Redis or NATS",
                             found->second.state),
                 asked.event);
    }
}

void CancelTold::owe(Owed owed) {
    exercise();
    owed_.push_back(std::move(owed));
}

void CancelTold::judge_due(Time now) {
    judge_requests(now);
    while (!owed_.empty() && owed_.front().due <= now) {
        const Owed owed = std::move(owed_.front());
        owed_.pop_front();
        const auto found = jobs_.find(owed.job);
        if (found == jobs_.end() || found->second.told >= owed.since) continue;
        if (found->second.worker_ended_it || !weather_.clear_but_slow_for(owed.by, owed.calm_since)) continue;
        violated(
            owed.by, owed.job,
            fmt::format("{}, and {} ms later no cancellation has been published for its worker, though nothing has "
                        "disturbed the replica, Redis or NATS",
                        owed.why, engine::to_millis(soon_)),
            owed.event);
    }
}

void CancelTold::at_rest(const RestView& view) {
    // Nothing is left to happen.
    if (view.quiet) judge_due(Time::max());
}

void CancelTold::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                             std::int64_t) {
    const auto name = job_of_hash(key);
    const auto found = name ? jobs_.find(*name) : jobs_.end();
    if (found != jobs_.end()) jobs_.erase(found);
}

void CancelTold::restored(const fakes::redis::Keyspace&) {
    std::erase_if(jobs_, [this](const auto& job) { return lost_.any_of(job.first); });
    std::erase_if(owed_, [this](const Owed& owed) { return lost_.any_of(owed.job); });
}

}  // namespace lockstep::sim
