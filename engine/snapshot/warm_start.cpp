#include "engine/snapshot/warm_start.h"

#include <algorithm>

#include "engine/snapshot/redis_time.h"
#include "engine/snapshot/worker_snapshot.h"
#include "engine/store/keys.h"

namespace lockstep::engine {

namespace {

// Half the time to live, and three heartbeats of the usual 5 s.
static_assert(2 * kDefaultTunables.hydrated_worker_ttl == kDefaultTunables.worker_ttl);
static_assert(kDefaultTunables.hydrated_worker_ttl >= 3 * std::chrono::seconds{5});

/// Between two tries to read, while there is no connection yet or the server still loads its data.
constexpr Duration kRetryPause = std::chrono::milliseconds{100};

struct Stored {
    std::string text;  // empty: there is none
    WallTime now{};    // by the clock of Redis
};

/// The replies to GET and TIME.
tl::expected<Stored, std::string> stored_in(const std::vector<RedisValue>& replies) {
    for (const RedisValue& reply : replies) {
        if (const auto* error = reply.error()) return tl::make_unexpected(error->text);
    }
    return Stored{std::string(replies.at(0).text()), redis_time(replies.at(1))};
}

Task<tl::expected<Stored, std::string>> read_stored(const Context& context) {
    Clock& clock = context.ports.clock;
    const MonoTime deadline = clock.in(context.tunables.snapshot_read_timeout);
    while (true) {
        std::vector<RedisCommand> commands{{"GET", std::string(keys::kWorkerSnapshot)}, {"TIME"}};
        const auto replies = co_await context.ports.redis.pipeline(std::move(commands), deadline);
        auto stored = replies.applied() ? stored_in(replies.value())
                                        : tl::expected<Stored, std::string>(tl::unexpect, replies.failure().detail);
        if (stored || clock.in(kRetryPause) >= deadline) co_return stored;
        co_await clock.sleep(kRetryPause);
    }
}

/// How many workers were taken over.
std::size_t hydrate(const Context& context, Registry& registry, WorkerSnapshot snapshot, Duration age) {
    const MonoTime now = context.ports.clock.monotonic();
    const MonoTime until =
        std::min(now - age + context.tunables.worker_ttl, now + context.tunables.hydrated_worker_ttl);
    std::size_t taken = 0;
    for (Worker& worker : snapshot.workers) {
        if (registry.hydrate(std::move(worker), until, now)) ++taken;
    }
    return taken;
}

void start_cold(Log& log, std::string_view reason) {
    log.reached("cold_start");
    log.event(LogLevel::warn, "snapshot not usable, starting cold", {{"reason", reason}});
}

}  // namespace

Task<void> warm_start(const Context& context, Registry& registry) {
    Log& log = context.ports.log;
    const auto stored = co_await read_stored(context);
    if (!stored) {
        start_cold(log, stored.error());
        co_return;
    }
    if (stored->text.empty()) {
        log.event(LogLevel::info, "no snapshot found, starting cold");
        co_return;
    }
    auto snapshot = parse_worker_snapshot(stored->text);
    if (!snapshot) {
        start_cold(log, snapshot.error());
        co_return;
    }
    // A clock that was set back makes a snapshot look as if it were still to come.
    const Duration age = std::max(stored->now - snapshot->captured_at, Duration{0});
    if (!snapshot->workers.empty() && age > context.tunables.worker_ttl) {
        start_cold(log, "it is older than a worker's time to live");
        co_return;
    }
    const std::string writer = snapshot->writer_id;
    const std::size_t workers = hydrate(context, registry, std::move(*snapshot), age);
    if (workers > 0) log.reached("warm_start");
    log.event(LogLevel::info, "registry hydrated from snapshot", {{"workers", workers}, {"writer", writer}});
}

}  // namespace lockstep::engine
