#include "sim/oracles/circuit_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kFailures = "cordum:cb:safety:failures";
/// The trip's number, from the trip until the circuit has closed.
constexpr std::string_view kTrip = "lockstep:cb:safety:trip";
/// Calls since the open time that are remembered, and those that a violation names.
constexpr std::size_t kToldMax = 64;
constexpr std::size_t kNamedMax = 6;
/// For telling the others about a failure: it is the next thing that its handler does.
constexpr Duration kReportWithin = 1s;
/// What clocks that run at different speeds, and expiry in whole milliseconds, may take off the open time.
constexpr Duration kOpenTolerance = 100ms;
/// What a replica records of a job that it has not asked about (wire.md 7.1).
constexpr std::string_view kTurnedAway = "safety kernel circuit open";

std::int64_t number(std::string_view text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

void CircuitRules::on_event(const fakes::Event& event, Time now) {
    last_event_ = now;
    if (ran_out_) {
        ran_out_ = false;
        const Duration open_for = now - tripped_at_;
        if (open_for + kOpenTolerance < tunables_.circuit_open_for)
            violated(event.node, {}, fmt::format("the circuit was open for {} ms only", engine::to_millis(open_for)),
                     trip_);
    }
    if (!untold_.empty()) judge_reports(now);
    if (!remembered_.empty()) judge_remembered(now);
    switch (event.kind) {
        case fakes::EventKind::kernel_check:
            if (event.when == fakes::When::before) on_call(event, now);
            policy_calls_.on_event(event, event.job_number, now);
            if (event.when == fakes::When::answered) on_answer(event, now);
            break;
        case fakes::EventKind::lock_acquired:
            if (event.job.empty()) break;
            taken_up_[{event.node, std::string(event.job)}] = now;
            holding_.emplace(event.node, event.job);
            if (frozen_.contains(event.node)) held_when_frozen_.emplace(event.node, event.job);
            break;
        case fakes::EventKind::lock_released: holding_.erase({event.node, std::string(event.job)}); break;
        case fakes::EventKind::redis:
            if (event.key == kFailures) on_shared_circuit(event, now);
            break;
        case fakes::EventKind::fault: clocks_jumped_ = clocks_jumped_ || event.name.starts_with("clock_"); break;
        case fakes::EventKind::node_down:
            forget(event.node);
            frozen_.erase(event.node);
            own_.forget(event.node);
            std::erase_if(calls_, [&event](const auto& call) { return call.first.first == event.node; });
            std::erase_if(holding_, [&event](const Call& call) { return call.first == event.node; });
            std::erase_if(held_when_frozen_, [&event](const Call& call) { return call.first == event.node; });
            break;
        case fakes::EventKind::paused:
            forget(event.node);
            own_.freeze(event.node);
            frozen_.insert(event.node);
            for (const Call& call : holding_)
                if (call.first == event.node) held_when_frozen_.insert(call);
            break;
        case fakes::EventKind::resumed: frozen_.erase(event.node); break;
        default: break;
    }
}

void CircuitRules::on_call(const fakes::Event& event, Time now) {
    const Call call{event.node, std::string(event.job)};
    const auto taken = taken_up_.find(call);
    const bool may_be_older = held_when_frozen_.erase(call) > 0;
    const bool knew = !may_be_older && taken != taken_up_.end() && taken->second > phase_since_;
    const auto sure = !may_be_older && taken != taken_up_.end() ? std::optional(taken->second) : std::nullopt;
    const std::string complaint = own_.on_call(event.node, call.second, sure, now);
    if (!complaint.empty() && !clocks_jumped_) violated(event.node, event.job, complaint);
    last_check_ = now;
    asked_.insert_or_assign(call, now);
    Begun begun{trips_, false};
    begun.unclear = calls_.contains(call);
    begun.half_open = phase_ == Phase::half_open;
    begun.knew_failures = phase_ == Phase::closed && failures_ > 0 && knew && taken->second > failures_since_;
    begun.at = now;
    switch (phase_) {
        case Phase::closed: break;
        case Phase::open:
            exercise();
            if (knew)
                violated(event.node, event.job,
                         fmt::format("the circuit has been open for {} ms, and policy was asked",
                                     engine::to_millis(now - phase_since_)),
                         trip_);
            if (taken != taken_up_.end() && !knew) begun.trips = trips_ - 1;  // began before the trip
            break;
        case Phase::half_open:
            if (told_.size() < kToldMax) told_.push_back({call, present()});
            if (!knew) {
                // A rollback asks without taking up anything, and a handler that was frozen may be the older one of its job:
                // whether they may cannot be told, but their answers count.
                begun.probe = may_be_older || taken == taken_up_.end();
                break;
            }
            exercise();
            begun.probe = true;
            begun.sure = !detached_.contains(event.node);
            on_probe(event);
            break;
    }
    calls_[call] = begun;
}

void CircuitRules::on_probe(const fakes::Event& event) {
    ++probes_[event.node];
    if (detached_.contains(event.node)) return;  // it has nothing to go by but a circuit of its own
    std::int64_t probes = 0;
    for (const auto& [node, count] : probes_) probes += detached_.contains(node) ? 0 : count;
    // As many as close it may follow each other, even if fewer are let through at a time.
    const std::int64_t allowed = std::max<std::int64_t>(tunables_.circuit_half_open_max, tunables_.circuit_close_after);
    if (probes > allowed)
        violated(
            event.node, event.job,
            fmt::format("it is probe {} of a half-open circuit that allows {}: {}", probes, allowed, probes_text()),
            trip_);
    if (probes > allowed || clocks_jumped_) return;  // by which a place among them would be free too soon
    const auto others = std::ranges::count_if(calls_, [&](const auto& call) {
        const Begun& other = call.second;
        return other.sure && !other.unclear && other.trips == trips_ && call.first != Call(event.node, event.job);
    });
    if (others >= tunables_.circuit_half_open_max)
        violated(event.node, event.job,
                 fmt::format(
                     "it is asked about while {} probes are waiting for their answers, and {} may be let through at a "
                     "time: {}",
                     others, tunables_.circuit_half_open_max, probes_text()),
                 trip_);
}

void CircuitRules::on_shared_circuit(const fakes::Event& event, Time now) {
    untold_.erase(event.node);
    const bool refused = event.payload.starts_with('-') && !event.payload.starts_with("-NOSCRIPT");
    const bool failed =
        refused || event.outcome == fakes::EventOutcome::not_applied || event.outcome == fakes::EventOutcome::unknown;
    if (event.when == fakes::When::answered && failed) detached_.insert(event.node);
    own_.on_shared(event, failed, now);
    follow_telling(event, failed, now);
}

/// A replica that has had an answer tells the shared circuit at once, beside what it asks and tells for other jobs: once all that
/// has been answered, so has this.
void CircuitRules::follow_telling(const fakes::Event& event, bool failed, Time now) {
    Telling& telling = telling_[event.node];
    const auto remembered = remembered_.find(event.node);
    if (event.when == fakes::When::before) {
        // What the server did not know is sent once more.
        if (telling.unknown > 0)
            --telling.unknown;
        else
            ++telling.open;
        if (remembered != remembered_.end()) remembered->second.told = true;
        return;
    }
    if (event.when != fakes::When::answered) return;
    if (event.payload.starts_with("-NOSCRIPT")) {
        ++telling.unknown;
        return;
    }
    if (telling.open > 0) --telling.open;
    if (remembered == remembered_.end()) return;
    if (failed) {
        remembered_.erase(remembered);
    } else if (telling.open == 0 && remembered->second.told) {
        const Failure answer = std::exchange(remembered->second.answer, {});
        remembered_.erase(remembered);
        violated_at(answer.event, event.node, answer.job,
                    fmt::format("policy has answered about it, its replica has told the others {} ms later, and the {} "
                                "failures before that still count",
                                engine::to_millis(now - answer.at), failures_));
    }
}

void CircuitRules::judge_remembered(Time now) {
    for (auto it = remembered_.begin(); it != remembered_.end();) {
        const Failure answer = it->second.answer;
        if (it->second.told || now - answer.at <= kReportWithin) {
            ++it;
            continue;
        }
        violated_at(answer.event, it->first, answer.job,
                    fmt::format("policy has answered about it, and {} ms later the {} failures before that still count",
                                engine::to_millis(now - answer.at), failures_));
        it = remembered_.erase(it);
    }
}

/// All that have begun since the open time was over, by the numbers of their events.
std::string CircuitRules::probes_text() const {
    std::string out;
    const std::size_t from = told_.size() > kNamedMax ? told_.size() - kNamedMax : 0;
    for (std::size_t i = from; i < told_.size(); ++i) {
        out += fmt::format("{}#{} about {}", out.empty() ? "" : ", ", told_[i].asked, told_[i].call.second);
        if (told_[i].answered) out += fmt::format(" (answered #{})", *told_[i].answered);
    }
    return out.empty() ? "none has begun" : out;
}

/// Somebody has closed the circuit: which of the answers were to probes, whoever was answered knows best. That there were enough
/// of them is judged here.
void CircuitRules::on_trip_over(fakes::NodeId client) {
    if (phase_ == Phase::half_open) {
        phase_ = Phase::closed;
        phase_since_ = last_event_;
    }
    const auto answered = std::ranges::count_if(told_, [](const Probe& probe) { return probe.answered.has_value(); });
    failed_probers_.clear();
    if (trips_ == 0 || lost_ || told_.size() == kToldMax || answered >= tunables_.circuit_close_after) return;
    violated(client, {},
             fmt::format("it closed the circuit after {} of the {} answers that this takes: {}", answered,
                         tunables_.circuit_close_after, probes_text()),
             trip_);
}

void CircuitRules::on_answer(const fakes::Event& event, Time now) {
    if (event.outcome == fakes::EventOutcome::applied) {
        const auto probe = std::ranges::find_if(told_, [&event](const Probe& one) {
            return !one.answered && one.call.first == event.node && one.call.second == event.job;
        });
        if (probe != told_.end()) probe->answered = present();
    }
    last_check_ = now;
    const auto about = calls_.find({event.node, std::string(event.job)});
    const bool is_probe = about != calls_.end() && (about->second.probe || about->second.half_open);
    if (!is_probe && policy_calls_.is_slow_alone(event.node, event.job_number, tunables_.safety_timeout)) {
        exercise();
        if (about != calls_.end()) calls_.erase(about);
        return;
    }
    own_.on_answer(event.node, std::string(event.job), event.outcome != fakes::EventOutcome::applied, now);
    const auto call = calls_.find({event.node, std::string(event.job)});
    if (call == calls_.end()) {
        failed_probers_.insert(event.node);  // for all that anybody can tell
        return;
    }
    const Begun begun = call->second;
    calls_.erase(call);
    if (event.outcome != fakes::EventOutcome::applied) {
        if (begun.half_open && begun.trips == trips_) failed_probers_.insert(event.node);
        if (!begun.unclear) untold_.try_emplace(event.node, Failure{now, present(), std::string(event.job)});
        return;
    }
    const bool ends_a_row = begun.knew_failures && !begun.unclear && begun.trips == trips_ && phase_ == Phase::closed &&
                            failures_ > 0 && failures_since_ < begun.at && !lost_;
    if (ends_a_row) {
        exercise();
        remembered_.try_emplace(event.node, Remembered{{now, present(), std::string(event.job)}, false});
    }
    if (phase_ != Phase::half_open || !begun.probe || begun.trips != trips_) return;
    if (++probes_succeeded_ < tunables_.circuit_close_after) return;
    phase_ = Phase::closed;
    phase_since_ = now;
}

void CircuitRules::judge_reports(Time now) {
    for (auto it = untold_.begin(); it != untold_.end();) {
        const Failure& failure = it->second;
        if (now - failure.at <= kReportWithin) {
            ++it;
            continue;
        }
        violated_at(
            failure.event, it->first, failure.job,
            fmt::format("the policy check about it failed, and {} ms later its replica has not counted that for "
                        "all replicas",
                        engine::to_millis(now - failure.at)));
        it = untold_.erase(it);
    }
}

void CircuitRules::forget(fakes::NodeId node) {
    untold_.erase(node);
    remembered_.erase(node);
    telling_.erase(node);
    // What it took up before may come as late as it likes.
    std::erase_if(taken_up_, [node](const auto& entry) { return entry.first.first == node; });
    // What became of its probes, it may tell too late or not at all: their places come free in time. Should one be answered
    // after all, it is an answer.
    probes_.erase(node);
    for (auto& [call, begun] : calls_)
        if (call.first == node) begun.unclear = true;
}

void CircuitRules::at_rest(const RestView&) { judge_reports(last_event_ + kReportWithin + kReportWithin); }

void CircuitRules::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                            std::string_view after) {
    const auto job = field == "safety_reason" && after == kTurnedAway ? job_of_hash(key) : std::nullopt;
    if (!job) return;
    const Call call{client, std::string(*job)};
    const auto taken = taken_up_.find(call);
    if (taken == taken_up_.end() || held_when_frozen_.contains(call)) return;
    const auto asked = asked_.find(call);
    if (asked == asked_.end() || asked->second < taken->second) on_turned_away(call, taken->second);
}

