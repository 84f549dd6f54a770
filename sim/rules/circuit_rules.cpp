// No call of input policy while the circuit is open; at most a few probes while it is half-open, over all replicas; open for its full time
// after a trip (lifetimes_kept), and not closed by any replica before that, nor before as many calls that began after that were answered
// as it takes; every failure is told to the others, and so is an answer after failures, which do not count any more then.
// Opened anew by a probe that fails, and by nothing that began before. No job is turned away unasked while the circuit lets probes
// through and none is under way.
//
// Read off the shared failure counter, which gateways read too, off the trip beside it, which is there until the circuit has
// closed (engine/delivery-semantics.md, "While policy does not answer"), and off the calls themselves. A call counts as begun when
// its handler acquired the job: then it learns how the circuit stands, and what happens in the instants between that
// and the call is no mistake. For the same reason, calls that began before a trip are no probes. Of a job that a replica
// handled when it froze, or was given then, and acquired once more after that, the next call is taken for the one that was on its way.
// Where it asks about a job while an earlier question about that job is open, the answers cannot be told apart, and none counts.
//
// The circuit that each replica counts for itself is judged as well: see own_circuits.h.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include "sim/rules/own_circuits.h"
#include "sim/rules/rules.h"

namespace lockstep::sim::rules {

namespace {

using namespace std::chrono_literals;
using engine::Duration;
using engine::to_millis;

/// Calls since the open time that are remembered, and those that a violation names.
constexpr std::size_t kToldMax = 64;
constexpr std::size_t kNamedMax = 6;
/// For telling the others about a failure: it is the next thing that its handler does.
constexpr Duration kReportWithin = 1s;
/// What a replica records of a job that it has not asked about (wire.md 7.1).
constexpr std::string_view kTurnedAway = "safety kernel circuit open";

using Call = std::pair<fakes::NodeId, fakes::JobNumber>;
Call call_of(const Observed& fact) { return {fact.node, fact.job->number}; }

/// When each replica acquired each job, and which of that may be older than it seems.
class Handlings {
public:
    void acquired(const LockGranted& granted);
    void released(const LockEnded& ended);
    void changed(const NodeChanged& node);
    /// Before the next question about the job; nothing: the handler that asks may have acquired it at any time.
    [[nodiscard]] std::optional<Time> take(const Call& call);
    /// The same, where no question follows.
    [[nodiscard]] std::optional<Time> find(const Call& call) const {
        const auto found = acquired_.find(call);
        return found == acquired_.end() || frozen_with_.contains(call) ? std::nullopt : std::optional(found->second);
    }
    /// Whether it acquired the job at all, or may have before it froze.
    [[nodiscard]] bool is_known(const Call& call) const { return acquired_.contains(call); }

private:
    std::map<Call, Time> acquired_;
    std::set<fakes::NodeId> frozen_;
    std::set<Call> held_;
    std::set<Call> frozen_with_;  // and the call may still come
};

void Handlings::acquired(const LockGranted& granted) {
    if (granted.is_renewed || granted.job == nullptr) return;
    const Call call = call_of(granted);
    acquired_[call] = granted.at;
    held_.insert(call);
    if (frozen_.contains(granted.node)) frozen_with_.insert(call);
}

void Handlings::released(const LockEnded& ended) {
    if (!ended.has_run_out && ended.job != nullptr) held_.erase(call_of(ended));
}

void Handlings::changed(const NodeChanged& node) {
    const auto is_its = [&node](const auto& call) { return call.first == node.node; };
    if (node.what == fakes::EventKind::paused) {
        frozen_.insert(node.node);
        std::ranges::copy_if(held_, std::inserter(frozen_with_, frozen_with_.end()), is_its);
    } else {
        frozen_.erase(node.node);
    }
    if (node.what == fakes::EventKind::resumed) return;
    // What it acquired before may come as late as it likes.
    std::erase_if(acquired_, [&node](const auto& entry) { return entry.first.first == node.node; });
    if (node.what == fakes::EventKind::paused) return;
    std::erase_if(held_, is_its);
    std::erase_if(frozen_with_, is_its);
}

std::optional<Time> Handlings::take(const Call& call) {
    const bool may_be_older = frozen_with_.erase(call) > 0;
    const auto found = acquired_.find(call);
    return may_be_older || found == acquired_.end() ? std::nullopt : std::optional(found->second);
}

class Circuit {
public:
    explicit Circuit(const engine::Tunables& tunables) : tunables_(tunables), own_(tunables) {}

