// A try that found no worker is followed by another one after min(base * 2^n + jitter, max), or max - jitter where base * 2^n reaches max,
// jitter uniform in [0, backoff_jitter), and there are no more than max_scheduling_retries of them. Also, a dispatch that is taken back by
// a handler that releases the job has a delay.
//
// A job that comes to wait for capacity uses no try for it and is given no delay: it is woken.
//
// Whatever else records why a try came to nothing (`ls_last_cause`) records when the next one is due as well (`ls_next_attempt_at`). A job
// that is delayed because policy throttles it, or because it got no answer, waits for the delay of that (wire.md 4.1 and 8), or for that of
// an input that was not found.
//
// A message is requeued for what is left of the recorded delay, as its replica has read or written it. Of several deliveries of a job that
// a replica has in flight it is not known which one it looked at the job for: each may be requeued for the delay of any look. Not judged
// are fixed delays of other causes: a store that did not answer, a lock that is held, a message that could not be marked as processed
// (C-11), a scheduler that stops. What a replica makes of a job whose hash was evicted after it had looked is not held to the number of
// its try: it goes on from what it had read, and Redis counts anew.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"
#include "sim/spec/retry_delays.h"

namespace lockstep::sim::rules {

namespace {

using engine::Duration;

constexpr std::string_view kNextTry = "ls_next_attempt_at";

/// Clocks of two machines measure a delay, and scripts count from their beginning.
constexpr Duration kSlackOfDelays = std::chrono::milliseconds{100};
/// In whole milliseconds a jitter has 500 values: six equal ones come about by chance once in 10^13 runs.
constexpr std::size_t kJittersMin = 6;

bool is_nearly(Duration delay, Duration due) { return delay >= due - kSlackOfDelays && delay <= due + kSlackOfDelays; }

/// Before the next try, as it is written; nothing: it is not.
std::optional<Duration> delay_of(const JobWritten& fact) {
    const std::string* next = fact.change->find(kNextTry);
    if (next == nullptr) return std::nullopt;
    return RedisTime(whole_number(*next)) - std::chrono::milliseconds{fact.redis_ms};
}

void has_a_delay(const JobWritten& fact, Verdict& verdict) {
    const RecordChange& change = *fact.change;
    const bool is_delayed = change.has(kNextTry);
    const bool is_taken_back = change.from == State::dispatched && change.field("state") == "SCHEDULED";
    if (is_taken_back && fact.job->in_hash == State::scheduled && change.is_let_go) {
        verdict.exercised();
        verdict.cite("engine/wire/wire.md 8.4");
        verdict.require(is_delayed, 0, "its dispatch is taken back, and it is due again at once");
    }
    if (!change.field("ls_last_cause").empty()) {
        verdict.exercised();
        verdict.require(is_delayed || change.is_queued, 0,
                        "a try has failed, and that is recorded without a delay before the next one");
    }
    if (change.is_queued && change.failed) {
        verdict.exercised();
        verdict.cite("engine/delivery-semantics.md#jobs-that-wait-for-capacity");
        verdict.require(false, 0, "it comes to wait for capacity, and a try is counted for it");
    }
}

void has_the_delay_of_policy(const JobWritten& fact, Verdict& verdict, const engine::Tunables& tunables) {
    const RecordChange& change = *fact.change;
    const std::string_view decision = change.field("safety_decision");
    const bool is_throttled = decision == "THROTTLE";
    const auto delay_or_none = delay_of(fact);
    if ((!is_throttled && decision != "UNAVAILABLE") || !delay_or_none) return;
    if (change.has("state") || change.has("attempts")) return;
    verdict.exercised();
    const Duration delay = *delay_or_none;
    const std::string_view timeouts = change.field("ls_policy_timeouts");
    const Duration due = is_throttled ? tunables.safety_throttle_delay : tunables.safety_unavailable_delay;
    const bool is_alone = (timeouts == "1" && is_nearly(delay, spec::kDelayOfSlowJob)) ||
                          (timeouts == "2" && is_nearly(delay, spec::kSecondDelayOfSlowJob));
    const bool is_without_input = !is_throttled && is_nearly(delay, spec::kDelayWithoutInput);
    verdict.require(is_nearly(delay, due) || is_alone || is_without_input, 0,
                    "policy has decided {} about it, for which it is delayed by {} ms, and {} ms is what that takes",
                    decision, engine::to_millis(delay), engine::to_millis(due));
}

class RetryDelays {
public:
    explicit RetryDelays(const engine::Tunables& tunables) : tunables_(tunables) {}