/// A job is put off unasked while the circuit lets probes through, and nobody has been asking for longer than a place among them is
/// kept for somebody who never comes back; or while no circuit is open at all.
void CircuitRules::on_turned_away(const Call& call, Time taken) {
    exercise();
    const auto& [client, job] = call;
    if (const std::string complaint = own_.turned_away(client, taken); !complaint.empty())
        violated(client, job, complaint, trip_);
    if (phase_ != Phase::half_open || taken <= phase_since_ || lost_ || clocks_jumped_ || detached_.contains(client))
        return;
    const Duration kept = 2 * (tunables_.safety_timeout + tunables_.store_op_timeout);
    const Duration told = 3 * tunables_.store_op_timeout;
    const Time since = std::max(last_check_, phase_since_);
    if (taken - since <= kept + told + 1s) return;
    // Somebody may have been let through who has not asked yet, or who never came to that: one at a time.
    const Time before = std::exchange(turned_away_, taken);
    if (turned_away_since_ <= since || taken - before > kept) turned_away_since_ = taken;
    if (taken - turned_away_since_ > kept)
        violated(client, job,
                 fmt::format("it is turned away, and no probe has been under way for {} ms",
                             engine::to_millis(taken - since)),
                 trip_);
}

/// Whether anything is left of a trip of the shared circuit.
void CircuitRules::note_shared() {
    const bool closed = !trip_stands_ && failures_ < tunables_.circuit_fail_budget;
    if (!closed) own_.shared_tripped();
    if (closed && !shared_closed_) own_.shared_closed(last_event_);
    shared_closed_ = closed;
}

