#include "engine/saga/saga_store.h"

#include <fmt/core.h>

#include <utility>

#include "engine/store/keys.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {

namespace {

std::string millis(Duration duration) { return fmt::format("{}", to_millis(duration)); }

SagaStep parse_step(const RedisValue& reply) {
    const std::string_view word = reply.at(0).text();
    if (word == "entry") return {SagaStep::Kind::entry, std::string(reply.at(1).text())};
    if (word == "over") return {SagaStep::Kind::over, {}};
    if (word == "busy") return {SagaStep::Kind::busy, {}};
    return {SagaStep::Kind::lost, {}};
}

}  // namespace

SagaStore::SagaStore(Redis& redis, Clock& clock, const Tunables& tunables, const StoreScripts& scripts,
                     const Mechanisms& mechanisms)
    : redis_(redis),
      clock_(clock),
      tunables_(tunables),
      scripts_(scripts),
      atomic_(mechanisms.on(Mechanism::saga_atomicity)) {}

Task<Outcome<Done>> SagaStore::include(SagaEffect effect, Commit& commit) {
    if (!atomic_ && !effect.compensation.empty()) {
        RedisCommand push{"LPUSH", keys::saga_stack(effect.saga), std::exchange(effect.compensation, {})};
        const auto pushed = co_await redis_.command(std::move(push), deadline());
        if (!pushed.applied()) co_return pushed.failure_as<Done>();
        co_return Done{};
    }
    commit.saga = std::move(effect);
    co_return Done{};
}

Task<Outcome<std::vector<std::string>>> SagaStore::pending(std::int64_t limit) {
    RedisCommand range{"ZRANGE", std::string(keys::kSagasPending), "0", fmt::format("{}", limit - 1)};
    auto reply = co_await redis_.command(std::move(range), deadline());
    if (!reply.applied()) co_return reply.failure_as<std::vector<std::string>>();
    std::vector<std::string> sagas;
    if (const auto* elements = reply.value().array()) {
        for (const RedisValue& element : *elements) sagas.emplace_back(element.text());
    }
    co_return sagas;
}

Task<Outcome<SagaStep>> SagaStore::begin(SagaLock lock) { co_return co_await step(std::move(lock), "take", {}); }

Task<Outcome<SagaStep>> SagaStore::next(SagaLock lock, DealtWith done) {
    std::string mode = done.letter ? "bury" : "used";
    co_return co_await step(std::move(lock), std::move(mode), std::move(done));
}

Task<Outcome<SagaStep>> SagaStore::step(SagaLock lock, std::string mode, DealtWith done) {
    const std::string stack = keys::saga_stack(lock.saga);
    std::string head = done.letter ? dead_letter_head(*done.letter, clock_.now()) : std::string{};
    std::string id = done.letter ? done.letter->id : std::string{};
    auto reply = co_await redis_.script(
        scripts_.saga_next, {keys::saga_lock(lock.saga), stack, std::string(keys::kSagasPending)},
        {std::move(lock.saga), std::move(lock.token), std::move(mode), millis(tunables_.saga_lock_ttl),
         std::move(done.entry), std::move(id), std::move(head), millis(tunables_.dlq_entry_ttl),
         fmt::format("{}", tunables_.dlq_max_size)},
        deadline());
    if (!reply.applied()) co_return reply.failure_as<SagaStep>();
    SagaStep next = parse_step(reply.value());
    if (!atomic_ && next.kind == SagaStep::Kind::entry) {
        RedisCommand pop{"LREM", stack, "1", next.entry};
        const auto popped = co_await redis_.command(std::move(pop), deadline());
        if (!popped.applied()) co_return popped.failure_as<SagaStep>();
    }
    co_return next;
}

Task<void> SagaStore::release(SagaLock lock) {
    if (lock.token.empty()) co_return;
    const auto released = co_await redis_.script(scripts_.release_lock, {keys::saga_lock(lock.saga)},
                                                 {std::move(lock.token)}, deadline());
    if (!released.applied()) co_return;
}

}  // namespace lockstep::engine
