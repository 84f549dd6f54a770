#include "engine/announce/dead_letters.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/announce/output_audit.h"
#include "engine/runtime/turn_budget.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

namespace {

constexpr Duration kSecondTry = std::chrono::milliseconds{500};
/// Younger entries belong to a handler that is still announcing them.
constexpr Duration kSweepAge = std::chrono::seconds{30};
static_assert(kSecondTry + 2 * kDefaultTunables.publish_timeout < kSweepAge);
constexpr std::int64_t kSweepPage = 200;
/// How long messages without a packet are counted before their sum is told (D-01).
constexpr Duration kSumAge = std::chrono::minutes{1};
/// Letters that are remembered as counted. Beyond it some are counted twice: the bus has been away for long.
constexpr std::size_t kCountedMax = 10'000;
/// Announcements under way that nobody waits for.
constexpr std::size_t kAsideMax = 16;

}  // namespace

Task<void> DeadLetters::announce(DeadLetter letter) {
    bool sent = co_await tell(letter);
    if (!sent) {
        co_await context_.ports.clock.sleep(kSecondTry);
        sent = co_await tell(letter);
    }
    co_await note(std::move(letter), sent);
}

void DeadLetters::announce_aside(DeadLetter letter) {
    if (aside_.size() < kAsideMax) aside_.spawn(announce(std::move(letter)));
}

Task<void> DeadLetters::note(DeadLetter letter, bool sent) {
    if (!sent) {
        if (counted_.contains(letter.id)) co_return;
        if (counted_.size() >= kCountedMax) counted_.clear();
        counted_.insert(letter.id);
        context_.ports.metrics.add(Metric::dlq_emit_failures, {letter.topic});
        context_.ports.log.event(LogLevel::error, "dead letter not announced, will be tried again",
                                 {{"id", letter.id}, {"reason_code", letter.reason_code}});
        context_.ports.log.reached("dead_letter_left_in_outbox");
        co_return;
    }
    counted_.erase(letter.id);
    // Left in the outbox after all, it would only be announced a second time.
    const auto struck = co_await store_.sent(letter.id);
    if (!struck.applied()) context_.ports.log.reached("dead_letter_announced_but_not_struck");
}

Task<bool> DeadLetters::tell(DeadLetter letter) {
    std::string id = wire::message_id(dead_letter_packet(letter, context_.ports.clock.now()), wire::kSubjectDlq);
    co_return co_await publish(std::move(letter), std::move(id));
}

Task<bool> DeadLetters::tell_meanwhile(DeadLetter letter) {
    // Under the id of the job's own letter the stream would take that one, a moment later, for a repetition of this.
    std::string id = fmt::format("{}:{}:{}", wire::kSubjectDlq, letter.reason_code, letter.id);
    co_return co_await publish(std::move(letter), std::move(id));
}

Task<bool> DeadLetters::publish(DeadLetter letter, std::string message_id) {
    const cap::BusPacket packet = dead_letter_packet(letter, context_.ports.clock.now());
    const auto published = co_await context_.ports.bus.publish(
        std::string(wire::kSubjectDlq), wire::serialise(packet), std::move(message_id),
        context_.ports.clock.in(context_.tunables.publish_timeout));
    bool audited = true;
    if (tells_of_output(letter)) audited = co_await audit_withheld(context_, std::move(letter));
    // *unknown* counts as failed: a second copy of a dead letter does no harm, a missing one does.
    co_return published.applied() && audited;
}

Task<void> DeadLetters::sweep() {
    co_await sweep_undecodable();
    auto letters = co_await store_.unsent(kSweepAge, kSweepPage, put_off_);
    if (!letters.applied()) co_return;
    put_off_.clear();
    TurnBudget budget(context_.tunables.publish_timeout);
    bool some_left = static_cast<std::int64_t>(letters.value().size()) >= kSweepPage;
    std::vector<std::string> failed;
    for (const DeadLetter& letter : letters.value()) {
        if (!budget.allows_another(context_.ports.clock.monotonic())) {
            some_left = true;
            break;
        }
        context_.ports.log.reached("dead_letter_swept");
        const bool sent = co_await tell(letter);
        if (!sent) failed.push_back(letter.id);
        co_await note(letter, sent);
    }
    // The next sweep begins with those that had no turn in this one.
    if (some_left) put_off_ = std::move(failed);
}

Task<void> DeadLetters::sweep_undecodable() {
    auto sums = co_await store_.undecodable_sums(kSumAge, {});
    if (!sums.applied() || sums.value().empty()) co_return;
    std::ranges::sort(sums.value(), {}, &UndecodableSum::name);
    std::ranges::rotate(sums.value(), std::ranges::upper_bound(sums.value(), last_sum_, {}, &UndecodableSum::name));
    TurnBudget budget(context_.tunables.publish_timeout);
    std::vector<UndecodableSum> told;
    for (const UndecodableSum& sum : sums.value()) {
        if (!budget.allows_another(context_.ports.clock.monotonic())) break;
        last_sum_ = sum.name;
        context_.ports.log.reached("undecodable_summed_up");
        // With its value, in which its time stands: the next sum is no repetition of this one, and a second telling of this one is.
        DeadLetter letter = letter_of(sum);
        std::string id = fmt::format("{}:{}:{}", wire::kSubjectDlq, letter.id, sum.value);
        const bool published = co_await publish(std::move(letter), std::move(id));
        if (published) told.push_back(sum);
    }
    const auto struck = co_await store_.undecodable_sums(kSumAge, std::move(told));
    if (!struck.applied()) context_.ports.log.reached("dead_letter_announced_but_not_struck");
}

}  // namespace lockstep::engine