void CircuitRules::on_trip(fakes::NodeId client, const std::string* before) {
    if (lost_ || !client.valid()) return;
    if (phase_ == Phase::open && before != nullptr)
        violated(client, {},
                 fmt::format("it opens the circuit anew {} ms after its trip, and nothing has been let through since",
                             engine::to_millis(last_event_ - phase_since_)),
                 trip_);
    if (phase_ == Phase::half_open && !failed_probers_.contains(client))
        violated(client, {}, "it opens the half-open circuit anew, and none of its probes has failed", trip_);
}

void CircuitRules::string_set(fakes::NodeId client, std::string_view key, const std::string* before,
                              std::string_view after, std::int64_t, std::int64_t) {
    if (key == kTrip) trip_stands_ = true;
    if (key == kFailures) {
        if (failures_ == 0) failures_since_ = last_event_;
        failures_ = number(after);
    }
    if (key == kTrip || key == kFailures) note_shared();
    if (key != kFailures) return;
    if (failures_ < tunables_.circuit_fail_budget) return;
    on_trip(client, before);
    failed_probers_.clear();
    remembered_.clear();
    exercise();
    phase_ = Phase::open;
    phase_since_ = last_event_;
    tripped_at_ = last_event_;
    trip_ = upcoming();
    ++trips_;
    probes_.clear();
    detached_.clear();
    probes_succeeded_ = 0;
    told_.clear();
    lost_ = false;
}

