// Every job that ended badly and every message that was given up has its dead letter (engine/delivery-semantics.md, "Messages that cannot be
// handled" and "Dead letters").
//
// 1. A job that a scheduler ended DENIED, TIMEOUT, OUTPUT_QUARANTINED, or FAILED without permission to retry, has a dead letter with a
//    reason code. So has a message that was terminated, or that the server stopped delivering before it was settled, where a replica
//    received a delivery at which it is to be given up. The first cause stays. When all is quiet, every dead letter that Redis has not
//    lost has been published.
// 2. The index lists the dead letters that exist, and besides them only those that expired, because it has no time to live.
// 3. Dead letters of bytes that are no packet have an index and a limit of their own, and are published in sums: as many as were
//    written, no more except after a disturbance, and once a minute at most.
// 4. The dead letter exists before its message is terminated. Only a replica that is stopping with the last delivery in flight may have
//    published it alone.
// 5. A message that is delivered when five deliveries are left, or of few less than half of them, is given up: no replica acknowledges it,
//    and without a disturbance none requeues it.
// 6. Gateways write dead letters of their own. A scheduler that is delivered a submission of a job that is DENIED or FAILED without a dead
//    letter, by another process or because that was lost, writes one; except of a failure that may be retried.
#include "fakes/redis/keyspace.h"
#include "sim/model/job_keys.h"
#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"
#include "sim/spec/giving_up.h"

