#include "prod/ordeal/judge.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <set>

namespace lockstep::prod::ordeal {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kChecksMost = 64;
constexpr int kJobsLeast = 100;
constexpr int kHurtLeast = 8;
/// Connections come and go by a few; a leak of an ordeal's length does not.
constexpr long kDescriptorsMore = 8;
/// What may be in flight (64 MB) and 256 MB (D-02).
constexpr long kResidentMoreKb = 320L * 1024;
/// Whatever is sent to a replica with default settings.
constexpr long kResidentMostKb = 512L * 1024;
/// A blow explains what happened so long after its end, and so long before its beginning: a publish, the wait for its
/// answer and the searches of the stream that follow.
constexpr Span kAftermath = seconds(3);
constexpr Span kLead = seconds(8);
/// A primary that comes back is one for as long as sentinels take to have it follow the new one: ten seconds, and some.
constexpr Span kTwoPrimaries = seconds(15);
/// From its submission to its end, where nothing was lost.
constexpr Span kInHandMost = seconds(90);

constexpr std::array<std::string_view, 6> kEndStates{"SUCCEEDED", "FAILED", "CANCELLED",
                                                     "TIMEOUT",   "DENIED", "OUTPUT_QUARANTINED"};

bool has_ended(std::string_view state) { return std::ranges::find(kEndStates, state) != kEndStates.end(); }

long millis(Span span) { return static_cast<long>(std::chrono::duration_cast<milliseconds>(span).count()); }

/// The reason that the engine gives when it has waited for a stored result as long as it may (D-04).
bool tells_of_patience(std::string_view reason) {
    return reason.find("has not been heard for another") != std::string_view::npos;
}

/// Two results of one job go to two replicas at once. Which of them counts is the stream's order from the moment on that one of
/// the replicas has taken the earlier one up (D-17); on busy cores that may take as long.
constexpr std::chrono::milliseconds kTakenUpWithin{500};
/// An attack keeps every core busy.
constexpr std::chrono::milliseconds kTakenUpUnderAttack{2000};

using Kinds = std::set<DisturbanceKind>;

const Kinds& that_lose_dispatches() {
    using enum DisturbanceKind;
    static const Kinds kinds{replica_kill, replica_stop, replica_freeze, nats_kill, nats_freeze, redis_kill,
                             redis_freeze, cut,          stall};
    return kinds;
}

/// Where writes count before a replica has them; and nobody is answered meanwhile.
const Kinds& that_lose_writes() {
    using enum DisturbanceKind;
    static const Kinds kinds{redis_kill, redis_freeze};
    return kinds;
}

const Kinds& that_keep_from_starting() {
    using enum DisturbanceKind;
    static const Kinds kinds{worker_kill, worker_freeze, nats_kill, nats_freeze};
    return kinds;
}

/// A worker stores its output in Redis before it reports.
const Kinds& that_lose_work() {
    using enum DisturbanceKind;
    static const Kinds kinds{worker_kill, worker_freeze, nats_kill, nats_freeze, redis_kill, redis_freeze};
    return kinds;
}

class Judge {
public:
    explicit Judge(const Ledger& ledger) : ledger_(ledger) {
        verdict_.checks.reserve(kChecksMost);  // references to them are held
        for (const StoredResult& result : ledger_.results) results_[result.job].push_back(&result);
        for (const Execution& execution : ledger_.executions) executions_[execution.job].push_back(&execution);
    }

    Verdict verdict() {
        count();
        verdict_.strikes = ledger_.attacks;
        verdict_.attacked = ledger_.attacked_from.has_value();
        jobs();
        surroundings();
        return std::move(verdict_);
    }

private:
    /// The check of this name, made when it is first asked for.
    Check& check(std::string name, std::string promise, bool must_be_none = true) {
        for (Check& known : verdict_.checks) {
            if (known.name == name) return known;
        }
        return verdict_.checks.emplace_back(Check{std::move(name), std::move(promise), must_be_none, {}});
    }

