// No job times out while a result that the stream had before the limit may be unprocessed, and no job waits for one for longer than is
// promised (engine/delivery-semantics.md, "When a TIMEOUT follows a stored result").
//
// 1. A result is unprocessed until a scheduler acknowledges or terminates it. Only readable results that would end their job count, and
//    none that a power cut may have taken.
// 2. A job that is DISPATCHED or RUNNING and times out with such a result has the reason that says so, after the ack wait and two
//    intervals of the reconciler beyond its limit. By then the replica that ends it has been connected to NATS for as long, as far as its
//    latest tick can tell, and for as long Redis has answered its ticks.
// 3. One that leaves these states later than that and three intervals more, while nothing has disturbed the cluster for as long, was
//    forgotten. The time that a tick takes to read the results is given. Where no result of the job was there to wait for, three intervals
//    and a few seconds are enough, if nothing has disturbed the cluster since it began. A job that never leaves is for no_lost_job.
// 4. One whose own worker's result stands in the stream does not time out at all where nothing has disturbed the cluster since a
//    lock's lifetime before its limit: the reconciler reads the stream.
// 5. Limits are counted by the clock of Redis. Where several may be in force the most lenient counts.
#include <algorithm>

#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"
#include "sim/spec/stay_limits.h"

namespace lockstep::sim::rules {

namespace {

using engine::Duration;
using engine::to_millis;
using Stored = WorkerResults::Stored;

/// Clocks of a cluster drift, and a store that is given an instant returns it in whole milliseconds.
constexpr Duration kTolerance = std::chrono::seconds{1};
/// Between a report and the end that it brings.
constexpr Duration kReported = std::chrono::seconds{5};
/// Beyond the intervals: the calls of a tick, and those of an end.
constexpr Duration kSoonAfter = std::chrono::seconds{5};

/// The ticks that may look at overdue jobs, and how much each can do.
struct Ticks {
    const Model& model;
    const engine::Tunables& tunables;