namespace lockstep::sim::rules {

namespace {

/// Of a job that another process has ended without a dead letter (D-11).
constexpr std::string_view kRepaired = "redelivery_dlq_retry";

/// 1
void keeps_first_cause(const JobWritten& written, const Model&, Verdict& verdict) {
    const RecordChange& change = *written.change;
    const Job& job = *change.job;
    verdict.require(!change.letter || job.letter.code != kRepaired || !job.bad_end.may_be_retried, 0,
                    "its failure may be retried by its submitter, and it is given a dead letter");
    verdict.require(!change.letter_before || *change.letter_before == change.letter_entry, 0,
                    "its dead letter said {}, and is overwritten with {}", change.letter_before.value_or(""),
                    change.letter_entry);
}

/// 4
void is_written_first(const LateAnswer& answer, const Model& model, Verdict& verdict) {
    if (answer.terminates == nullptr || model.taken_back()) return;
    const DeadLetter& letter = answer.terminates->letter;
    verdict.cite("engine/delivery-semantics.md#messages-that-cannot-be-handled, 3");
    const bool only_published = letter.published && answer.is_last && model.weather().stopping(answer.node);
    verdict.require(letter.known || only_published, 0, "message {} of {} is terminated, and {} has no dead letter yet",
                    answer.sequence, answer.stream, answer.terminates->name);
}

/// 5
void is_given_up(const LateAnswer& answer, const Model& model, Verdict& verdict, std::int64_t last) {
    const LateDelivery late = answer.delivery.value_or(LateDelivery{});
    if (answer.terminates != nullptr || late.unclear || late.number < spec::first_given_up(last)) return;
    verdict.exercised();
    verdict.cite("engine/delivery-semantics.md#messages-that-cannot-be-handled, 2");
    verdict.require(answer.requeues && !model.weather().clear_for(answer.node, late.since.at), late.since.event,
                    "message {} of {} is {} at delivery {} of {}: by then it is to be given up", answer.sequence,
                    answer.stream, answer.requeues ? "requeued" : "acknowledged", late.number, last);
}

/// 3
void is_not_too_soon(const SumPublished& sum, const Model& model, Verdict& verdict) {
    verdict.cite("engine/delivery-semantics.md#messages-that-cannot-be-handled, 4");
    const bool disturbed = !model.weather().clear_for(sum.node, sum.at - LetterSums::kDisturbedFor);
    const bool too_soon = sum.before && sum.at - *sum.before < spec::kBetweenSums;
    verdict.require(!too_soon || disturbed || !is_scheduler(sum.node), 0, "{} is published a second time within {} ms",
                    sum.name, engine::to_millis(spec::kBetweenSums));
}

/// 1 and 6
void job_has_one(const Job& job, Verdict& verdict, const engine::Tunables& tunables) {
    const BadEnd& end = job.bad_end;
    const DeadLetter& letter = job.letter;
    if (spec::needs_letter(job, tunables)) {
        const std::string_view state = to_string(end.by_scheduler);
        const bool withheld = end.by_scheduler == State::output_quarantined;
        verdict.require(letter.known, end.event, "it ended {}, and it never had a dead letter", state);
        verdict.require(!letter.known || !letter.code.empty(), letter.written,
                        "it ended {}, and its dead letter has no reason code", state);
        verdict.require(!withheld || letter.code.empty() || letter.code.starts_with("output_quarantined"),
                        letter.written, "its output is withheld, and its dead letter says {}", letter.code);
    }
    if (end.met == 0 || end.may_be_retried) return;
    verdict.exercised();
    verdict.require(
        letter.known && !letter.lost, end.met,
        "it was {} without a dead letter, and the scheduler that its submission came to has not written one",
        to_string(end.unexplained));
}

/// 1
void message_has_one(const Job& message, Verdict& verdict, std::int64_t last) {
    const DeadLetter& letter = message.letter;
    if (letter.known || letter.published) return;
    verdict.about(nullptr);
    verdict.cite("engine/delivery-semantics.md#messages-that-cannot-be-handled, 3");
    verdict.require(letter.terminated == 0, letter.terminated, "its message was terminated, and {} has no dead letter",
                    message.name);
    verdict.require(letter.exhausted == 0 || letter.last_number < spec::first_given_up(last), letter.exhausted,
                    "its message is not delivered any more, and {} has no dead letter", message.name);
    verdict.about(&message);
}

void at_rest(const AtRest& rest, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    const Job& job = *rest.job;
    const DeadLetter& letter = job.letter;
    job_has_one(job, verdict, tunables);
    message_has_one(job, verdict, tunables.bus_max_deliver);
    verdict.cite("engine/wire/wire.md 8.2");
    if (!letter.by_scheduler) return;
    const auto is_listed = [&](std::string_view index) {
        const auto* listed = container_at<fakes::redis::SortedSet>(*rest.redis, index);
        return listed != nullptr && listed->score(job.name) != nullptr;
    };
    verdict.require(
        !letter.stored || model.letter_index_lost() || is_listed(kLetterIndex) || is_listed(kUndecodableIndex),
        letter.written, "it has a dead letter ({}), and {} does not list it", letter.code, kLetterIndex);
    verdict.require(!rest.quiet || letter.lost || letter.published || letter.in_sum, letter.written,
                    "all is quiet, and its dead letter ({}) has not been published", letter.code);
}

/// 2 and 3
void all_at_rest(const AllAtRest& rest, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    verdict.cite("engine/store/redis-schema.md 4");
    for (const std::string_view key : {kLetterIndex, kUndecodableIndex}) {
        const auto* listed = container_at<fakes::redis::SortedSet>(*rest.redis, key);
        if (listed == nullptr) continue;
        for (const auto& entry : listed->ranking()) {
            const Job* job = model.find(entry.member);
            if (job == nullptr) continue;
            verdict.about(job);
            verdict.require(job->letter.stored || job->letter.may_be_listed, 0,
                            "{} lists it, and it has no dead letter", key);
        }
        verdict.about(nullptr);
        const auto limit = static_cast<std::size_t>(tunables.dlq_undecodable_max_size);
        verdict.require(key != kUndecodableIndex || listed->ranking().size() <= limit, 0,
                        "{} lists more than {} dead letters", key, limit);
    }
    if (!rest.quiet) return;
    verdict.cite("engine/delivery-semantics.md#messages-that-cannot-be-handled, 4");
    const LetterSums& sums = model.letter_sums();
    verdict.require(sums.published >= sums.messages, 0,
                    "all is quiet, {} messages were dead-lettered because they are no packets, and {} were published",
                    sums.messages, sums.published);
}

/// 3
void no_more_is_told(const AllAtRest& rest, const Model& model, Verdict& verdict) {
    const LetterSums& sums = model.letter_sums();
    verdict.require(!rest.quiet || sums.published <= sums.messages + sums.may_repeat || model.taken_back(), 0,
                    "{} messages were dead-lettered because they are no packets, and {} were published", sums.messages,
                    sums.published);
}

}  // namespace

void dead_letter_complete(Rules& rules, const engine::Tunables& tunables) {
    rules.add([](const StateChanged& change, const Model&, Verdict& verdict) {
        verdict.exercised(BadEnd::is_bad(change.to) && is_scheduler(change.node));
    });
    rules.add([](const Terminated&, const Model&, Verdict& verdict) { verdict.exercised(); });
    rules.add([](const DeliveriesExhausted&, const Model&, Verdict& verdict) { verdict.exercised(); });
    rules.add(keeps_first_cause);
    rules.add(is_written_first);
    rules.add(is_not_too_soon);
    rules.add([&tunables](const LateAnswer& answer, const Model& model, Verdict& verdict) {
        is_given_up(answer, model, verdict, tunables.bus_max_deliver);
    });
    rules.add([&tunables](const AtRest& rest, const Model& model, Verdict& verdict) {
        at_rest(rest, model, verdict, tunables);
    });
    rules.add([&tunables](const AllAtRest& rest, const Model& model, Verdict& verdict) {
        all_at_rest(rest, model, verdict, tunables);
    });
    rules.add<SumPublished>(no_more_is_told);
}

}  // namespace lockstep::sim::rules