    // In the order of the report.
    Check& executed_twice() { return check("executed_twice", "jobs that workers started more than once"); }
    Check& lost() { return check("lost", "acknowledged, and neither ended nor waiting for somebody"); }
    Check& lost_by_the_stream() {
        return check("lost_by_the_stream",
                     "acknowledged by NATS, and not in its stream any more, from which nobody deletes", false);
    }
    Check& stored_result_timed_out() {
        return check("stored_result_timed_out", "ended TIMEOUT although the stream held the result before the limit");
    }
    Check& unsent_unexplained() {
        return check("unexplained_timeout", "ended TIMEOUT, and nothing was done to anybody that explains it");
    }
    Check& conflicting() {
        return check("later_result_won", "took a later, conflicting result, and nothing explains it");
    }
    Check& sent_twice() { return check("sent_twice", "more than one message for workers about one job"); }
    Check& ended_twice() { return check("ended_twice", "jobs that ended more than once"); }
    Check& ran_forbidden() {
        return check("ran_without_permission", "ran although policy denied it or nobody approved");
    }
    Check& unearned() { return check("success_without_execution", "SUCCEEDED, and no worker has started it"); }
    Check& cancelled_unasked() { return check("cancelled_unasked", "CANCELLED, and nobody asked for it"); }
    Check& content() { return check("content_changed", "stored or dispatched with another content than submitted"); }
    Check& letterless() {
        return check("dead_letter_missing",
                     "ended badly without a dead letter, and not left to the submitter by the worker");
    }
    Check& without_slot() {
        return check("failed_for_want_of_capacity", "FAILED, and had only to wait for a worker with a free slot");
    }
    Check& excused() {
        return check("stored_result_patience", "the same with the patience's own reason, once it had passed", false);
    }
    Check& conflicting_explained() {
        return check("later_result_won_explained",
                     "took a later, conflicting result while somebody was hurt, or at the heels of the first", false);
    }
    Check& unsent() {
        return check("timeout_unsent", "ended TIMEOUT and were never sent, each with what explains it", false);
    }
    Check& sent_not_run() {
        return check("timeout_not_run", "ended TIMEOUT, were sent and never started, each with what explains it",
                     false);
    }
    Check& run_not_told() {
        return check("timeout_result_lost", "ended TIMEOUT, ran, and their result reached no stream", false);
    }
    Check& late() {
        return check("timeout_result_late", "ended TIMEOUT, and their result came after the limit", false);
    }

    Check& cost_of_a_failover() {
        return check("lost_by_failover",
                     "lost or done twice when a Redis without the last writes took over (engine/delivery-semantics.md)",
                     false);
    }
    /// Where to put what went wrong with a job between these moments: what Redis had forgotten is told, and no more, where it may
    /// forget.
    Check& blamed(Check& otherwise, Moment from, Moment until) {
        const bool foretold =
            ledger_.rules.lossy && nearest(that_lose_writes(), from - kTwoPrimaries, until + kLead, from);
        return foretold ? cost_of_a_failover() : otherwise;
    }

    void count() {
        for (const auto make : {&Judge::executed_twice,
                                &Judge::lost,
                                &Judge::lost_by_the_stream,
                                &Judge::stored_result_timed_out,
                                &Judge::unsent_unexplained,
                                &Judge::conflicting,
                                &Judge::sent_twice,
                                &Judge::ended_twice,
                                &Judge::ran_forbidden,
                                &Judge::unearned,
                                &Judge::cancelled_unasked,
                                &Judge::content,
                                &Judge::letterless,
                                &Judge::excused,
                                &Judge::conflicting_explained,
                                &Judge::cost_of_a_failover,
                                &Judge::unsent,
                                &Judge::sent_not_run,
                                &Judge::run_not_told,
                                &Judge::late})
            (void)(this->*make)();
        verdict_.submitted = static_cast<int>(ledger_.submissions.size());
        for (const auto& [job, submission] : ledger_.submissions) {
            if (submission.acknowledged) ++verdict_.acknowledged;
            if (executions_.contains(job)) ++verdict_.executed;
            if (const auto results = results_.find(job); results != results_.end())
                verdict_.results += static_cast<int>(results->second.size());
        }
        for (const Disturbance& one : ledger_.disturbances) {
            ++verdict_.disturbances[std::string(name_of(one.kind))];
            if (hurts(one.kind)) ++verdict_.hurt;
        }
    }

