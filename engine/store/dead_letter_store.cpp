#include "engine/store/dead_letter_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "engine/runtime/invariant.h"
#include "engine/runtime/millis.h"
#include "engine/store/keys.h"
#include "engine/store/replies.h"

namespace lockstep::engine {

Task<Outcome<Done>> DeadLetterStore::put(DeadLetter letter) {
    PRECONDITION(!letter.id.empty(), "a letter about nothing: {}", letter.reason_code);
    auto reply = co_await redis_.script(scripts_.put_dead_letter, {},
                                        {letter.id, dead_letter_head(letter, clock_.now()),
                                         millis(tunables_.dlq_entry_ttl), fmt::format("{}", tunables_.dlq_max_size)},
                                        deadline());
    if (!reply.applied()) co_return reply.failure_as<Done>();
    co_return Done{};
}

Task<Outcome<Done>> DeadLetterStore::bury_undecodable(DeadLetter letter, std::string stream, StreamSequence sequence) {
    std::vector<std::string> keys{std::string(keys::kUndecodable), std::string(keys::kUndecodableSums)};
    std::vector<std::string> arguments{letter.id,
                                       dead_letter_head(letter, clock_.now()),
                                       millis(tunables_.dlq_entry_ttl),
                                       fmt::format("{}", tunables_.dlq_undecodable_max_size),
                                       fmt::format("{} {}", stream, letter.topic),
                                       fmt::format("{}", sequence)};
    auto reply = co_await redis_.script(scripts_.bury_undecodable, std::move(keys), std::move(arguments), deadline());
    if (!reply.applied()) co_return reply.failure_as<Done>();
    co_return Done{};
}

Task<Outcome<std::vector<UndecodableSum>>> DeadLetterStore::undecodable_sums(Duration age,
                                                                             std::vector<UndecodableSum> told) {
    std::vector<std::string> arguments{millis(age)};
    for (const UndecodableSum& sum : told) {
        arguments.push_back(sum.name);
        arguments.push_back(sum.value);
    }
    std::vector<std::string> keys{std::string(keys::kUndecodableSums)};
    auto reply = co_await redis_.script(scripts_.undecodable_sums, std::move(keys), std::move(arguments), deadline());
    if (!reply.applied()) co_return reply.failure_as<std::vector<UndecodableSum>>();
    std::vector<UndecodableSum> sums;
    const std::vector<std::string> page = texts(reply.value());
    for (std::size_t i = 0; i + 1 < page.size(); i += 2) {
        if (auto sum = parse_undecodable_sum(page[i], page[i + 1])) sums.push_back(std::move(*sum));
    }
    co_return sums;
}

Task<Outcome<bool>> DeadLetterStore::repair(DeadLetter letter, JobState state) {
    PRECONDITION(is_terminal(state), "job {} has not ended: it is {}", letter.id, to_string(state));
    const std::string head = dead_letter_head(letter, clock_.now());
    auto reply = co_await redis_.script(scripts_.repair_dead_letter, {keys::job_meta(JobId(letter.id))},
                                        {letter.id, std::string(to_string(state)), head,
                                         millis(tunables_.dlq_entry_ttl), fmt::format("{}", tunables_.dlq_max_size)},
                                        deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    co_return reply.value().integer_or(0) == 1;
}

Task<Outcome<std::vector<DeadLetter>>> DeadLetterStore::unsent(Duration age, std::int64_t limit,
                                                               std::vector<std::string> put_off) {
    PRECONDITION(limit > 0, "{} letters at most", limit);
    std::vector<std::string> arguments{millis(age), fmt::format("{}", limit)};
    std::ranges::move(put_off, std::back_inserter(arguments));
    auto reply =
        co_await redis_.script(scripts_.outbox_page, {std::string(keys::kOutbox)}, std::move(arguments), deadline());
    if (!reply.applied()) co_return reply.failure_as<std::vector<DeadLetter>>();
    std::vector<DeadLetter> letters;
    if (const auto* elements = reply.value().array()) {
        for (std::size_t i = 0; i + 1 < elements->size(); i += 2) {
            if (auto letter = parse_dead_letter((*elements)[i + 1].text())) letters.push_back(std::move(*letter));
        }
    }
    co_return letters;
}

Task<Outcome<Done>> DeadLetterStore::sent(std::string id) {
    RedisCommand remove{"ZREM", std::string(keys::kOutbox), std::move(id)};
    auto reply = co_await redis_.command(std::move(remove), deadline());
    if (!reply.applied()) co_return reply.failure_as<Done>();
    co_return Done{};
}

}  // namespace lockstep::engine
