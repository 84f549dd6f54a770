// The limits of a job are the strictest of those that its request, policy and the settings set, and what is sent, stored and tried keeps
// them (wire.md 7.3 and 8, step 9; settings.md 3; C-24, C-41, H-20; engine/delivery-semantics.md, "To a submitter").
//
// 1. What goes to a worker carries the constraints of an answer of policy about the job, as a whole and one by one, and a deadline that is
//    the smaller one of the request's and of the run time that policy allows. Without an answer it carries none. After an approval, the
//    answer is the one that wanted it (wire.md 8.1).
// 2. A job's deadline is never moved back. It counts from when the job was acquired (the request's, and what its workflow may last) or from
//    when it was routed (the run time that policy allows), and a job that is sent has the strictest of them.
// 3. A job is dispatched no more often than once and as often again as the least of policy, its topic and its workflow allows; what is
//    ended for that has been dispatched more often.
// 4. A job is queued for a slot by a limit that policy has given.
// 5. A job times out of DISPATCHED no sooner than by the limits that its replica may have gone by since it was dispatched: those of its
//    topic, else those of the reconciler, and where the settings say nothing of these, those that it started with: what an earlier document
//    said does not apply any more (settings.md 3; D-10).
// 6. Where the settings are those of another file, a replica that starts with a file writes its limits there before it acquires a job
//    (settings.md 3), unless it could not, or another process has written meanwhile.
//
// Deadlines are compared by the clock of Redis: not once a clock was set, nor for a job of which Redis has lost something.
#include <cstdlib>

#include "engine/wire/messages.h"
#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"
#include "sim/spec/limits_that_apply.h"