    void jobs() {
        static const JobEnd kUnknown;
        for (const auto& [job, submission] : ledger_.submissions) {
            const auto found = ledger_.ends.find(job);
            const JobEnd& end = found == ledger_.ends.end() ? kUnknown : found->second;
            if (!end.state.empty() || submission.acknowledged)
                ++verdict_.ends[end.state.empty() ? "(unknown)" : end.state];
            judge_job(job, submission, end);
        }
        for (const auto& [job, times] : ledger_.dispatched) {
            if (times <= 1) continue;
            const auto submission = ledger_.submissions.find(job);
            const Moment since = submission != ledger_.submissions.end() && submission->second.acknowledged
                                     ? *submission->second.acknowledged
                                     : Moment{};
            blamed(sent_twice(), since, since + kInHandMost)
                .cases.push_back(fmt::format("{}: {} messages", job, times));
        }
        for (const std::string& job : ledger_.dispatched_unsound) content().cases.push_back("dispatched " + job);
    }

    void judge_job(const std::string& job, const Submission& submission, const JobEnd& end) {
        if (const auto runs = executions_.find(job); runs != executions_.end()) {
            if (runs->second.size() > 1) {
                std::string where;
                for (const Execution* run : runs->second)
                    where +=
                        fmt::format(" {} +{} ms", run->worker, millis(run->started - runs->second.front()->started));
                blamed(executed_twice(), runs->second.front()->started, runs->second.back()->started)
                    .cases.push_back(fmt::format("{}:{}", job, where));
            }
            if (submission.kind != JobKind::ordinary) ran_forbidden().cases.push_back(job);
        } else if (end.state == "SUCCEEDED") {
            unearned().cases.push_back(job);
        }
        if (submission.acknowledged && !at_rest(end.state)) judge_lost(job, submission, end);
        if (std::ranges::count_if(end.history, [](const StateChange& c) { return has_ended(c.state); }) > 1)
            ended_twice().cases.push_back(job);
        if (end.state == "CANCELLED" && !submission.cancel_asked) judge_cancelled(job, end);
        if (!end.content_fault.empty())
            content().cases.push_back(fmt::format("{} as stored: {}", job, end.content_fault));
        const bool badly = end.state == "FAILED" || end.state == "TIMEOUT" || end.state == "DENIED";
        if (badly && !end.dead_letter && !left_to_submitter(job, end))
            letterless().cases.push_back(fmt::format("{}: {}", job, end.state));
        // No worker is away for as long as a job waits for one.
        if (end.letter_code == "pool_overloaded" || end.letter_code == "no_workers" ||
            end.reason.find("pool_overloaded") != std::string::npos)
            without_slot().cases.push_back(fmt::format("{}: {} {}", job, end.letter_code, end.reason));
        if (end.state == "TIMEOUT") judge_timeout(job, end);
        judge_results(job, end);
    }

    void judge_lost(const std::string& job, const Submission& submission, const JobEnd& end) {
        const bool held = ledger_.stored.empty() || ledger_.stored.contains(job);
        const bool by_the_stream = ledger_.rules.clustered && end.state.empty() && !held;
        Check& kind = by_the_stream ? lost_by_the_stream()
                                    : blamed(lost(), *submission.acknowledged, *submission.acknowledged + kInHandMost);
        kind.cases.push_back(fmt::format("{}: {}, sequence {}{}", job, end.state.empty() ? "unknown" : end.state,
                                         submission.sequence, held ? "" : ", which the stream does not hold"));
    }

    /// Whoever timed it out has called it off at its worker, which says so; a Redis that has forgotten the end by the time that word
    /// is handled takes it.
    void judge_cancelled(const std::string& job, const JobEnd& end) {
        const auto results = results_.find(job);
        const auto word = results == results_.end() ? std::vector<const StoredResult*>{} : results->second;
        const auto called_off =
            std::ranges::find_if(word, [](const StoredResult* result) { return result->status == "CANCELLED"; });
        if (called_off == word.end()) return cancelled_unasked().cases.push_back(job);
        const Moment told = (*called_off)->stored;
        const Moment taken = end.history.empty() ? told : std::max(told, end.history.back().at);
        blamed(cancelled_unasked(), told, taken).cases.push_back(job);
    }