    void on_asked(const PolicyAsked& asked, const Model& model, Verdict& verdict);
    void on_answered(const PolicyAnswered& answered, const Model& model, Verdict& verdict);
    void on_shared(const SharedCircuitCalled& called, Verdict& verdict);
    void on_changed(const SharedCircuitChanged& changed, Verdict& verdict);
    void on_node(const NodeChanged& node);
    void on_written(const JobWritten& written, const Model& model, Verdict& verdict);
    Handlings handlings;

private:
    enum class Phase : std::uint8_t { closed, open, half_open };
    struct Begun {
        std::uint64_t trips = 0;
        bool is_probe = false;
        bool is_unclear = false;     // its caller was frozen meanwhile, or asks twice at once: which answer is its own?
        bool is_half_open = false;   // it began while the circuit was
        bool is_sure = false;        // a probe whose caller goes by the shared circuit
        bool knew_failures = false;  // its caller had seen that there were some when it acquired the job
        Time at{};
    };
    struct Probe {
        Call call;
        std::string_view job;
        EventNumber asked = 0;
        std::optional<EventNumber> answered = std::nullopt;  // with an answer, not with a failure
    };
    struct Answer {
        Since at;
        bool is_told = false;  // its replica has begun to tell the others something since
    };

    void on_probe(const PolicyAsked& asked, const Model& model, Verdict& verdict);
    void on_failure(const PolicyAnswered& answered, const Begun& begun, Verdict& verdict);
    void on_success(const PolicyAnswered& answered, const Begun& begun, Verdict& verdict);
    void on_failures(const SharedCircuitChanged& changed, Verdict& verdict);
    void on_trip(const SharedCircuitChanged& changed, Verdict& verdict);
    void on_closed(const SharedCircuitChanged& changed, Verdict& verdict);
    void enter(Phase phase, Time now) {
        phase_ = phase;
        phase_since_ = now;
    }
    [[nodiscard]] std::string probes_text() const;