namespace lockstep::sim::rules {

namespace {

using spec::LimitsKnown;

/// Between the instants that a script and an observer take for the same, in microseconds.
constexpr std::int64_t kClockSlack = 2'000'000;

/// 1
void keeps_the_limits(const Sent& sent, const Model&, Verdict& verdict) {
    const JobLimits& limits = sent.job->limits;
    if (sent.request == nullptr || !is_scheduler(sent.node)) return;
    if (limits.is_unsure || !limits.is_request_known || limits.answers.empty()) return;
    const std::vector<PolicyLimits> answers = spec::answers_for(*sent.request, limits);
    verdict.exercised(limits.asked_ms > 0 || std::ranges::any_of(answers, &PolicyLimits::is_constrained));
    std::string flaw;
    for (const PolicyLimits& answer : answers) {
        flaw = spec::flaw_of(*sent.request, limits, answer);
        if (flaw.empty()) return;
    }
    verdict.cite("engine/wire/wire.md 7.3");
    verdict.require(false, 0, "{}", flaw);
}

/// 2
void has_a_cause(const DeadlineWritten& written, const Model& model, Verdict& verdict,
                 const engine::Tunables& tunables) {
    const JobLimits& limits = written.job->limits;
    if (limits.is_unsure || model.clocks_jumped()) return;
    verdict.exercised();
    verdict.cite("engine/store/redis-schema.md 2");
    verdict.require(written.before == 0 || limits.deadline <= written.before, 0, "its deadline is moved back by {} ms",
                    (limits.deadline - written.before) / 1000);
    const LimitsKnown known(written, model, tunables);
    const std::int64_t acquired = known.acquired();
    if (acquired == 0 || !limits.is_request_known || (written.before != 0 && limits.deadline > written.before)) return;
    const auto since = std::chrono::duration_cast<std::chrono::microseconds>(written.at - limits.acquired).count();
    const auto is = [&](std::int64_t instant, std::int64_t within) {
        return std::abs(limits.deadline - instant) <= within;
    };
    const auto by_policy = [&](const PolicyLimits& answer) {
        return answer.runtime_ms > 0 && is(acquired + since + answer.runtime_ms * 1000, kClockSlack + since / 4);
    };
    const auto by_life = [&](std::int64_t life) { return life > 0 && is(acquired + life * 1000, kClockSlack); };
    verdict.require((limits.asked_ms > 0 && by_life(limits.asked_ms)) ||
                        std::ranges::any_of(known.lives_ms(), by_life) ||
                        std::ranges::any_of(limits.answers, by_policy),
                    0,
                    "its deadline lies {} ms after it was acquired, and neither its request ({} ms), nor its workflow "
                    "nor policy says so",
                    (limits.deadline - acquired) / 1000, limits.asked_ms);
}

/// 2
void has_the_strictest(const StateDated& dated, const Model& model, Verdict& verdict,
                       const engine::Tunables& tunables) {
    constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();
    const JobLimits& limits = dated.job->limits;
    verdict.cite("engine/store/redis-schema.md 2");
    const LimitsKnown known(dated, model, tunables);
    const std::int64_t acquired = known.acquired();
    if (acquired == 0 || !limits.is_request_known || limits.answers.empty()) return;
    std::int64_t latest = kEndless;
    if (limits.asked_ms > 0 && !limits.deadline_by_others) latest = acquired + limits.asked_ms * 1000;
    const std::vector<std::int64_t> lives = known.lives_ms();
    if (std::ranges::count(lives, 0) == 0) latest = std::min(latest, acquired + std::ranges::max(lives) * 1000);
    const auto& [least, most] = std::ranges::minmax_element(limits.answers, {}, &PolicyLimits::runtime_ms);
    if (least->runtime_ms > 0 && !limits.is_unanswered)
        latest = std::min(latest, dated.stays.now.since.count() + most->runtime_ms * 1000);
    if (latest == kEndless) return;
    verdict.exercised();
    verdict.require(limits.deadline != 0, 0,
                    "it is dispatched without a deadline, and its request, its workflow or policy sets one");
    verdict.require(limits.deadline <= latest + kClockSlack, 0,
                    "it is dispatched with a deadline that is {} ms later than the strictest of its limits",
                    (limits.deadline - latest) / 1000);
}

/// 5
void had_its_time(const StateDated& dated, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    constexpr engine::Duration kLookMax = std::chrono::seconds{10};  // that may have begun with other limits
    const JobLimits& limits = dated.job->limits;
    const std::int64_t at = dated.stays.now.since.count();
    const auto stay = dated.stays.now.since - dated.stays.before.since;
    if (dated.stays.before.since == RedisTime{} || stay <= RedisTime{}) return;
    if (dated.job->reported.timeout || !limits.is_request_known) return;
    if (limits.deadline != 0 && limits.deadline <= at + kClockSlack) return;
    verdict.exercised();
    verdict.cite("engine/config/settings.md 3");
    const Time seen = dated.at - std::max<engine::Duration>(stay, 2 * tunables.reconciler_interval);
    const std::int64_t shortest = LimitsKnown(dated, model, tunables).shortest_dispatch_ms(seen - kLookMax);
    verdict.require(stay.count() + kClockSlack >= shortest * 1000, 0,
                    "it times out after {} ms in DISPATCHED, and by what its replica goes by it may stay for {} ms",
                    stay.count() / 1000, shortest);
}

void on_move(const StateDated& dated, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    if (!is_scheduler(dated.node) || dated.job->limits.is_unsure || model.clocks_jumped()) return;
    const State to = dated.stays.now.state;
    if (to == State::dispatched) has_the_strictest(dated, model, verdict, tunables);
    if (to == State::timeout && dated.stays.before.state == State::dispatched)
        had_its_time(dated, model, verdict, tunables);
}

/// 3. The choices of one try, of workers that fail one after the other, are dispatches too, and none stops another.
void may_be_dispatched(const DispatchCounted& counted, const Model& model, Verdict& verdict,
                       const engine::Tunables& tunables) {
    const JobLimits& limits = counted.job->limits;
    if (limits.is_unsure || limits.is_unanswered || !limits.is_request_known) return;
    const std::int64_t most = LimitsKnown(counted, model, tunables).retries().most;
    if (most == 0) return;
    verdict.exercised();
    verdict.require(limits.dispatches_before <= most, 0,
                    "it is dispatched once more after {} times, and may be dispatched again {} times",
                    limits.dispatches_before, most);
}

/// 3
void had_its_retries(const JobWritten& used, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    const auto& letter = used.change->letter;
    if (!letter || !letter->has_value() || (*letter)->code != "max_retries_exceeded") return;
    const JobLimits& limits = used.job->limits;
    verdict.exercised();
    if (limits.is_unsure || !limits.is_request_known) return;
    const std::int64_t least = LimitsKnown(used, model, tunables).retries().least;
    verdict.require(least != 0 && limits.dispatches > least, 0,
                    "its retries are said to be used up after {} dispatches, and it has {}", limits.dispatches,
                    least == 0 ? std::string("no limit") : fmt::format("{}", least));
}

/// 4
void waits_by_a_limit(const QueuesChanged& change, const Model& model, Verdict& verdict,
                      const engine::Tunables& tunables) {
    for (const Job* job : change.step->limited) {
        const JobLimits& limits = job->limits;
        verdict.about(job);
        verdict.exercised();
        if (limits.answers.empty() || limits.is_unsure || !job->slot.limit) continue;
        if (std::ranges::find(limits.answers, *job->slot.limit, &PolicyLimits::concurrent) != limits.answers.end())
            continue;
        verdict.cite("engine/delivery-semantics.md#jobs-of-a-tenant-with-a-limit");
        // While a circuit is open policy is not asked, and an open fail mode knows no limits.
        Observed by = change;
        by.job = job;
        const bool may_be_free =
            *job->slot.limit == 0 && !limits.asked && LimitsKnown(by, model, tunables).may_fail_open();
        verdict.require(may_be_free, 0, "it waits by a limit of {} jobs, and policy has never given that one",
                        *job->slot.limit);
    }
}

/// 6
void are_of_its_file(const SettingsWritten& written, const Model& model, Verdict& verdict) {
    if (written.read_after == nullptr || !written.read_after->limits) return;
    const TimeLimits said = spec::as_stored(*written.read_after->limits);
    const SettingsText* before = written.read_before.get();
    if (before != nullptr && before->limits && spec::as_stored(*before->limits) == said) return;
    verdict.exercised();
    verdict.cite("engine/config/settings.md 4");
    verdict.require(spec::as_stored(model.file_limits().value_or(TimeLimits{})) == said, 0,
                    "the limits that it writes into the settings are not those of its file");
}

/// 6
void leaves_none_of_another(const FileLeftOut& left, const Model&, Verdict& verdict) {
    verdict.cite("engine/config/settings.md 4");
    verdict.require(false, left.found,
                    "it acquires jobs with a file of limits, and has left those of another one in the settings");
}

}  // namespace

void limits_in_force(Rules& rules, const engine::Tunables& tunables) {
    const auto add_with_policy = [&]<class Happened>(
                                     void (*rule)(const Happened&, const Model&, Verdict&, const engine::Tunables&)) {
        rules.add<PolicyAnswered>([rule, &tunables](const Happened& happened, const Model& model, Verdict& verdict) {
            rule(happened, model, verdict, tunables);
        });
    };
    rules.add(keeps_the_limits);
    rules.add(are_of_its_file);
    rules.add(leaves_none_of_another);
    add_with_policy(has_a_cause);
    add_with_policy(on_move);
    add_with_policy(may_be_dispatched);
    add_with_policy(had_its_retries);
    add_with_policy(waits_by_a_limit);
}

}  // namespace lockstep::sim::rules