    void on_recorded(const JobWritten& fact, const Model& model, Verdict& verdict);
    void on_lock(const LockGranted& granted, const Model& model);
    void on_delivered(const Delivered& delivered) {
        if (delivered.has_request && delivered.job != nullptr) ++in_flight_[{delivered.node, delivered.job}].deliveries;
    }
    void on_answered(const DeliveryAnswered& answered, Verdict& verdict);
    void on_started(const ReplicaStarted& started) {
        std::erase_if(in_flight_, [&](const auto& entry) { return entry.first.first == started.node; });
    }
    void at_rest(Verdict& verdict) const;

private:
    /// A replica knows how the job stands.
    struct Look {
        std::optional<Duration> left;  // of its delay; nothing: it goes on, and ends with any that there is
        EventNumber event = 0;
    };
    struct InFlight {
        int deliveries = 0;
        std::vector<Look> looks;
    };
    [[nodiscard]] bool may_end(const Look& look, Duration delay) const {
        return look.left ? is_nearly(delay, *look.left)
                         : delay <= spec::longest_of_all_delays(tunables_) + kSlackOfDelays;
    }
    void judge_failed(const JobWritten& fact, bool counts_on, const Model& model, Verdict& verdict);
    void judge_requeued(std::vector<Look>& looks, Duration delay, Verdict& verdict) const;

