// What the metrics of each replica say, beside how often what they count has happened there. Part of metrics_true.
#pragma once

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fakes/by_text.h"
#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim::rules {

inline constexpr std::string_view kReceived = "cordum_scheduler_jobs_received_total";
inline constexpr std::string_view kFirstReceived = "cordum_scheduler_jobs_first_received_total";
inline constexpr std::string_view kDispatched = "cordum_scheduler_jobs_dispatched_total";
inline constexpr std::string_view kLatency = "cordum_scheduler_scheduler_dispatch_latency_seconds";
inline constexpr std::string_view kCompleted = "cordum_scheduler_jobs_completed_total";
inline constexpr std::string_view kDenied = "cordum_scheduler_safety_denied_total";
inline constexpr std::string_view kUnavailable = "cordum_scheduler_safety_unavailable_total";
inline constexpr std::string_view kFailOpen = "cordum_scheduler_input_fail_open_total";
inline constexpr std::string_view kTakenBack = "cordum_scheduler_scheduler_dispatch_rollback_total";
inline constexpr std::string_view kUnheard = "cordum_scheduler_timeouts_unheard_total";
inline constexpr std::string_view kOutputAsked = "cordum_scheduler_output_eval_duration_seconds";
inline constexpr std::string_view kReplayed = "cordum_scheduler_scheduler_orphan_replayed_total";
inline constexpr std::string_view kStalePick = "cordum_scheduler_stale_worker_retry_total";
inline constexpr std::string_view kOutputChecked = "cordum_scheduler_output_policy_checked_total";
inline constexpr std::string_view kEvaluated = "cordum_scheduler_output_evaluations_total";
inline constexpr std::string_view kQuarantined = "cordum_scheduler_output_policy_quarantined_total";
inline constexpr std::string_view kOutputDenied = "cordum_scheduler_output_denials_total";
inline constexpr std::string_view kRedacted = "cordum_scheduler_output_redactions_total";
inline constexpr std::string_view kRejected = "cordum_scheduler_validation_rejections_total";
inline constexpr std::string_view kRollback = "cordum_scheduler_saga_rollback_duration_seconds";
inline constexpr std::string_view kUndoRecorded = "cordum_scheduler_saga_recorded_total";
inline constexpr std::string_view kResultsRefused = "cordum_scheduler_results_refused_total";
inline constexpr std::string_view kHeartbeatsRefused = "cordum_scheduler_heartbeats_refused_total";
inline constexpr std::string_view kUndoSent = "cordum_scheduler_saga_compensation_dispatched_total";

// What is no metric, and counted for several.
inline constexpr std::string_view kLockTaken = "taken";
inline constexpr std::string_view kMayBeWithheld = "judged";
inline constexpr std::string_view kAskedOfOutput = "asked";

/// By replica, from its start to its end, and by labels.
class MetricLedger {
public:
    using Labels = std::initializer_list<std::string_view>;

    explicit MetricLedger(const engine::Tunables& tunables) : tunables_(tunables) {}