    const engine::Tunables& tunables_;
    OwnCircuits own_;
    SharedCircuit shared_;
    bool is_closed_ = true;  // nothing of a trip is left
    Phase phase_ = Phase::closed;
    Time phase_since_{};
    std::uint64_t trips_ = 0;
    EventNumber trip_ = 0;
    Time failures_since_{};
    bool is_lost_ = false;  // something of this trip was evicted or lost with its server's data
    // Of this trip, without an answer: a job that is asked about anew keeps its place.
    std::map<fakes::JobNumber, fakes::NodeId> probes_;
    std::vector<Probe> told_;               // what has begun since the open time of this trip was over
    std::set<fakes::NodeId> detached_;      // could not reach the shared circuit since the trip
    std::vector<fakes::NodeId> succeeded_;  // of each probe of this trip that was answered: whose it was for sure
    std::int64_t may_have_succeeded_ = 0;   // these, and what may have been one
    std::map<Call, Begun> calls_;           // under way
    std::map<fakes::NodeId, EventNumber> untold_;  // failures that each has yet to tell the others, the first of each
    std::map<fakes::NodeId, Answer> answers_;  // after which the failures before are to be forgotten, and are not yet
    std::set<fakes::NodeId> failed_probers_;   // nodes of whose calls since the open time was over one has failed
    std::map<Call, Time> asked_;               // when a node last asked about a job
    Time last_check_{};                        // when any of them last asked, or was answered
    Time turned_away_{};                       // the latest job that was had been acquired then
    Time turned_away_since_{};                 // jobs are, though no replica has been asking for long
};

void Circuit::on_asked(const PolicyAsked& asked, const Model& model, Verdict& verdict) {
    const Call call = call_of(asked);
    const bool was_acquired = handlings.is_known(call);
    const std::optional<Time> acquired = handlings.take(call);
    const bool knew = acquired && *acquired > phase_since_;
    const std::string complaint = own_.on_call(asked.node, call.second, acquired, asked.at);
    verdict.cite("engine/store/redis-schema.md 9");
    verdict.require(complaint.empty() || model.clocks_jumped(), 0, "{}", complaint);
    last_check_ = asked_[call] = asked.at;
    Begun begun{.trips = trips_, .is_unclear = calls_.contains(call), .at = asked.at};
    begun.is_half_open = phase_ == Phase::half_open;
    begun.knew_failures = phase_ == Phase::closed && shared_.failures > 0 && knew && *acquired > failures_since_;
    if (phase_ == Phase::open) {
        verdict.exercised();
        // Who could not reach it has nothing to go by but a circuit of its own.
        verdict.require(!knew || detached_.contains(asked.node), trip_,
                        "the circuit has been open for {} ms, and policy was asked",
                        to_millis(asked.at - phase_since_));
        if (was_acquired && !knew) begun.trips = trips_ - 1;  // began before the trip
    } else if (phase_ == Phase::half_open) {
        if (told_.size() < kToldMax) told_.push_back({call, asked.job->name, asked.event});
        // A rollback asks without acquiring anything, and a handler that was frozen may be the older one of its job: whether they
        // may cannot be told, but their answers count.
        begun.is_probe = knew || !acquired;
        begun.is_sure = knew && !detached_.contains(asked.node);
        verdict.exercised(knew);
        if (knew) on_probe(asked, model, verdict);
    }
    calls_[call] = begun;
}

void Circuit::on_probe(const PolicyAsked& asked, const Model& model, Verdict& verdict) {
    probes_[asked.job->number] = asked.node;
    if (detached_.contains(asked.node)) return;  // it has nothing to go by but a circuit of its own
    const auto is_shared = [this](fakes::NodeId node) { return !detached_.contains(node); };
    const std::int64_t probes =
        std::ranges::count_if(succeeded_, is_shared) + std::ranges::count_if(probes_ | std::views::values, is_shared);
    // As many as close it may follow each other, even if fewer are let through at a time.
    const std::int64_t allowed = std::max<std::int64_t>(tunables_.circuit_half_open_max, tunables_.circuit_close_after);
    verdict.require(probes <= allowed, trip_, "it is probe {} of a half-open circuit that allows {}: {}", probes,
                    allowed, probes_text());
    if (probes > allowed || model.clocks_jumped()) return;  // by which a place among them would be free too soon
    std::set<fakes::JobNumber> others;  // one place each, by however many replicas it is asked about
    for (const auto& [call, other] : calls_)
        if (other.is_sure && !other.is_unclear && other.trips == trips_) others.insert(call.second);
    others.erase(asked.job->number);
    verdict.require(std::ssize(others) < tunables_.circuit_half_open_max, trip_,
                    "it is asked about while {} probes are waiting for their answers, and {} may be let through at a "
                    "time: {}",
                    others.size(), tunables_.circuit_half_open_max, probes_text());
}

void Circuit::on_answered(const PolicyAnswered& answered, const Model& model, Verdict& verdict) {
    const Call call = call_of(answered);
    const auto probe = std::ranges::find_if(told_, [&](const Probe& one) { return !one.answered && one.call == call; });
    if (answered.is_answer && probe != told_.end()) probe->answered = answered.event;
    last_check_ = answered.at;
    const auto about = calls_.find(call);
    const std::optional<Begun> begun = about == calls_.end() ? std::nullopt : std::optional(about->second);
    if (begun) calls_.erase(about);
    const bool is_probe = begun && (begun->is_probe || begun->is_half_open);
    const PolicyCalls& calls = model.policy_calls();
    if (!is_probe && calls.is_slow_alone(answered.node, call.second, answered.at, tunables_.safety_timeout)) {
        own_.on_slow_answer(answered.node, call.second);
        return verdict.exercised();
    }
    own_.on_answer(answered.node, call.second, !answered.is_answer, answered.at);
    if (!begun)
        failed_probers_.insert(answered.node);  // it may be one of these
    else if (answered.is_answer)
        on_success(answered, *begun, verdict);
    else
        on_failure(answered, *begun, verdict);
}

void Circuit::on_failure(const PolicyAnswered& answered, const Begun& begun, Verdict& verdict) {
    if (begun.is_half_open && begun.trips == trips_) failed_probers_.insert(answered.node);
    if (begun.is_unclear || !untold_.try_emplace(answered.node, answered.event).second) return;
    verdict.expect_by(answered.at + kReportWithin + 1ns,
                      [this, node = answered.node, event = answered.event](const Model&, Verdict& later) {
                          const auto untold = untold_.find(node);
                          if (untold == untold_.end() || untold->second != event) return;
                          untold_.erase(untold);
                          later.require(false, event,
                                        "the policy check about it failed, and {} ms later its replica has not counted "
                                        "that for all replicas",
                                        to_millis(kReportWithin));
                      });
}

void Circuit::on_success(const PolicyAnswered& answered, const Begun& begun, Verdict& verdict) {
    const bool ends_a_row = begun.knew_failures && !begun.is_unclear && begun.trips == trips_ &&
                            phase_ == Phase::closed && shared_.failures > 0 && failures_since_ < begun.at && !is_lost_;
    verdict.exercised(ends_a_row);
    if (ends_a_row && answers_.try_emplace(answered.node, Answer{{answered.event, answered.at}}).second)
        verdict.expect_by(answered.at + kReportWithin + 1ns, [this, node = answered.node, event = answered.event](
                                                                 const Model&, Verdict& later) {
            const auto answer = answers_.find(node);
            if (answer == answers_.end() || answer->second.at.event != event || answer->second.is_told) return;
            answers_.erase(answer);
            later.require(false, event,
                          "policy has answered about it, and {} ms later the {} failures before that "
                          "still count",
                          to_millis(kReportWithin), shared_.failures);
        });
    if (phase_ != Phase::half_open || !begun.is_probe || begun.trips != trips_) return;
    probes_.erase(answered.job->number);
    // That of a frozen caller may have lost its place before.
    if (begun.is_sure && answered.at - begun.at <= tunables_.safety_timeout) succeeded_.push_back(answered.node);
    if (++may_have_succeeded_ >= tunables_.circuit_close_after) enter(Phase::closed, answered.at);
}

/// A replica that has had an answer tells the shared circuit at once, beside what it asks and tells for other jobs: once all that
/// has been answered, so has this.
void Circuit::on_shared(const SharedCircuitCalled& called, Verdict& verdict) {
    untold_.erase(called.node);
    if (called.is_answered && called.has_failed) detached_.insert(called.node);
    own_.on_shared(called);
    const auto answer = answers_.find(called.node);
    if (answer == answers_.end() || called.is_unknown) return;
    if (!called.is_answered) {
        answer->second.is_told = true;
    } else if (called.has_failed) {
        answers_.erase(answer);
    } else if (own_.has_told_all(called.node) && answer->second.is_told) {
        const Since at = answer->second.at;
        answers_.erase(answer);
        verdict.require(false, at.event,
                        "policy has answered, its replica has told the others {} ms later, and the {} failures before "
                        "that still count",
                        to_millis(called.at - at.at), shared_.failures);
    }
}

void Circuit::on_changed(const SharedCircuitChanged& changed, Verdict& verdict) {
    using Part = SharedCircuitChanged::Part;
    if (changed.part == Part::failures && shared_.failures == 0) failures_since_ = changed.at;
    shared_ = changed.after;
    const bool is_closed = !shared_.has_trip && shared_.failures < tunables_.circuit_fail_budget;
    if (!is_closed) own_.shared_tripped();
    if (is_closed && !is_closed_) own_.shared_closed(changed.at);
    is_closed_ = is_closed;
    is_lost_ |= changed.part == Part::all || changed.removed == fakes::redis::Removal::evicted;
    if (changed.part == Part::all || (changed.part == Part::failures && changed.removed)) answers_.clear();
    if (changed.part == Part::all) {
        shared_.failures = 0;
        enter(Phase::closed, changed.at);
    } else if (changed.part == Part::trip) {
        if (changed.removed == fakes::redis::Removal::deleted) on_closed(changed, verdict);
    } else {
        on_failures(changed, verdict);
    }
}

void Circuit::on_failures(const SharedCircuitChanged& changed, Verdict& verdict) {
    if (!changed.removed) {
        if (shared_.failures >= tunables_.circuit_fail_budget) on_trip(changed, verdict);
    } else if (phase_ == Phase::open) {
        verdict.require(changed.removed != fakes::redis::Removal::deleted, trip_,
                        "it closed the circuit {} ms after its trip", to_millis(changed.at - phase_since_));
        enter(changed.removed == fakes::redis::Removal::expired ? Phase::half_open : Phase::closed, changed.at);
    }
}

void Circuit::on_trip(const SharedCircuitChanged& changed, Verdict& verdict) {
    if (!is_lost_ && changed.node.valid()) {
        verdict.require(phase_ != Phase::open || changed.before.failures == 0, trip_,
                        "it opens the circuit anew {} ms after its trip, and nothing has been let through since",
                        to_millis(changed.at - phase_since_));
        verdict.require(phase_ != Phase::half_open || failed_probers_.contains(changed.node), trip_,
                        "it opens the half-open circuit anew, and none of its probes has failed");
    }
    verdict.exercised();
    enter(Phase::open, changed.at);
    failed_probers_.clear();
    answers_.clear();
    trip_ = changed.event;
    ++trips_;
    probes_.clear();
    detached_.clear();
    succeeded_.clear();
    may_have_succeeded_ = 0;
    told_.clear();
    is_lost_ = false;
}

/// Which of the answers were to probes, its replica knows best. That there were enough of them is judged here.
void Circuit::on_closed(const SharedCircuitChanged& changed, Verdict& verdict) {
    if (phase_ == Phase::half_open) enter(Phase::closed, changed.at);
    failed_probers_.clear();
    if (trips_ == 0 || is_lost_ || told_.size() == kToldMax) return;
    const auto answered = std::ranges::count_if(told_, [](const Probe& probe) { return probe.answered.has_value(); });
    verdict.require(answered >= tunables_.circuit_close_after, trip_,
                    "it closed the circuit after {} of the {} answers that this takes: {}", answered,
                    tunables_.circuit_close_after, probes_text());
}

void Circuit::on_node(const NodeChanged& node) {
    handlings.changed(node);
    if (node.what == fakes::EventKind::resumed) return;
    untold_.erase(node.node);
    answers_.erase(node.node);
    // What became of its probes, it may tell too late or not at all: their places come free in time. Should one be answered
    // after all, it is an answer.
    std::erase_if(probes_, [&node](const auto& probe) { return probe.second == node.node; });
    if (node.what == fakes::EventKind::paused) {
        own_.freeze(node.node);
        for (auto& [call, begun] : calls_) begun.is_unclear |= call.first == node.node;
    } else {
        own_.forget(node.node);
        std::erase_if(calls_, [&node](const auto& call) { return call.first.first == node.node; });
    }
}

/// A job is turned away unasked while the circuit lets probes through, and no replica has been asking for longer than a place among
/// them is kept for one that never comes back; or while no circuit is open at all.
void Circuit::on_written(const JobWritten& written, const Model& model, Verdict& verdict) {
    if (written.change->field("safety_reason") != kTurnedAway) return;
    const Call call = call_of(written);
    const std::optional<Time> acquired = handlings.find(call);
    const auto asked = asked_.find(call);
    if (!acquired || (asked != asked_.end() && asked->second >= *acquired)) return;
    verdict.exercised();
    const std::string complaint = own_.turned_away(written.node, *acquired);
    verdict.require(complaint.empty(), trip_, "{}", complaint);
    if (phase_ != Phase::half_open || *acquired <= phase_since_ || is_lost_ || model.clocks_jumped() ||
        detached_.contains(written.node))
        return;
    const Duration kept = 2 * (tunables_.safety_timeout + tunables_.store_op_timeout);
    const Duration told = 3 * tunables_.store_op_timeout;
    const Time since = std::max(last_check_, phase_since_);
    if (*acquired - since <= kept + told + 1s) return;
    // A replica may have been let through that has not asked yet, or that never came to that: one at a time.
    const Time before = std::exchange(turned_away_, *acquired);
    if (turned_away_since_ <= since || *acquired - before > kept) turned_away_since_ = *acquired;
    verdict.require(*acquired - turned_away_since_ <= kept, trip_,
                    "it is turned away, and no probe has been under way for {} ms", to_millis(*acquired - since));
}

/// All that have begun since the open time was over, by the numbers of their events.
std::string Circuit::probes_text() const {
    std::string out;
    const std::size_t from = told_.size() > kNamedMax ? told_.size() - kNamedMax : 0;
    for (std::size_t i = from; i < told_.size(); ++i) {
        out += fmt::format("{}#{} about {}", out.empty() ? "" : ", ", told_[i].asked, told_[i].job);
        if (told_[i].answered) out += fmt::format(" (answered #{})", *told_[i].answered);
    }
    return out.empty() ? "none has begun" : out;
}

}  // namespace

void circuit_rules(Rules& rules, const engine::Tunables& tunables) {
    const auto circuit = std::make_shared<Circuit>(tunables);
    rules.add([circuit](const PolicyAsked& asked, const Model& model, Verdict& verdict) {
        circuit->on_asked(asked, model, verdict);
    });
    rules.add([circuit](const PolicyAnswered& answered, const Model& model, Verdict& verdict) {
        circuit->on_answered(answered, model, verdict);
    });
    rules.add([circuit](const SharedCircuitCalled& called, const Model&, Verdict& verdict) {
        circuit->on_shared(called, verdict);
    });
    rules.add<PolicyAsked>([circuit](const SharedCircuitChanged& changed, const Model&, Verdict& verdict) {
        circuit->on_changed(changed, verdict);
    });
    rules.add<PolicyAsked>([circuit](const JobWritten& written, const Model& model, Verdict& verdict) {
        circuit->on_written(written, model, verdict);
    });
    rules.add([circuit](const NodeChanged& node, const Model&, Verdict&) { circuit->on_node(node); });
    rules.add<PolicyAsked>(
        [circuit](const LockGranted& lock, const Model&, Verdict&) { circuit->handlings.acquired(lock); });
    rules.add<PolicyAsked>(
        [circuit](const LockEnded& lock, const Model&, Verdict&) { circuit->handlings.released(lock); });
}

}  // namespace lockstep::sim::rules