    const engine::Tunables& tunables_;
    std::map<std::pair<fakes::NodeId, const Job*>, InFlight> in_flight_;
    std::vector<Duration> jitters_;
};

void RetryDelays::on_lock(const LockGranted& granted, const Model& model) {
    if (granted.is_renewed || granted.job == nullptr || !is_job_lock(granted.key)) return;
    const auto known = in_flight_.find({granted.node, granted.job});
    if (known == in_flight_.end()) return;
    const Duration left = granted.job->tries.next - std::chrono::milliseconds{model.redis_ms()};
    const bool is_early = left > Duration{} && left <= spec::longest_of_all_delays(tunables_);
    known->second.looks.push_back({is_early ? std::optional(left) : std::nullopt, granted.event});
}

void RetryDelays::on_recorded(const JobWritten& fact, const Model& model, Verdict& verdict) {
    const auto known = in_flight_.find({fact.node, fact.job});
    Look* look = known == in_flight_.end() || known->second.looks.empty() ? nullptr : &known->second.looks.back();
    // Without a delivery it is a job that a tick has found: when its replica has looked is not followed.
    const bool counts_on = look != nullptr ? fact.job->tries.hash_lost > look->event : fact.job->tries.hash_lost != 0;
    if (fact.change->failed) judge_failed(fact, counts_on, model, verdict);
    if (look == nullptr) return;
    const auto delay = delay_of(fact);
    if (delay || fact.change->failed || fact.change->has("state")) look->left = delay;
}

void RetryDelays::judge_failed(const JobWritten& fact, bool counts_on, const Model& model, Verdict& verdict) {
    verdict.exercised();
    const FailedTry& failed = *fact.change->failed;
    const auto& before = fact.change->failed_before;
    const EventNumber because = before ? before->event : 0;
    verdict.require(failed.number < tunables_.max_scheduling_retries, because, "try number {} of {}", failed.number + 1,
                    tunables_.max_scheduling_retries);
    if (before && !model.redis_clock_set()) {
        const Duration passed = failed.at - before->at;
        const Duration least = spec::shortest_delay(before->number, tunables_);
        verdict.require(passed + kSlackOfDelays >= least, because,
                        "try {} came {} ms after the one before, and {} ms is the least", failed.number + 1,
                        engine::to_millis(passed), engine::to_millis(least));
    }
    const auto delay_or_none = delay_of(fact);
    if (!delay_or_none || counts_on) return;
    const Duration delay = *delay_or_none;
    const Duration least = spec::shortest_delay(failed.number, tunables_);
    const Duration most = spec::longest_delay(failed.number, tunables_);
    verdict.require(delay + kSlackOfDelays >= least && delay <= most + kSlackOfDelays, 0,
                    "it is due again in {} ms after try {}, and the bounds are {} and {} ms", engine::to_millis(delay),
                    failed.number + 1, engine::to_millis(least), engine::to_millis(most));
    if (most - least != tunables_.backoff_jitter) return;
    const Duration grown = spec::delay_without_jitter(failed.number, tunables_);
    jitters_.push_back(std::chrono::milliseconds{engine::to_millis(delay >= grown ? delay - grown : grown - delay)});
}

void RetryDelays::on_answered(const DeliveryAnswered& answered, Verdict& verdict) {
    if (!answered.has_request || answered.job == nullptr) return;
    const auto known = in_flight_.find({answered.node, answered.job});
    if (known == in_flight_.end()) return;
    if (answered.requeued_for) judge_requeued(known->second.looks, *answered.requeued_for, verdict);
    if (--known->second.deliveries == 0) in_flight_.erase(known);
}

void RetryDelays::judge_requeued(std::vector<Look>& looks, Duration delay, Verdict& verdict) const {
    const bool is_fixed = delay == tunables_.retry_delay_store || delay == tunables_.retry_delay_busy ||
                          delay == spec::kDelayOfUnmarked || delay == Duration{};
    if (looks.empty() || is_fixed) return;
    const auto fits = [&](const Look& look) { return may_end(look, delay); };
    const auto ended = std::ranges::find_if(looks, fits);
    if (ended == looks.end()) {
        const Look& latest = looks.back();
        if (latest.left)
            verdict.require(false, latest.event, "requeued for {} ms, and {} ms of its delay are left",
                            engine::to_millis(delay), engine::to_millis(*latest.left));
        else
            verdict.require(false, latest.event, "requeued for {} ms, and no delay is longer than {} ms",
                            engine::to_millis(delay), engine::to_millis(spec::longest_of_all_delays(tunables_)));
        return;
    }
    looks.erase(ended);
    // Which of several has ended is not known.
    for (Look& look : looks)
        if (fits(look)) look.left.reset();
}

void RetryDelays::at_rest(Verdict& verdict) const {
    if (tunables_.backoff_jitter == Duration{} || jitters_.size() < kJittersMin) return;
    const bool are_spread = std::ranges::any_of(jitters_, [this](Duration one) { return one != jitters_.front(); });
    verdict.require(are_spread, 0, "{} delays carry the same jitter", jitters_.size());
}

}  // namespace

void retry_bounds(Rules& rules, const engine::Tunables& tunables) {
    const auto tries = std::make_shared<RetryDelays>(tunables);
    rules.add([&tunables](const JobWritten& fact, const Model&, Verdict& verdict) {
        has_a_delay(fact, verdict);
        has_the_delay_of_policy(fact, verdict, tunables);
    });
    rules.add<Delivered>([tries](const JobWritten& fact, const Model& model, Verdict& verdict) {
        tries->on_recorded(fact, model, verdict);
    });
    rules.add<Delivered>(
        [tries](const LockGranted& granted, const Model& model, Verdict&) { tries->on_lock(granted, model); });
    rules.add([tries](const Delivered& delivered, const Model&, Verdict&) { tries->on_delivered(delivered); });
    rules.add([tries](const DeliveryAnswered& answered, const Model&, Verdict& verdict) {
        tries->on_answered(answered, verdict);
    });
    rules.add([tries](const ReplicaStarted& started, const Model&, Verdict&) { tries->on_started(started); });
    rules.add<Delivered>([tries](const AllAtRest&, const Model&, Verdict& verdict) { tries->at_rest(verdict); });
}

}  // namespace lockstep::sim::rules
