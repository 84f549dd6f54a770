// Of calm_weather what is said of messages: 1, 3, 4 and 7.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "sim/rules/calm_rules.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim::rules {

namespace {

using engine::Duration;

/// What a link has held up arrives this soon after it has healed: the server may have sent it long before.
constexpr Duration kHeldUp = std::chrono::seconds{1};

class Messages {
public:
    explicit Messages(const engine::Tunables& tunables) : tunables_(tunables) {}

    void on_delivered(const Delivered& delivered, const Model& model, Verdict& verdict);
    void on_answered(const DeliveryAnswered& answered, const Model& model, Verdict& verdict);
    /// The server goes by the number alone: a late word about a message that it lost counts for the one that has its number now.
    void on_requeued(const RequeueReached& reached) {
        const auto known = messages_.find(reached.message);
        if (known != messages_.end()) known->second.due.push_back(reached.at + reached.delay);
    }
    void on_lock(const LockGranted& granted);
    void on_state(const StateChanged& change);
    void on_written(const JobWritten& written) {
        if (written.change->has("ls_next_attempt_at")) of(written.job).delayed = written.at;
    }

private:
    /// What has happened to a job.
    struct Seen {
        Time delayed = kBeforeAll;  // a delay of it was written last
        int unsettled = 0;          // messages about it that were delivered and are neither acknowledged nor terminated
        Time crowded = kBeforeAll;  // when there were last several
        int takings = 0;            // of its lock
        Time written = kBeforeAll;  // its state
        Time written_by_others = kBeforeAll;  // by a user, the reconciler or a cancellation
        Time replayed = kBeforeAll;           // when it was last taken after a wait for which it may be replayed
    };
    /// One that a scheduler was delivered.
    struct Message {
        const Job* job = nullptr;
        fakes::NodeId node;
        bool is_held = false;
        bool was_held_twice = false;  // at once: whose answer is the last is not known
        Since delivered;
        std::int64_t count = 0;
        int takings = 0;          // of the job's lock by then
        bool is_locked = false;   // then, and so the next
        bool is_delayed = false;  // it was not to be tried yet
        std::vector<Time> due;    // again, because the server was told so, once for each word that reached it
    };

    [[nodiscard]] Seen& of(const Job* job) {
        const std::size_t number = job == nullptr ? 0 : static_cast<std::size_t>(job->number);
        if (number >= seen_.size()) seen_.resize(number + 1);
        return seen_[number];
    }
    void forget_in_nats(const Model& model);
    void settle(const Message& message, Time now);
    void judge_requeued(const DeliveryAnswered& answered, const Message& message, const Model& model, Verdict& verdict);
    [[nodiscard]] bool is_of_servers(Duration delay) const;
    [[nodiscard]] bool has_delays() const;

