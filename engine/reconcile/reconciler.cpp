#include "engine/reconcile/reconciler.h"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "engine/announce/cancel_broadcast.h"
#include "engine/store/keys.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {

namespace {

constexpr Duration kPauseWithoutProgress = std::chrono::milliseconds{200};
constexpr std::string_view kCodeTimeout = "timeout";
/// A result may stand in the stream, and has not been heard for as long as was promised.
constexpr std::string_view kCodeUnheard = "timeout_unheard";

StayLimits dispatched_limits(const Tunables& tunables, const Timeouts& timeouts) {
    StayLimits limits{tunables.dispatch_timeout, {}, {}};
    for (const auto& [topic, times] : timeouts.topics) {
        if (times.dispatch > Duration{0}) limits.by_topic.emplace(topic, times.dispatch);
    }
    return limits;
}

StayLimits running_limits(const Tunables& tunables, const Timeouts& timeouts) {
    StayLimits limits{tunables.running_timeout, {}, {}};
    for (const auto& [topic, times] : timeouts.topics) {
        if (times.running > Duration{0}) limits.by_topic.emplace(topic, times.running);
    }
    for (const auto& [workflow, times] : timeouts.workflows) {
        if (times.child > Duration{0}) limits.by_workflow.emplace(workflow, times.child);
    }
    return limits;
}

}  // namespace

Reconciler::Reconciler(const Context& context, const Timeouts& timeouts, Leases& leases, SweepStore& sweeps,
                       DeadLetters& dead_letters, StoredMessages& messages)
    : context_(context),
      timeouts_(timeouts),
      sweeps_(sweeps),
      dead_letters_(dead_letters),
      ticker_(context, sweeps, leases, keys::kReconcilerLock, context.tunables.reconciler_interval),
      backlog_(context, ticker_.interval(), messages),
      submissions_(Undelivered::Of::submissions, context, sweeps, messages, ticker_.interval()),
      results_(Undelivered::Of::results, context, sweeps, messages, ticker_.interval()) {}

Task<void> Reconciler::run() {
    if (!context_.mechanisms.on(Mechanism::reconciler)) co_return;
    static_cast<void>(backlog_.connected());  // since when, from the start
    while (true) {
        co_await context_.ports.clock.sleep(ticker_.interval());
        co_await tick();
    }
}

Task<bool> Reconciler::hold() {
    if (!backlog_.connected()) {
        context_.ports.log.reached("tick_left_without_bus");
        co_return false;
    }
    co_return co_await ticker_.hold();
}

Task<bool> Reconciler::keep() {
    if (!backlog_.connected()) co_return false;
    co_return co_await ticker_.keep();
}

Task<void> Reconciler::tick() {
    const bool mine = co_await hold();
    if (!mine) co_return;
    // Before anybody is timed out for whom a result may stand in what a leader has passed by.
    if (results_.of_a_cluster()) co_await results_.look(ticker_);
    backlog_.begin_tick(results_.knows_what_is_hidden(), results_.hidden_behind());
    if (context_.tunables.reconciler_scheduled_timeout > Duration{0})
        co_await sweep_state(JobState::scheduled, StayLimits{context_.tunables.reconciler_scheduled_timeout, {}, {}});
    co_await sweep_state(JobState::dispatched, dispatched_limits(context_.tunables, timeouts_));
    co_await sweep_state(JobState::running, running_limits(context_.tunables, timeouts_));
    co_await sweep_deadlines();
    co_await submissions_.look(ticker_);
    if (submissions_.of_a_cluster() && !results_.of_a_cluster()) co_await results_.look(ticker_);  // the first time
    co_await sweep_slots();
    co_await dead_letters_.sweep();
    co_await prune_final_indexes();
    co_await ticker_.tick_over();
}

Task<void> Reconciler::sweep_state(JobState state, StayLimits limits) {
    std::string after = resume_after_[state];
    std::map<JobId, std::int64_t> failures;
    for (std::int64_t iteration = 0; iteration < context_.tunables.reconciler_max_iterations; ++iteration) {
        if (iteration > 0) {
            const bool still_mine = co_await hold();
            if (!still_mine) co_return;
        }
        auto page =
            co_await sweeps_.overdue_page(ticker_.lock(), state, limits, after, context_.tunables.reconciler_batch);
        if (!page.applied()) {
            ticker_.unanswered();
            co_return;
        }
        if (page.value().lost) co_return;
        context_.ports.metrics.set(Metric::stale_jobs, static_cast<double>(page.value().jobs.size()),
                                   {to_string(state)});
        co_await backlog_.look(page.value().jobs);
        bool progress = false;
        bool work_left = false;
        for (const OverdueJob& overdue : page.value().jobs) {
            const bool still_mine = co_await keep();
            if (!still_mine) co_return;
            std::int64_t& failed = failures[overdue.stale.job];
            if (failed >= context_.tunables.reconciler_max_retries) continue;
            const Dealt dealt =
                co_await deal_with(overdue, keys::state_index(state), state,
                                   fmt::format("timeout: {} >{}", to_string(state), format_duration(overdue.limit)));
            // However this tick ends, the next one goes on behind this job: one that cannot be ended hides no other.
            resume_after_[state] = overdue.stale.score;
            progress = progress || dealt == Dealt::done;
            if (dealt == Dealt::failed && ++failed < context_.tunables.reconciler_max_retries) work_left = true;
        }
        resume_after_[state] = page.value().last_score;
        if (work_left) {
            if (!progress) co_await context_.ports.clock.sleep(kPauseWithoutProgress);
            continue;  // the same page once more, for what failed
        }
        after = std::move(page.value().last_score);
        if (after.empty()) co_return;
    }
}