    /// The worker said that the submitter may try it again.
    bool left_to_submitter(const std::string& job, const JobEnd& end) const {
        const auto results = results_.find(job);
        return end.state == "FAILED" && results != results_.end() &&
               std::ranges::any_of(results->second, [](const StoredResult* r) { return r->may_be_tried_again; });
    }

    /// The first result in the stream that counts: from the worker that had the job.
    const StoredResult* first_result(const std::string& job, const JobEnd& end) const {
        const auto results = results_.find(job);
        if (results == results_.end()) return nullptr;
        for (const StoredResult* result : results->second) {
            if (end.worker.empty() || result->worker == end.worker) return result;
        }
        return nullptr;
    }

    void judge_timeout(const std::string& job, const JobEnd& end) {
        const auto ended = std::ranges::find_if(end.history, [](const StateChange& c) { return c.state == "TIMEOUT"; });
        if (ended == end.history.end() || ended == end.history.begin()) {
            unsent_unexplained().cases.push_back(fmt::format("{}: without a history ({})", job, end.reason));
            return;
        }
        const StateChange& before = *std::prev(ended);
        const Moment limit =
            before.at + (before.state == "DISPATCHED" ? ledger_.rules.dispatch_timeout : ledger_.rules.running_timeout);
        if (const StoredResult* result = first_result(job, end)) {
            const auto when = fmt::format("{}: stored {} ms before the limit, ended {} ms after it ({})", job,
                                          millis(limit - result->stored), millis(ended->at - limit), end.reason);
            if (result->stored > limit)
                late().cases.push_back(when);
            else if (tells_of_patience(end.reason) && ended->at >= limit + ledger_.rules.patience &&
                     redis_had_been_back(ended->at))
                excused().cases.push_back(when);
            else  // whoever has handled it may have told a Redis that forgot it, and the stream tells nobody again
                blamed(stored_result_timed_out(), result->stored, result->stored).cases.push_back(when);
            return;
        }
        const auto runs = executions_.find(job);
        if (runs != executions_.end())
            explain_timeout(run_not_told(), job, runs->second.front()->started, that_lose_work());
        else if (ledger_.dispatched.contains(job))
            explain_timeout(sent_not_run(), job, dispatched_at(end).value_or(before.at), that_keep_from_starting());
        else
            explain_timeout(unsent(), job, dispatched_at(end).value_or(before.at), that_lose_dispatches());
    }

    /// For as long as results that nobody has heard are waited for: before that nobody could have handled one.
    bool redis_had_been_back(Moment moment) const {
        return nearest(that_lose_writes(), moment - ledger_.rules.patience, moment, moment) == nullptr;
    }

    static std::optional<Moment> dispatched_at(const JobEnd& end) {
        const auto found =
            std::ranges::find_if(end.history, [](const StateChange& c) { return c.state == "DISPATCHED"; });
        return found == end.history.end() ? std::nullopt : std::optional(found->at);
    }

    void explain_timeout(Check& kind, const std::string& job, Moment moment, const Kinds& kinds) {
        const Disturbance* cause = nearest(kinds, moment - kAftermath, moment + kLead, moment);
        if (cause == nullptr) {
            unsent_unexplained().cases.push_back(fmt::format("{}: {}", job, kind.name));
            return;
        }
        kind.cases.push_back(
            fmt::format("{}: {} ({}), {}", job, name_of(cause->kind), cause->target, before(*cause, moment)));
    }

    static std::string before(const Disturbance& cause, Moment moment) {
        const long ago = millis(moment - cause.from);
        return ago >= 0 ? fmt::format("{} ms before", ago) : fmt::format("{} ms after", -ago);
    }

    /// Of these kinds the one that began nearest to the moment, of those that were in force at any time of the window.
    const Disturbance* nearest(const Kinds& kinds, Moment from, Moment until, Moment moment) const {
        const Disturbance* best = nullptr;
        for (const Disturbance& one : ledger_.disturbances) {
            if (!kinds.contains(one.kind) || one.from > until || one.until < from) continue;
            if (best == nullptr || abs(moment - one.from) < abs(moment - best->from)) best = &one;
        }
        return best;
    }

