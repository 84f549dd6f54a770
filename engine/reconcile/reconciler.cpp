#include "engine/reconcile/reconciler.h"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "engine/scheduler/cancel.h"
#include "engine/store/keys.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {

namespace {

constexpr Duration kPauseWithoutProgress = std::chrono::milliseconds{200};

StayLimits dispatched_limits(const Context& context) {
    StayLimits limits{context.tunables.dispatch_timeout, {}, {}};
    for (const auto& [topic, times] : context.timeouts.topics) {
        if (times.dispatch > Duration{0}) limits.by_topic.emplace(topic, times.dispatch);
    }
    return limits;
}

StayLimits running_limits(const Context& context) {
    StayLimits limits{context.tunables.running_timeout, {}, {}};
    for (const auto& [topic, times] : context.timeouts.topics) {
        if (times.running > Duration{0}) limits.by_topic.emplace(topic, times.running);
    }
    for (const auto& [workflow, times] : context.timeouts.workflows) {
        if (times.child > Duration{0}) limits.by_workflow.emplace(workflow, times.child);
    }
    return limits;
}

}  // namespace

Reconciler::Reconciler(Context& context, DeadLetters& dead_letters)
    : context_(context),
      dead_letters_(dead_letters),
      ticker_(context, keys::kReconcilerLock, context.tunables.reconciler_interval) {}

Task<void> Reconciler::run() {
    if (!context_.mechanisms.on(Mechanism::reconciler)) co_return;
    while (true) {
        co_await context_.ports.clock.sleep(ticker_.interval());
        co_await tick();
    }
}

Task<void> Reconciler::tick() {
    const bool mine = co_await ticker_.hold();
    if (!mine) co_return;
    if (context_.tunables.reconciler_scheduled_timeout > Duration{0})
        co_await sweep_state(JobState::scheduled, StayLimits{context_.tunables.reconciler_scheduled_timeout, {}, {}});
    co_await sweep_state(JobState::dispatched, dispatched_limits(context_));
    co_await sweep_state(JobState::running, running_limits(context_));
    co_await sweep_deadlines();
    co_await dead_letters_.sweep();
    co_await ticker_.tick_over();
}

Task<void> Reconciler::sweep_state(JobState state, StayLimits limits) {
    std::string after = std::exchange(resume_after_[state], {});
    std::map<std::string, std::int64_t> failures;
    for (std::int64_t iteration = 0; iteration < context_.tunables.reconciler_max_iterations; ++iteration) {
        if (iteration > 0) {
            const bool still_mine = co_await ticker_.hold();
            if (!still_mine) co_return;
        }
        auto page = co_await context_.store.overdue_page(ticker_.lock(), state, limits, after,
                                                         context_.tunables.reconciler_batch);
        if (!page.applied()) co_return;
        context_.ports.metrics.set(Metric::stale_jobs, static_cast<double>(page.value().jobs.size()),
                                   {to_string(state)});
        bool progress = false;
        bool work_left = false;
        for (const OverdueJob& overdue : page.value().jobs) {
            const bool still_mine = co_await ticker_.keep();
            if (!still_mine) co_return;
            std::int64_t& failed = failures[overdue.stale.job];
            if (failed >= context_.tunables.reconciler_max_retries) continue;
            const bool dealt_with =
                co_await end_job(overdue.stale, keys::state_index(state), state,
                                 fmt::format("timeout: {} >{}", to_string(state), format_duration(overdue.limit)));
            progress = progress || dealt_with;
            if (!dealt_with && ++failed < context_.tunables.reconciler_max_retries) work_left = true;
        }
        if (work_left) {
            if (!progress) co_await context_.ports.clock.sleep(kPauseWithoutProgress);
            continue;  // the same page once more, for what failed
        }
        after = page.value().last_score;
        if (after.empty()) co_return;
    }
    resume_after_[state] = std::move(after);
}

Task<void> Reconciler::sweep_deadlines() {
    const std::string index(keys::kDeadlines);
    auto page =
        co_await context_.store.stale_jobs(ticker_.lock(), index, Duration{0}, context_.tunables.reconciler_batch);
    if (!page.applied()) co_return;
    for (const StaleJob& expired : page.value()) {
        const bool still_mine = co_await ticker_.keep();
        if (!still_mine) co_return;
        co_await end_job(expired, index, std::nullopt, "timeout: deadline expired");
    }
}

Task<bool> Reconciler::end_job(StaleJob stale, std::string index, std::optional<JobState> expected,
                               std::string reason) {
    const std::string job = stale.job;
    const auto ended = co_await context_.store.time_out(std::move(stale), std::move(index), expected, reason);
    if (!ended.applied()) co_return false;
    if (!ended.value().timed_out) {
        context_.ports.log.reached("stale_job_had_moved");
        co_return true;
    }
    context_.ports.log.event(LogLevel::warn, "job timed out", {{"job_id", job}, {"reason", reason}});
    context_.ports.metrics.add(Metric::jobs_completed,
                               {ended.value().topic, cap::JobStatus_Name(cap::JOB_STATUS_TIMEOUT)});
    if (context_.tunables.reconciler_emit_dead_letter)
        dead_letters_.announce_aside({job, ended.value().topic, cap::JOB_STATUS_TIMEOUT, reason, "timeout"});
    const bool may_run = ended.value().from == JobState::dispatched || ended.value().from == JobState::running;
    if (context_.tunables.cancel_on_timeout && may_run) co_await broadcast_cancel(context_, job, reason);
    co_return true;
}

}  // namespace lockstep::engine