    const engine::Tunables& tunables_;
    std::map<SchedulersMessage, Message> messages_;
    std::vector<Seen> seen_;  // by Job::number; the first: of messages that name none
    Time power_cut_ = kBeforeAll;
};

/// The numbers of the messages that a power cut took are given out again.
void Messages::forget_in_nats(const Model& model) {
    const Time cut = model.outages().power_cut();
    if (cut == power_cut_) return;
    power_cut_ = cut;
    messages_.clear();
    for (Seen& job : seen_) {
        job.unsettled = 0;
        job.crowded = cut;
    }
}

void Messages::on_delivered(const Delivered& delivered, const Model& model, Verdict& verdict) {
    if (!delivered.for_schedulers) return;
    forget_in_nats(model);
    const auto [entry, is_new] = messages_.try_emplace(*delivered.for_schedulers);
    Message& message = entry->second;
    const auto called_for = std::ranges::find_if(message.due, [&](Time due) { return due <= delivered.at; });
    const bool is_due = called_for != message.due.end();
    if (is_due) message.due.erase(called_for);
    if (message.is_held && !is_due && message.count + 1 == delivered.count) {
        verdict.exercised();
        const Time since = message.delivered.at - kHeldUp;
        const Weather& weather = model.weather();
        verdict.require(!weather.clear_for(message.node, since) || !weather.clear_at(delivered.node, since),
                        message.delivered.event,
                        "message {} is delivered again {} ms after an undisturbed replica was given it, which has not "
                        "requeued it",
                        entry->first.sequence, engine::to_millis(delivered.at - message.delivered.at));
    }
    Seen& job = of(delivered.job);
    if (is_new && ++job.unsettled > 1) job.crowded = delivered.at;
    message.job = delivered.job;
    message.node = delivered.node;
    message.was_held_twice |= message.is_held;
    message.is_held = true;
    message.delivered = {delivered.event, delivered.at};
    message.count = std::max(message.count, delivered.count);
    message.takings = job.takings;
    message.is_locked = message.job != nullptr && (message.job->lock.holder.valid() || !message.job->lock.is_known);
    message.is_delayed =
        message.job != nullptr && message.job->tries.next > std::chrono::milliseconds{model.redis_ms()};
}

void Messages::on_answered(const DeliveryAnswered& answered, const Model& model, Verdict& verdict) {
    if (!answered.for_schedulers) return;
    forget_in_nats(model);
    const auto entry = messages_.find(*answered.for_schedulers);
    // It may be about what the replica had before NATS lost its power.
    const bool is_former = answered.delivery && answered.delivery->since.at <= power_cut_;
    if (is_former) of(answered.job).crowded = answered.at;
    // A message that had this number before the server lost it is another one.
    if (entry == messages_.end() || entry->second.job != answered.job) return;
    Message& message = entry->second;
    if (is_former && message.node == answered.node) message.was_held_twice = true;
    if (is_former) return;
    if (!answered.requeued_for) {
        settle(message, answered.at);
        messages_.erase(entry);
        return;
    }
    message.is_held = false;
    verdict.cite("engine/wire/wire.md 4.1");
    const bool is_at_once = *answered.requeued_for == Duration{} && has_delays();
    verdict.require(!is_at_once || model.weather().stopping(answered.node), message.delivered.event,
                    "message {} is requeued to come again at once, and its replica is not asked to end",
                    entry->first.sequence);
    if (message.node == answered.node && !message.was_held_twice && message.job != nullptr)
        judge_requeued(answered, message, model, verdict);
}

void Messages::settle(const Message& message, Time now) {
    Seen& job = of(message.job);
    if (job.unsettled > 1) job.crowded = now;
    if (job.unsettled > 0) --job.unsettled;
}

bool Messages::has_delays() const {
    return std::ranges::none_of(std::array{tunables_.retry_delay_store, tunables_.retry_delay_publish,
                                           tunables_.retry_delay_busy, tunables_.retry_delay_no_workers,
                                           tunables_.safety_throttle_delay, tunables_.safety_unavailable_delay},
                                [](Duration delay) { return delay == Duration{0}; });
}

/// And of nothing else.
bool Messages::is_of_servers(Duration delay) const {
    if (delay != tunables_.retry_delay_store && delay != tunables_.retry_delay_publish) return false;
    return std::ranges::none_of(std::array{tunables_.retry_delay_no_workers, tunables_.safety_throttle_delay,
                                           tunables_.safety_unavailable_delay, tunables_.retry_delay_busy, Duration{}},
                                [delay](Duration other) { return other == delay; });
}

void Messages::judge_requeued(const DeliveryAnswered& answered, const Message& message, const Model& model,
                              Verdict& verdict) {
    const Job& about = *message.job;
    const Seen& job = of(message.job);
    const Time since = message.delivered.at;
    const bool is_delayed = message.is_delayed || job.delayed >= since;
    const bool is_clear =
        model.weather().clear_for(answered.node, since) && !model.weather().refused(answered.node, since);
    if (is_partly_lost(about) || is_delayed || !is_clear) return;
    verdict.exercised();
    const Duration delay = *answered.requeued_for;
    const bool is_of_servers = this->is_of_servers(delay);
    verdict.require(!is_of_servers, message.delivered.event,
                    "it is requeued for {} ms, as if a server did not answer, and every server has",
                    engine::to_millis(delay));
    if (is_of_servers || delay != tunables_.retry_delay_busy) return;
    const LockGrant* lock = model.lock_grants().find(fmt::format("{}{}", kJobLockPrefix, about.name));
    // A call that the replica has given up took it, and no handler knows.
    const bool is_unknown = lock != nullptr && lock->holder == answered.node && !lock->is_confirmed;
    const bool is_others = is_unknown || job.replayed >= since || message.is_locked ||
                           job.takings > message.takings + 1 || job.unsettled > 1 ||
                           model.deliveries().is_in_hand(about, power_cut_) || job.crowded >= since ||
                           job.written_by_others >= since || !about.lock.is_known ||
                           (about.lock.holder.valid() && about.lock.holder != answered.node);
    verdict.require(is_others, message.delivered.event,
                    "it is requeued for {} ms as a job that another handles, and none has been at it",
                    engine::to_millis(delay));
}

void Messages::on_lock(const LockGranted& granted) {
    if (granted.is_renewed || granted.job == nullptr || !is_job_lock(granted.key)) return;
    Seen& job = of(granted.job);
    if (job.written != kBeforeAll && granted.at - job.written >= tunables_.pending_age) job.replayed = granted.at;
    ++job.takings;
}

void Messages::on_state(const StateChanged& change) {
    Seen& job = of(change.job);
    job.written = change.at;
    // Neither the reconciler takes a lock, nor who is told to cancel.
    if (by_user(change.node) || change.to == State::timeout || change.to == State::cancelled)
        job.written_by_others = change.at;
}

}  // namespace

void messages_come_once(Rules& rules, const engine::Tunables& tunables) {
    const auto messages = std::make_shared<Messages>(tunables);
    rules.add([messages](const Delivered& delivered, const Model& model, Verdict& verdict) {
        messages->on_delivered(delivered, model, verdict);
    });
    rules.add([messages](const DeliveryAnswered& answered, const Model& model, Verdict& verdict) {
        messages->on_answered(answered, model, verdict);
    });
    rules.add([messages](const RequeueReached& reached, const Model&, Verdict&) { messages->on_requeued(reached); });
    rules.add<Delivered>(
        [messages](const LockGranted& granted, const Model&, Verdict&) { messages->on_lock(granted); });
    rules.add<Delivered>(
        [messages](const StateChanged& change, const Model&, Verdict&) { messages->on_state(change); });
    rules.add<Delivered>(
        [messages](const JobWritten& written, const Model&, Verdict&) { messages->on_written(written); });
}

}  // namespace lockstep::sim::rules