    void judge_results(const std::string& job, const JobEnd& end) {
        if (end.state != "SUCCEEDED" && end.state != "FAILED") return;
        const StoredResult* first = first_result(job, end);
        if (first == nullptr || first->status == end.state || first->status.empty()) return;
        const auto later =
            std::ranges::find_if(results_.at(job), [&](const StoredResult* r) { return r->status == end.state; });
        if (later == results_.at(job).end()) return;
        const Moment ended = end.history.empty() ? (*later)->stored : end.history.back().at;
        const auto story = fmt::format("{}: {} in the stream, {} {} ms later, which won", job, first->status, end.state,
                                       millis((*later)->stored - first->stored));
        const Disturbance* cause = nearest(that_lose_dispatches(), first->stored - kAftermath, ended, first->stored);
        if ((*later)->stored - first->stored < (ledger_.attacked_from ? kTakenUpUnderAttack : kTakenUpWithin))
            conflicting_explained().cases.push_back(story + "; nobody need have had the first in hand by then");
        else if (cause == nullptr)
            blamed(conflicting(), first->stored, ended).cases.push_back(story);
        else
            conflicting_explained().cases.push_back(fmt::format("{}; {} ({}), {}", story, name_of(cause->kind),
                                                                cause->target, before(*cause, first->stored)));
    }

    /// Whoever does not learn whether Redis has taken a mark away goes on, and the mark ends by itself (redis-schema.md 8).
    void marks_in_flight() {
        Check& unexplained = check("in_flight_left", "marks of messages in hand, and nothing explains them");
        Check& explained = check("in_flight_to_expire",
                                 "marks of messages in hand that will expire, each with what explains it", false);
        for (const LeftMark& mark : ledger_.in_flight) {
            if (!mark.set) {
                unexplained.cases.push_back(mark.key + ": has no end");
                continue;
            }
            if (mark.hostile) {
                explained.cases.push_back(mark.key + ": of an attacker, whose messages may be in hand");
                continue;
            }
            const Disturbance* cause =
                nearest(that_lose_dispatches(), *mark.set - kAftermath, *mark.set + kLead, *mark.set);
            if (cause == nullptr)
                unexplained.cases.push_back(mark.key);
            else
                explained.cases.push_back(fmt::format("{}: {} ({}), {}", mark.key, name_of(cause->kind), cause->target,
                                                      before(*cause, *mark.set)));
        }
    }

    /// From the acknowledgement to the end of ordinary jobs that were submitted in that time, the shortest first.
    std::vector<Span> times_to_the_end(Moment from, Moment until) const {
        std::vector<Span> times;
        for (const auto& [job, submission] : ledger_.submissions) {
            const auto end = ledger_.ends.find(job);
            const bool counts = submission.kind == JobKind::ordinary && submission.acknowledged &&
                                *submission.acknowledged >= from && *submission.acknowledged < until;
            if (counts && end != ledger_.ends.end() && end->second.state == "SUCCEEDED" && !end->second.history.empty())
                times.push_back(end->second.history.back().at - *submission.acknowledged);
        }
        std::ranges::sort(times);
        return times;
    }