void CircuitRules::key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                               const fakes::redis::Value&, std::int64_t) {
    if (why == fakes::redis::Removal::evicted && (key == kFailures || key == kTrip)) lost_ = true;
    if (key == kFailures) {
        failures_ = 0;
        remembered_.clear();
    }
    if (key == kTrip) trip_stands_ = false;
    if (key == kTrip || key == kFailures) note_shared();
    if (key == kTrip && why == fakes::redis::Removal::deleted) on_trip_over(client);
    if (key != kFailures || phase_ != Phase::open) return;
    switch (why) {
        case fakes::redis::Removal::deleted:
            violated(client, {},
                     fmt::format("it closed the circuit {} ms after its trip",
                                 engine::to_millis(last_event_ - phase_since_)),
                     trip_);
            phase_ = Phase::closed;
            break;
        case fakes::redis::Removal::expired:
            ran_out_ = true;  // a change of the keyspace does not say when it comes: the next event does
            phase_ = Phase::half_open;
            break;
        case fakes::redis::Removal::evicted: phase_ = Phase::closed; break;
    }
    phase_since_ = last_event_;
}

void CircuitRules::restored(const fakes::redis::Keyspace& now) {
    const auto* kept = now.find(kFailures);
    const auto* count = kept == nullptr ? nullptr : std::get_if<std::string>(&kept->value);
    failures_ = count == nullptr ? 0 : number(*count);
    trip_stands_ = now.find(kTrip) != nullptr;
    note_shared();
    failures_ = 0;
    remembered_.clear();
    phase_ = Phase::closed;
    phase_since_ = last_event_;
    lost_ = true;
}

}  // namespace lockstep::sim