    [[nodiscard]] Duration slowest_answer() const {
        Duration longest{};
        for (const auto& [node, calls] : model.tick_calls()) longest = std::max(longest, calls.took);
        return longest;
    }
    /// A tick makes some calls, one after the other, before its first overdue job.
    [[nodiscard]] bool get_there() const {
        constexpr int kCallsBeforeTheFirst = 10;
        return kCallsBeforeTheFirst * slowest_answer() <= 2 * tunables.reconciler_interval;
    }
    /// A tick reads so many messages, each at least for a share of a round trip on a slow link.
    [[nodiscard]] Duration time_to_read() const {
        constexpr std::uint64_t kReadAtMost = 1'000;
        constexpr Duration kPerMessage = std::chrono::milliseconds{20};
        return std::max(kPerMessage, 2 * slowest_answer()) *
               static_cast<std::int64_t>(std::min(model.stored_for_ticks(), kReadAtMost));
    }
    /// Jobs of one state.
    [[nodiscard]] std::int64_t looked_at() const {
        return tunables.reconciler_batch * tunables.reconciler_max_iterations;
    }
    [[nodiscard]] bool look_at_all() const {
        constexpr std::int64_t kPagesAtOnce = 5;
        constexpr std::uint64_t kMessagesLookedAt = 900;
        return tunables.reconciler_max_iterations >= kPagesAtOnce && model.stored_for_ticks() < kMessagesLookedAt &&
               looked_at() > 2 * (model.jobs_out() + 1);
    }
    /// Until each job at work had its turn: a tick goes on where the one before it stopped.
    [[nodiscard]] Duration time_for_all() const {
        return tunables.reconciler_interval * (model.most_jobs_out() / looked_at());
    }
};

const Stored* unprocessed_at(Time limit, const Job& job) {
    const auto found = std::ranges::find_if(job.results.unsettled(),
                                            [&](const Stored& one) { return one.since.at + kTolerance < limit; });
    return found == job.results.unsettled().end() ? nullptr : &*found;
}

/// 2
void waits_for_the_result(const StateDated& dated, Duration overdue, const Stored* result, const Model& model,
                          Verdict& verdict, Duration patience) {
    const bool says_so = dated.stays.unheard;
    verdict.cite("engine/delivery-semantics.md#when-a-timeout-follows-a-stored-result, 5");
    verdict.require(result == nullptr || (says_so && overdue + kTolerance >= patience),
                    result == nullptr ? 0 : result->since.event,
                    "it timed out {} ms after its limit, and result number {} of it stood in the stream then and is "
                    "not settled",
                    to_millis(overdue), result == nullptr ? 0 : result->sequence);
    const auto calls = model.tick_calls().find(dated.node);
    if (!says_so || calls == model.tick_calls().end()) return;
    // An eighth less, for a clock that goes too fast.
    const auto long_enough = [&](Time began) { return dated.at - began >= patience - patience / 8; };
    const Time connected_after = calls->second.connected_after;
    const Time unanswered = calls->second.unanswered;
    verdict.require(long_enough(connected_after), 0,
                    "it timed out although a result of it may be in the stream, {} ms after the connection of its "
                    "replica to NATS broke: it must have been connected for {} ms",
                    to_millis(dated.at - connected_after), to_millis(patience));
    verdict.require(long_enough(unanswered), 0,
                    "it timed out although a result of it may be in the stream, {} ms after Redis left a call of its "
                    "replica unanswered: results may have failed as well, and have {} ms more",
                    to_millis(dated.at - unanswered), to_millis(patience));
}

/// 3
void is_not_forgotten(const StateDated& dated, Duration late, Duration calm, const Ticks& ticks, Verdict& verdict) {
    const engine::Tunables& tunables = ticks.tunables;
    const auto left_by = [&](Duration most, Duration slack, std::string_view what) {
        verdict.require(late <= most + slack || calm <= most + slack, 0,
                        "it became {} {} ms after its limit, and nothing has disturbed the cluster for {} ms: {} ms is "
                        "how long {}",
                        to_string(dated.stays.now.state), to_millis(late), to_millis(calm), to_millis(most), what);
    };
    verdict.cite("engine/store/redis-schema.md 3.10");
    left_by(spec::wait_for_results(tunables) + 3 * tunables.reconciler_interval,
            // A tick that has begun before does not count, and the next one begins when it is over.
            tunables.reconciler_interval + 2 * ticks.time_to_read() + ticks.time_for_all(),
            "a job waits for a result that may be in the stream");
    const Time first_result = dated.job->results.first_stored();
    const bool alone = first_result >= dated.at - kReported;
    const bool since_the_start = dated.at - calm < Time{kTolerance};
    if (alone && since_the_start && ticks.look_at_all())
        left_by(3 * spec::longest_interval(ticks.model, tunables) + kSoonAfter, {},
                "a job without a result has to wait");
}

void on_end_of_work(const StateDated& dated, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    if (!is_out(dated.stays.before.state)) return;
    const auto overdue_by = spec::overdue(dated.stays, *dated.job, model, tunables);
    if (!overdue_by) return;
    verdict.exercised(overdue_by->at_most > Duration{} && model.has_unsettled_results());
    const Duration overdue = std::max(overdue_by->at_most, Duration{});
    const Stored* result = unprocessed_at(dated.at - overdue, *dated.job);
    const bool by_itself = dated.stays.now.state == State::timeout && dated.node.valid() && !by_user(dated.node) &&
                           !dated.job->reported.timeout;
    if (by_itself) waits_for_the_result(dated, overdue, result, model, verdict, spec::wait_for_results(tunables));
    const Ticks ticks{model, tunables};
    const auto calm = model.weather().lasts_for(dated.at);
    if (!calm || !ticks.get_there()) return;
    const bool of_its_worker = result != nullptr && dated.worker != 0 && dated.worker == result->worker;
    verdict.cite("engine/delivery-semantics.md#when-a-timeout-follows-a-stored-result, 4");
    verdict.require(!by_itself || !of_its_worker || !ticks.look_at_all() || *calm <= overdue + tunables.job_lock_ttl,
                    result == nullptr ? 0 : result->since.event,
                    "it timed out {} ms after its limit, and result number {} of its own worker stood in the stream "
                    "all the time, where the reconciler reads it: nothing has disturbed the cluster for {} ms",
                    to_millis(overdue), result == nullptr ? 0 : result->sequence, to_millis(*calm));
    is_not_forgotten(dated, overdue_by->at_least, *calm, ticks, verdict);
}

}  // namespace

void stored_result_wins(Rules& rules, const engine::Tunables& tunables) {
    rules.add<Delivered>([&tunables](const StateDated& dated, const Model& model, Verdict& verdict) {
        on_end_of_work(dated, model, verdict, tunables);
    });
}

}  // namespace lockstep::sim::rules