Task<void> Reconciler::sweep_deadlines() {
    const std::string index(keys::kDeadlines);
    const std::int64_t batch = context_.tunables.reconciler_batch;
    for (std::int64_t iteration = 0; iteration < context_.tunables.reconciler_max_iterations; ++iteration) {
        auto page = co_await sweeps_.stale_jobs(ticker_.lock(), index, Duration{0}, deadlines_left_, batch);
        if (!page.applied()) {
            ticker_.unanswered();
            co_return;
        }
        if (page.value().lost) co_return;
        co_await backlog_.look(page.value().jobs);
        for (const OverdueJob& expired : page.value().jobs) {
            const bool still_mine = co_await keep();
            if (!still_mine) co_return;
            const Dealt dealt = co_await deal_with(expired, index, std::nullopt, "timeout: deadline expired");
            if (dealt != Dealt::done) ++deadlines_left_;
        }
        if (static_cast<std::int64_t>(page.value().jobs.size()) < batch) {
            deadlines_left_ = 0;
            co_return;
        }
    }
}

Task<Reconciler::Dealt> Reconciler::deal_with(OverdueJob overdue, std::string index, std::optional<JobState> expected,
                                              std::string why) {
    const Overdue fate = backlog_.judge(overdue, ticker_.answered_for());
    if (fate == Overdue::waits) {
        context_.ports.log.reached("timeout_waits_for_a_result");
        co_return Dealt::waits;
    }
    const bool dealt_with =
        co_await end_job(std::move(overdue.stale), std::move(index), expected, reason_of(fate, std::move(why)));
    co_return dealt_with ? Dealt::done : Dealt::failed;
}

TimeoutReason Reconciler::reason_of(Overdue fate, std::string why) const {
    if (fate == Overdue::ends) return {std::move(why), std::string(kCodeTimeout)};
    return {fmt::format("{}, and a result that may stand in the stream has not been heard for another {}", why,
                        format_duration(backlog_.patience())),
            std::string(kCodeUnheard)};
}

Task<void> Reconciler::sweep_slots() {
    for (std::int64_t page = 0; page < context_.tunables.reconciler_max_iterations; ++page) {
        const bool still_mine = co_await keep();
        if (!still_mine) co_return;
        auto round =
            co_await sweeps_.tend_tenant(ticker_.lock(), tended_, context_.tunables.reconciler_batch, Duration{0});
        if (!round.applied()) {
            ticker_.unanswered();
            co_return;
        }
        if (!round.value().more) tended_ = std::move(round.value().tended);
        if (round.value().over) co_return;
    }
}

Task<void> Reconciler::prune_final_indexes() {
    for (int i = 0; i < kJobStateCount; ++i) {
        const auto state = static_cast<JobState>(i);
        if (!is_terminal(state)) continue;
        const bool go_on = co_await prune_index(state);
        if (!go_on) co_return;
    }
}

Task<bool> Reconciler::prune_index(JobState state) {
    for (std::int64_t iteration = 0; iteration < context_.tunables.reconciler_max_iterations; ++iteration) {
        const bool still_mine = co_await keep();
        if (!still_mine) co_return false;
        const auto page = co_await sweeps_.index_page(state, context_.tunables.job_meta_ttl, resume_after_[state],
                                                      context_.tunables.reconciler_batch);
        if (!page.applied()) co_return false;
        if (page.value().pruned > 0)
            context_.ports.metrics.add(Metric::index_members_pruned, {to_string(state)},
                                       static_cast<double>(page.value().pruned));
        resume_after_[state] = page.value().last_score;
        // Records that somebody keeps for longer: the next tick looks behind them, in its own time.
        if (page.value().last_score.empty() || page.value().pruned == 0) break;
    }
    co_return true;
}

Task<bool> Reconciler::end_job(StaleJob stale, std::string index, std::optional<JobState> expected,
                               TimeoutReason reason) {
    const JobId job = stale.job;
    const auto ended = co_await sweeps_.time_out(std::move(stale), std::move(index), expected, reason);
    if (!ended.applied()) co_return false;
    if (!ended.value().timed_out) {
        context_.ports.log.reached("stale_job_had_moved");
        co_return true;
    }
    context_.ports.log.event(LogLevel::warn, "job timed out", {{"job_id", job}, {"reason", reason.text}});
    if (reason.code == kCodeUnheard) {
        context_.ports.log.reached("timeout_unheard");
        context_.ports.metrics.add(Metric::timeouts_unheard, {ended.value().topic});
    }
    context_.ports.metrics.add(Metric::jobs_completed,
                               {ended.value().topic, cap::JobStatus_Name(cap::JOB_STATUS_TIMEOUT)});
    if (context_.tunables.reconciler_emit_dead_letter)
        dead_letters_.announce_aside(
            {job.text(), ended.value().topic, cap::JOB_STATUS_TIMEOUT, reason.text, reason.code});
    const bool may_run = ended.value().from == JobState::dispatched || ended.value().from == JobState::running;
    if (context_.tunables.cancel_on_timeout && may_run) co_await broadcast_cancel(context_, job, reason.text);
    co_return true;
}

}  // namespace lockstep::engine
