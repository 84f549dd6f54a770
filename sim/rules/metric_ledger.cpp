#include "sim/rules/metric_ledger.h"

#include <array>
#include <ranges>

namespace lockstep::sim::rules {

namespace {

using engine::Duration;

enum class Counts : std::uint8_t {
    by_labels,
    not_less,  // there may be more reasons to count
    samples,   // by labels: of a histogram
    failures,
    in_hand,
};
struct Metric {
    std::string_view name;
    Counts counts;
    std::string_view at_most{};  // as often as this, by the same labels; empty: by itself
};
constexpr std::array kMetrics{
    Metric{kReceived, Counts::by_labels, kLockTaken},
    Metric{kFirstReceived, Counts::by_labels, kLockTaken},
    Metric{kUnavailable, Counts::by_labels, kLockTaken},
    Metric{kFailOpen, Counts::by_labels, kLockTaken},
    Metric{kReplayed, Counts::by_labels, kLockTaken},
    Metric{kDispatched, Counts::by_labels},
    Metric{kLatency, Counts::samples},
    Metric{kCompleted, Counts::by_labels},
    Metric{kDenied, Counts::by_labels},
    Metric{kTakenBack, Counts::by_labels},
    Metric{kStalePick, Counts::by_labels},
    Metric{kUnheard, Counts::by_labels},
    Metric{kOutputAsked, Counts::samples, kAskedOfOutput},
    Metric{kOutputChecked, Counts::by_labels, kAskedOfOutput},
    Metric{kEvaluated, Counts::by_labels, kMayBeWithheld},
    Metric{kQuarantined, Counts::by_labels, kMayBeWithheld},
    Metric{kOutputDenied, Counts::by_labels, kMayBeWithheld},
    Metric{kRedacted, Counts::by_labels, kAskedOfOutput},
    Metric{kRejected, Counts::not_less},
    Metric{kUndoRecorded, Counts::by_labels},
    Metric{kResultsRefused, Counts::by_labels},
    Metric{kHeartbeatsRefused, Counts::by_labels},
    Metric{kUndoSent, Counts::by_labels},
    Metric{kRollback, Counts::samples},
    Metric{"cordum_scheduler_saga_compensation_failed_total", Counts::failures},
    Metric{"cordum_scheduler_job_cancel_failures_total", Counts::failures},
    Metric{"cordum_scheduler_dlq_emit_failures_total", Counts::failures},
    Metric{"cordum_scheduler_publish_unknown_total", Counts::failures},
    Metric{"cordum_scheduler_state_read_fail_closed_total", Counts::failures},
    Metric{"cordum_scheduler_scheduler_job_lock_abandoned_total", Counts::failures},
    Metric{"cordum_scheduler_scheduler_result_ptr_write_failure_total", Counts::failures},
    Metric{"cordum_scheduler_output_quarantine_failed_total", Counts::failures},
    Metric{"cordum_scheduler_garbled_deliveries_total", Counts::failures},
    Metric{"cordum_scheduler_scheduler_active_goroutines", Counts::in_hand},
    Metric{"cordum_scheduler_saga_active", Counts::in_hand},
};

/// From what is counted to the counter there is no more to wait for than one answer.
constexpr Duration kCountedWithin = std::chrono::seconds{10};
/// A call that its replica has given up takes effect as late.
constexpr Duration kGivenUpWithin = std::chrono::seconds{30};
/// Who fails now may have been disturbed as long ago.
constexpr Duration kFailsWithin = std::chrono::minutes{2};
constexpr double kClockMargin = 0.01;

}  // namespace

bool MetricLedger::is_calm(const Observed& now, engine::Duration before, const Model& model) {
    // All nodes start at once, and before that there was nothing.
    const Time start = at(now.node).lives == 0 ? Time{Duration{1}} : kBeforeAll;
    const Time since = std::max(now.at - before, start);
    return model.weather().clear_for(now.node, since) && !model.weather().refused(now.node, since) &&
           (now.job == nullptr || !now.job->lost.any());
}

void MetricLedger::on_told(const MetricTold& told, const Model& model, Verdict& verdict) {
    judge_due(told.at - kCountedWithin, model, verdict);
    const auto* metric = std::ranges::find(kMetrics, told.name, &Metric::name);
    if (metric == kMetrics.end()) return;
    verdict.exercised();
    if (metric->counts == Counts::failures) {
        return verdict.require(!is_calm(told, kFailsWithin, model), 0, "{} grows, and nothing has failed for {} ms",
                               told.name, engine::to_millis(kFailsWithin));
    }
    const double bound = metric->at_most.empty() ? 0 : of(told.node, metric->at_most, told.labels).most;
    Series& series = of(told.node, told.name, told.labels);
    series.said = metric->counts == Counts::in_hand   ? told.value
                  : metric->counts == Counts::samples ? series.said + 1
                                                      : series.said + told.value;
    if (metric->counts == Counts::in_hand)
        return verdict.require(told.value >= 0, 0, "{} says {}", told.name, told.value);
    if (told.name == kLatency) judge_latency(told, model, verdict);
    // The topic of a request that cannot be read is unknown.
    const bool is_unknown = !told.labels.empty() && (told.labels.front().empty() || told.labels.front() == "unknown");
    // How many workers its registry holds is not known either.
    const bool is_crowded = !told.labels.empty() && told.labels.front() == "too_many_workers";
    if (metric->counts == Counts::not_less || is_unknown || is_crowded) return;
    const double most = metric->at_most.empty() ? series.most : bound;
    verdict.require(series.said <= most, 0, "{} says {}, and it has happened {} times", series.name, series.said, most);
}

void MetricLedger::judge_latency(const MetricTold& told, const Model& model, Verdict& verdict) {
    auto& sent = at(told.node).sent;
    const auto fits = [&](const Sending& one) {
        const double least = one.locked == kBeforeAll ? 0 : std::chrono::duration<double>(one.at - one.locked).count();
        const double most = std::chrono::duration<double>(told.at - one.came).count();
        return told.value >= least * (1 - kClockMargin) && told.value <= most * (1 + kClockMargin);
    };
    while (!sent.empty() && told.at - sent.front().at > kFailsWithin) sent.pop_front();
    if (std::ranges::any_of(sent | std::views::reverse, fits)) return;
    const bool is_known = is_calm(told, kFailsWithin, model) && !model.clocks_jumped() && !sent.empty();
    verdict.require(!is_known, 0, "{} says {} s, which is the time of no dispatch", told.name, told.value);
}

Time MetricLedger::first_in_hand(const Observed& sent, Time locked) {
    const Unanswered* its = at(sent.node).in_hand;
    if (its == nullptr) return kBeforeAll;
    Time first = Time::max();
    for (const auto& [message, delivery] : its->deliveries)
        if (delivery.is_schedulers && delivery.job == sent.job) first = std::min(first, delivery.since.at);
    if (first == Time::max()) return kBeforeAll;
    return locked == kBeforeAll ? first : std::min(first, locked - 2 * tunables_.store_op_timeout);
}

void MetricLedger::is_counted(const Observed& happened, std::string_view metric, Labels labels,
                              bool (*is_void)(const Job&)) {
    if (!is_scheduler(happened.node)) return;
    ++of(happened.node, metric, labels).most;
    due_.push_back({happened, at(happened.node).lives, number_of(metric, labels), is_void});
}

void MetricLedger::was_counted(const Observed& now, std::string_view metric, Labels labels, const Model& model,
                               Verdict& verdict) {
    if (is_scheduler(now.node) && is_calm(now, kGivenUpWithin, model))
        has_one_more(of(now.node, metric, labels), verdict, 0);
}

void MetricLedger::judge_due(Time until, const Model& model, Verdict& verdict) {
    for (; !due_.empty() && due_.front().happened.at <= until; due_.pop_front()) {
        const auto& [happened, lives, number, is_void] = due_.front();
        if (at(happened.node).lives != lives || !is_calm(happened, kGivenUpWithin, model)) continue;
        if (is_void != nullptr && is_void(*happened.job)) continue;
        verdict.about(happened.job);
        has_one_more(of(happened.node, number), verdict, happened.event);
    }
    verdict.about(nullptr);
}

void MetricLedger::on_down(fakes::NodeId node, const Model& model, Verdict& verdict) {
    if (!is_scheduler(node)) return;
    judge_due(model.now() - kCountedWithin, model, verdict);
    const int lives = at(node).lives;
    at(node) = {};
    at(node).lives = lives + 1;
}

void MetricLedger::on_rest(const AllAtRest& rest, const Model& model, Verdict& verdict) {
    if (!rest.quiet) return;
    judge_due(rest.at, model, verdict);
    if (rest.handlers_in_flight > 0) return;
    for (const Node& node : nodes_)
        for (const Series& series : node.series) {
            const auto* metric = std::ranges::find(kMetrics, series.name, &Metric::name);
            if (metric == kMetrics.end() || metric->counts != Counts::in_hand) continue;
            verdict.exercised();
            verdict.require(series.said == 0, 0, "all is quiet, and {} says {}", series.name, series.said);
        }
}

}  // namespace lockstep::sim::rules