    void attacks() {
        if (!ledger_.attacked_from) return;
        Check& let_through = check("let_through", "jobs of attackers that no rule lets through, and that did not fail");
        for (const auto& [job, state] : ledger_.let_through)
            let_through.cases.push_back(fmt::format("{}: {}", job, state));
        Check& memory = check("memory_beyond_bound", "replicas that took more than 512 MB at any time");
        for (const Footprint& one : ledger_.footprints) {
            if (one.resident_kb_most > kResidentMostKb)
                memory.cases.push_back(fmt::format("{}: {} kB", one.replica, one.resident_kb_most));
        }
        Check& waiting =
            check("hostile_jobs_waiting",
                  "how many jobs of attackers have not ended: each has its tries, or waits for capacity", false);
        for (const Consumer& consumer : ledger_.consumers) {
            if (consumer.hostile > 0)
                waiting.cases.push_back(
                    fmt::format("{} jobs, and {} submissions in hand", consumer.hostile, consumer.unacknowledged));
        }
        Check& slower = check("honest_jobs_slower", "what an honest job took before and during the attack", false);
        const auto quiet = times_to_the_end(Moment::min(), *ledger_.attacked_from);
        const auto attacked = times_to_the_end(*ledger_.attacked_from, Moment::max());
        for (const auto& [name, share] : {std::pair{"half", 0.5}, {"nine in ten", 0.9}, {"99 in 100", 0.99}}) {
            if (quiet.empty() || attacked.empty()) continue;
            const auto within = [share](const std::vector<Span>& times) {
                return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
            };
            slower.cases.push_back(fmt::format("{} of them: within {} ms, and then {} ms; {:.2f} times", name,
                                               millis(within(quiet)), millis(within(attacked)),
                                               static_cast<double>(within(attacked).count()) /
                                                   static_cast<double>(std::max<Span::rep>(within(quiet).count(), 1))));
        }
    }

    void surroundings() {
        attacks();
        Check& crashed = check("crashed", "programs that a signal ended which nobody had sent");
        Check& restarted = check("gave_up", "programs that ended by themselves, and were started again", false);
        for (const Crash& crash : ledger_.crashes) {
            // SIGTERM before the program could learn to listen to it is ours.
            const bool by_signal = crash.exit_code > 128 && crash.exit_code != 128 + SIGTERM;
            (by_signal ? crashed : restarted)
                .cases.push_back(fmt::format("{}: exit code {}", crash.program, crash.exit_code));
        }
        check("did_not_stop", "replicas that did not end after SIGTERM").cases = ledger_.unstoppable;
        check("locks_left", "locks of jobs").cases = ledger_.locks;
        marks_in_flight();
        Check& messages = check("messages_left", "messages that consumers have not dealt with");
        for (const Consumer& consumer : ledger_.consumers) {
            if (consumer.left() > 0)
                messages.cases.push_back(fmt::format("{}: {} not delivered, {} not acknowledged", consumer.name,
                                                     consumer.pending, consumer.unacknowledged));
        }
        Check& descriptors = check("descriptors_grown", "replicas with more open descriptors than after their start");
        Check& memory = check("memory_grown", "replicas that hold on to more memory than their bound");
        for (const Footprint& one : ledger_.footprints) {
            if (one.descriptors_after > one.descriptors_before + kDescriptorsMore)
                descriptors.cases.push_back(
                    fmt::format("{}: {} and then {}", one.replica, one.descriptors_before, one.descriptors_after));
            if (one.resident_kb_after > one.resident_kb_before + kResidentMoreKb)
                memory.cases.push_back(fmt::format("{}: {} kB and then {} kB", one.replica, one.resident_kb_before,
                                                   one.resident_kb_after));
        }
        Check& settled = check("not_settled", "quiet did not return, and nothing came to rest any more");
        if (!ledger_.settled)
            settled.cases.push_back(fmt::format("after {} ms: {}", millis(ledger_.settling), ledger_.unrest));
    }

    const Ledger& ledger_;
    std::map<std::string, std::vector<const StoredResult*>> results_;
    std::map<std::string, std::vector<const Execution*>> executions_;
    Verdict verdict_;
};

}  // namespace

bool at_rest(std::string_view state) { return has_ended(state) || state == "APPROVAL_REQUIRED"; }

bool Verdict::violated() const { return std::ranges::any_of(checks, &Check::violated); }

bool Verdict::proved_nothing() const {
    int ended = 0;
    for (const auto& [state, jobs] : ends) ended += has_ended(state) ? jobs : 0;
    const bool too_tame = attacked ? strikes.empty() : hurt < kHurtLeast;
    return ended < kJobsLeast || too_tame || executed == 0 || results == 0;
}

const Check* Verdict::find(std::string_view name) const {
    const auto found = std::ranges::find(checks, name, &Check::name);
    return found == checks.end() ? nullptr : &*found;
}

Verdict judge(const Ledger& ledger) { return Judge(ledger).verdict(); }

}  // namespace lockstep::prod::ordeal
