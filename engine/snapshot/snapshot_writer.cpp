#include "engine/snapshot/snapshot_writer.h"

#include <algorithm>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/runtime/millis.h"
#include "engine/snapshot/redis_time.h"
#include "engine/snapshot/worker_snapshot.h"
#include "engine/store/keys.h"

namespace lockstep::engine {

namespace {

// What a replica that dies with the lock can do to the others.
static_assert(kDefaultTunables.snapshot_lock_ttl + kDefaultTunables.snapshot_interval <= std::chrono::seconds{15});

std::string snapshot_key() { return std::string(keys::kWorkerSnapshot); }

}  // namespace

Task<void> SnapshotWriter::run() {
    while (true) {
        co_await context_.ports.clock.sleep(context_.tunables.snapshot_interval);
        co_await take_turn();
    }
}

Task<void> SnapshotWriter::take_turn() {
    if (context_.mechanisms.on(Mechanism::snapshot_lock)) {
        co_await write_under_lock();
    } else {
        co_await write_unguarded();
    }
}

Task<void> SnapshotWriter::write_under_lock() {
    // A token whose request was never answered is asked for again: its lock, should it be ours, would keep everybody waiting.
    if (!lease_)
        lease_.emplace(leases_.ports(), std::string(keys::kSnapshotWriterLock), Token(context_.ports.entropy.uuid()),
                       LeaseTerms{.life = context_.tunables.snapshot_lock_ttl, .answer_within = answer_within()});
    const MonoTime asked = context_.ports.clock.monotonic();
    lease_->asking();
    const auto taken =
        co_await context_.ports.redis.script(scripts_.take_snapshot_lock, {lease_->key()},
                                             {lease_->token().text(), millis(lease_->terms().life)}, deadline());
    if (!taken.applied()) {
        note_failure("snapshot lock not taken", taken.failure());
        co_return;
    }
    if (taken.value().is_nil()) {
        lease_->refused();
        lease_.reset();
        context_.ports.log.event(LogLevel::debug, "another replica writes the snapshot");
        co_return;
    }
    lease_->begin(asked);
    co_await store(snapshot(redis_time(taken.value())));
}

Task<void> SnapshotWriter::store(std::string snapshot) {
    PRECONDITION(lease_.has_value(), "a snapshot of {} bytes is stored without a lock", snapshot.size());
    const auto stored = co_await context_.ports.redis.script(
        scripts_.write_snapshot, {snapshot_key(), lease_->key()},
        {lease_->token().text(), std::move(snapshot), millis(context_.tunables.data_ttl)}, deadline());
    if (!stored.applied()) {
        note_failure("snapshot not stored", stored.failure());
        // Should the write still be on its way, then without its lock it is refused.
        co_await lease_->release();
        lease_.reset();
        co_return;
    }
    lease_->end();
    lease_.reset();
    failing_ = false;
    if (stored.value().integer_or(0) == 1) co_return;
    context_.ports.log.reached("snapshot_lock_lost");
    context_.ports.log.event(LogLevel::info, "snapshot not stored: its lock was lost");
}

Task<void> SnapshotWriter::write_unguarded() {
    RedisCommand set{"SET", snapshot_key(), snapshot(context_.ports.clock.now()), "PX",
                     millis(context_.tunables.data_ttl)};
    const auto stored = co_await context_.ports.redis.command(std::move(set), deadline());
    if (!stored.applied()) note_failure("snapshot not stored", stored.failure());
}

std::string SnapshotWriter::snapshot(WallTime captured_at) const {
    return worker_snapshot_json(registry_, *routing_, writer_id_, captured_at, context_.ports.clock.monotonic());
}

Duration SnapshotWriter::answer_within() const {
    return std::min(context_.tunables.store_op_timeout, context_.tunables.snapshot_lock_ttl / 4);
}

void SnapshotWriter::note_failure(std::string_view what, const Failure& failure) {
    // Once per outage: the next turn is only seconds away.
    const LogLevel level = std::exchange(failing_, true) ? LogLevel::debug : LogLevel::warn;
    context_.ports.log.event(level, what, {{"error", failure.detail}});
}

}  // namespace lockstep::engine
