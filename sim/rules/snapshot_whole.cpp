// The worker snapshot in Redis always parses, and is at most 20 s old, plus one operation, while a live replica reaches Redis
// (redis-schema.md 6).
//
// 1. A replica reaches Redis as the model says (sim/model/replica.h). It owes a fresh snapshot once it has reached Redis for as long as
//    a snapshot may be old.
// 2. The age counts from `captured_at`, by the clock of Redis at the moment of the write. A snapshot that Redis lost, or that a fault
//    changed, is owed anew from then on, and so is one whose writer's call got no answer.
// 3. No snapshot replaces one that was captured later, unless a clock was set; and none is written by one replica while another one holds
//    the writer's lock.
#include <chrono>

#include "sim/rules/rules.h"
#include "sim/spec/snapshot_age.h"

namespace lockstep::sim::rules {

namespace {

/// Judges the age of the snapshot as long as one replica reaches Redis, each time that it may have become too old.
struct SnapshotAge {
    const engine::Tunables* tunables;
    fakes::NodeId replica;
    Since reached;  // Redis, since then
    Time due{};

    void begin(Verdict& verdict) {
        due = reached.at + spec::snapshot_age_max(0, *tunables) + engine::Duration{1};
        verdict.expect_by(due, *this);
    }
    void operator()(const Model& model, Verdict& verdict) const {
        const Time now = model.now();
        if (now < due || model.redis_reached_by(replica).event != reached.event) return;
        const StoredSnapshot& snapshot = model.snapshot();
        const Time captured = spec::captured(snapshot, *tunables);
        // A lock lasts longer by as much as the clock of Redis was set back.
        const bool may_last = model.clocks_jumped();
        const Time owed_since =
            std::max({captured, reached.at, may_last ? snapshot.unlocked : Time{}, snapshot.failed});
        const auto allowed = [&](int locks) { return owed_since + spec::snapshot_age_max(locks, *tunables); };
        const bool is_locked = may_last && spec::is_lock_being_lost(snapshot, now, *tunables);
        const bool in_time = is_locked || now <= allowed(spec::locks_lost(snapshot, now, *tunables));
        verdict.require(in_time, snapshot.changed.event,
                        "the worker snapshot is {} ms old, and this replica has reached Redis for {} ms",
                        engine::to_millis(now - captured), engine::to_millis(now - reached.at));
        if (!in_time) return;
        SnapshotAge next = *this;
        next.due = allowed(snapshot.locks_lost) + engine::Duration{1};
        // The holder of a lock that seems lost may still give it back.
        if (next.due <= now) next.due = now + std::chrono::seconds{1};
        verdict.expect_by(next.due, next);
    }
};

void is_whole(const SnapshotWritten& written, const Model& model, Verdict& verdict) {
    const StoredSnapshot& before = written.before;
    const SnapshotText& text = model.snapshot().text;
    const bool is_lock_kept = !before.lock_holder.valid() || before.lock_holder == written.node;
    verdict.exercised(before.locks_lost > 0);
    verdict.exercised(before.writer.valid() && before.writer != written.node);
    verdict.require(is_lock_kept, before.locked.event,
                    "the worker snapshot is written by one replica while another holds its lock");
    verdict.require(text.flaw.empty(), 0, "the worker snapshot is not whole: {}", text.flaw);
    if (!text.captured_at || model.clocks_were_set()) return;
    verdict.require(*text.captured_at >= before.latest, before.changed.event,
                    "the worker snapshot replaces one that was captured {} s after it",
                    (before.latest - *text.captured_at).count());
}

}  // namespace

void snapshot_whole(Rules& rules, const engine::Tunables& tunables) {
    rules.add(is_whole);
    rules.add([&tunables](const RedisReached& reached, const Model&, Verdict& verdict) {
        SnapshotAge{&tunables, reached.node, {reached.event, reached.at}}.begin(verdict);
    });
}

}  // namespace lockstep::sim::rules