    /// Judges what is said against what may have been counted.
    void on_told(const MetricTold& told, const Model& model, Verdict& verdict);
    /// It may be counted.
    void may_count(fakes::NodeId node, std::string_view metric, Labels labels = {}) {
        if (is_scheduler(node)) ++of(node, metric, labels).most;
    }
    /// It was counted by now, unless the replica has been disturbed.
    void was_counted(const Observed& now, std::string_view metric, Labels labels, const Model& model, Verdict& verdict);
    /// It is counted soon, unless the replica is disturbed or `is_void`.
    void is_counted(const Observed& happened, std::string_view metric, Labels labels,
                    bool (*is_void)(const Job&) = nullptr);
    void on_taken(const Job& job) { ++of(job).taken; }
    [[nodiscard]] int times_taken(const Job& job) { return of(job).taken; }
    void on_delivered(const Delivered& delivered) { at(delivered.node).in_hand = delivered.unanswered; }
    void on_sent(const Observed& sent) {
        const Since lock = sent.job->lock.granted_to(sent.node);
        const Time locked = lock.event == 0 ? kBeforeAll : lock.at;
        at(sent.node).sent.push_back({sent.at, first_in_hand(sent, locked), locked});
    }
    /// Whether this is the first question under the lock.
    bool is_first_question(const PolicyAsked& asked) {
        EventNumber& last = of(*asked.job).asked;
        const bool is_first = asked.acquired > last;
        last = std::max(last, asked.acquired);
        return is_first;
    }
    void on_down(fakes::NodeId node, const Model& model, Verdict& verdict);
    void on_rest(const AllAtRest& rest, const Model& model, Verdict& verdict);

private:
    struct Series {
        std::string_view name;  // with its labels
        double said = 0;
        double most = 0;
        double least = 0;
    };
    struct Sending {
        Time at, came, locked;
    };
    struct Node {
        int lives = 0;
        std::vector<Series> series;  // by number
        std::deque<Sending> sent;    // lately
        const Unanswered* in_hand = nullptr;
    };
    struct OfJob {
        int taken = 0;  // how often its lock was
        EventNumber asked = 0;
    };
    struct Due {
        Observed happened;
        int lives;
        std::size_t series;
        bool (*is_void)(const Job&);
    };

    template <class Values>
    std::size_t number_of(std::string_view metric, const Values& labels) {
        key_ = metric;
        char between = '{';
        for (const std::string_view label : labels) {
            key_.append(1, std::exchange(between, ',')).append(label);
        }
        if (between == ',') key_ += '}';
        const auto known = numbers_.find(key_);
        return known != numbers_.end() ? known->second : numbers_.emplace(key_, numbers_.size()).first->second;
    }
    template <class Values>
    Series& of(fakes::NodeId node, std::string_view metric, const Values& labels) {
        const std::size_t number = number_of(metric, labels);
        Series& series = of(node, number);
        if (series.name.empty()) series.name = numbers_.find(key_)->first;
        return series;
    }
    Series& of(fakes::NodeId node, std::size_t number) {
        std::vector<Series>& series = at(node).series;
        if (number >= series.size()) series.resize(number + 1);
        return series[number];
    }
    Node& at(fakes::NodeId node) {
        const auto index = static_cast<std::size_t>(node.value);
        if (index >= nodes_.size()) nodes_.resize(index + 1);
        return nodes_[index];
    }
    OfJob& of(const Job& job) {
        const auto number = static_cast<std::size_t>(job.number);
        if (number >= jobs_.size()) jobs_.resize(number + 1);
        return jobs_[number];
    }
    static void has_one_more(Series& series, Verdict& verdict, EventNumber because) {
        ++series.least;
        verdict.exercised();
        verdict.require(series.said >= series.least, because, "{} says {}, and it has happened {} times", series.name,
                        series.said, series.least);
    }
    /// Nothing has disturbed the replica since so long before, and the job has lost nothing.
    bool is_calm(const Observed& now, engine::Duration before, const Model& model);
    void judge_due(Time until, const Model& model, Verdict& verdict);
    void judge_latency(const MetricTold& told, const Model& model, Verdict& verdict);
    /// Since when the job has been handled: at the earliest since the oldest message about it that its replica has not answered. A handler
    /// without a message reads the request first, and takes the lock then.
    Time first_in_hand(const Observed& sent, Time locked);

    const engine::Tunables& tunables_;
    std::vector<Node> nodes_;
    std::vector<OfJob> jobs_;  // by Job::number
    std::deque<Due> due_;
    fakes::ByText<std::size_t> numbers_;
    std::string key_;  // reused
};

void refusals_are_counted(Rules& rules, const std::shared_ptr<MetricLedger>& metrics, const engine::Tunables& tunables);

}  // namespace lockstep::sim::rules
