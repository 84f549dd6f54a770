#include "engine/rollback/saga_store.h"

#include <fmt/core.h>

#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/saga/keys.h"
#include "engine/store/script_arguments.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {

namespace {

/// Names that one look goes over.
constexpr std::int64_t kNamesMax = 10'000;

SagaStep parse_step(const RedisValue& reply) {
    const std::string_view word = reply.at(0).text();
    if (word == "entry" || word == "old")
        return {SagaStep::Kind::entry,
                std::string(reply.at(1).text()),
                word == "old",
                {reply.at(2).integer_or(0), reply.at(3).integer_or(0)}};
    if (word == "over") return {SagaStep::Kind::over};
    if (word == "busy") return {SagaStep::Kind::busy};
    return {SagaStep::Kind::lost};
}

}  // namespace

SagaStore::SagaStore(Redis& redis, Clock& clock, const Tunables& tunables, const StoreScripts& scripts,
                     const Mechanisms& mechanisms)
    : redis_(redis),
      clock_(clock),
      tunables_(tunables),
      scripts_(scripts),
      atomic_(mechanisms.on(Mechanism::saga_atomicity)),
      by_tenant_(mechanisms.on(Mechanism::rollback_tenant)) {}

SagaName SagaStore::meant(SagaName saga) const {
    if (by_tenant_) return saga;
    return {SagaName::Kind::shared, {}, std::move(saga.id)};
}

Task<Outcome<Done>> SagaStore::include(SagaEffect effect, Commit& commit) {
    effect.saga = meant(std::move(effect.saga));
    if (!atomic_ && !effect.compensation.empty()) {
        RedisCommand push{"LPUSH", effect.saga.stack(), std::exchange(effect.compensation, {})};
        const auto pushed = co_await redis_.command(std::move(push), deadline());
        if (!pushed.applied()) co_return pushed.failure_as<Done>();
        if (effect.saga.kind != SagaName::Kind::run) co_return Done{};
        RedisCommand expire{"PEXPIRE", effect.saga.stack(), fmt::format("{}", to_millis(tunables_.job_meta_ttl))};
        const auto expires = co_await redis_.command(std::move(expire), deadline());
        if (!expires.applied()) co_return expires.failure_as<Done>();
        co_return Done{};
    }
    commit.saga = std::move(effect);
    co_return Done{};
}

Task<Outcome<std::vector<SagaName>>> SagaStore::pending(std::int64_t limit) {
    PRECONDITION(limit > 0, "{} sagas at most", limit);
    std::vector<SagaName> sagas;
    // What this version cannot read stays where it stands: another may, and behind it are others.
    for (std::int64_t from = 0; std::ssize(sagas) < limit && from < kNamesMax; from += limit) {
        std::vector<RedisCommand> ranges;
        for (const std::string_view list : {keys::kSagasOwed, keys::kSagasPending})
            ranges.push_back(
                {"ZRANGE", std::string(list), fmt::format("{}", from), fmt::format("{}", from + limit - 1)});
        auto reply = co_await redis_.pipeline(std::move(ranges), deadline());
        if (!reply.applied()) co_return reply.failure_as<std::vector<SagaName>>();
        const auto* names = reply.value().at(0).array();
        const auto* ids = reply.value().at(1).array();
        // In turns: of one list those that nobody can finish may be more than are begun at once.
        for (std::size_t i = 0; i < static_cast<std::size_t>(limit); ++i) {
            if (names != nullptr && i < names->size())
                if (auto saga = SagaName::parse((*names)[i].text())) sagas.push_back(std::move(*saga));
            if (ids != nullptr && i < ids->size())
                sagas.push_back({SagaName::Kind::shared, {}, std::string((*ids)[i].text())});
        }
        if (names == nullptr || std::ssize(*names) < limit) break;
    }
    co_return sagas;
}

Task<Outcome<std::int64_t>> SagaStore::keep_recorded(std::int64_t limit) {
    PRECONDITION(limit > 0, "{} sagas at most", limit);
    const auto reply = co_await redis_.script(
        scripts_.saga_keep, {std::string(keys::kSagasKept)},
        {fmt::format("{}", to_millis(tunables_.job_meta_ttl)), fmt::format("{}", limit)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<std::int64_t>();
    co_return reply.value().integer_or(0);
}

Task<Outcome<SagaStep>> SagaStore::begin(const SagaName& saga, Lease& lease) {
    const bool locked = !lease.token().empty();
    const MonoTime asked = clock_.monotonic();
    if (locked) lease.asking();
    auto taken = co_await step(saga, lease, "take", {});
    if (taken.kind() == OutcomeKind::not_applied) lease.refused();  // nothing to give back
    if (!taken.applied()) co_return taken;
    switch (taken.value().kind) {
        case SagaStep::Kind::entry:
            if (locked) lease.begin(asked);
            break;
        case SagaStep::Kind::busy: lease.refused(); break;
        case SagaStep::Kind::over:
        case SagaStep::Kind::lost: lease.end(); break;
    }
    co_return taken;
}

Task<Outcome<SagaStep>> SagaStore::next(const SagaName& saga, Lease& lease, DealtWith done) {
    std::string mode = done.letter ? "bury" : "used";
    auto looked = co_await step(saga, lease, std::move(mode), std::move(done));
    if (looked.applied() && looked.value().kind != SagaStep::Kind::entry) lease.end();
    co_return looked;
}

Task<Outcome<SagaStep>> SagaStore::step(const SagaName& saga, Lease& lease, std::string step, DealtWith done) {
    const std::string stack = saga.stack();
    const SagaName before{SagaName::Kind::old_run, saga.tenant, saga.id};
    ScriptArguments arguments;
    arguments.text("saga", saga.owed_as())
        .text("token", lease.token().text())
        .text("step", std::move(step))
        .duration_or_zero("lock_ttl_ms", lease.terms().life)
        .duration_or_zero("records_ttl_ms", tunables_.job_meta_ttl)
        .text("entry", std::move(done.entry));
    if (done.letter)
        arguments.text("dead_letter_id", done.letter->id)
            .text("dead_letter", dead_letter_head(*done.letter, clock_.now()))
            .duration_or_zero("dead_letter_ttl_ms", tunables_.dlq_entry_ttl)
            .number_or_zero("dead_letters_kept", tunables_.dlq_max_size);
    if (saga.among_others()) arguments.text("of_tenant", saga.tenant);
    if (saga.kind == SagaName::Kind::old_run) arguments.text("of_run", saga.id);
    if (saga.kind == SagaName::Kind::workflow)
        arguments.duration_or_zero("others_after_ms", tunables_.saga_entry_max_age);
    if (saga.kind == SagaName::Kind::run)  // what an older version has recorded for it comes next
        arguments.text("next_saga", before.owed_as()).text("next_stack", before.stack());
    auto reply =
        co_await redis_.script(scripts_.saga_next, {lease.key(), stack, std::string(saga.owed_in()), saga.in_hand()},
                               std::move(arguments).argv(), deadline());
    if (!reply.applied()) co_return reply.failure_as<SagaStep>();
    SagaStep next = parse_step(reply.value());
    if (!atomic_ && next.kind == SagaStep::Kind::entry) {
        RedisCommand pop{"LREM", stack, "1", next.entry};
        const auto popped = co_await redis_.command(std::move(pop), deadline());
        if (!popped.applied()) co_return popped.failure_as<SagaStep>();
    }
    co_return next;
}

}  // namespace lockstep::engine
