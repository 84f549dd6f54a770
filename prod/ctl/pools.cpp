#include "prod/ctl/pools.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/config/start_document.h"
#include "engine/store/keys.h"
#include "engine/store/scripts.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/rfc3339.h"
#include "engine/wire/subjects.h"
#include "prod/ctl/document.h"
#include "prod/ctl/pool_status.h"
#include "prod/ctl/text.h"
#include "prod/ctl/why.h"

namespace lockstep::prod {

namespace {

namespace wire = engine::wire;

constexpr const char* kAnnouncer = "api-gateway";
/// Writers of the document are schedulers that start and people: whoever loses so often has met a writer that never rests.
constexpr int kWritesMax = 20;
constexpr auto kDrainLookPause = std::chrono::milliseconds(200);
constexpr std::size_t kJobsAtATime = 500;

/// Writes the change where it is one; what has been written, or stands there already.
engine::Task<tl::expected<PoolChange, CommandError>> write_status(Session& session, std::string pool,
                                                                  engine::PoolStatus status) {
    const engine::StoreScripts scripts;
    const std::string key(engine::kSystemDocument);
    for (int attempt = 0; attempt < kWritesMax; ++attempt) {
        std::vector<engine::RedisCommand> commands{{"GET", key}};
        const auto stored = co_await session.read_all(std::move(commands));
        if (!stored) co_return tl::make_unexpected(CommandError{kFailed, stored.error()});
        std::string before(stored.value()[0].text());
        auto change = change_pool_status(before, pool, status, session.clock().now());
        if (!change || change->document.empty()) co_return change;
        std::vector<std::string> keys{key};
        std::vector<std::string> texts{std::move(before), change->document};
        const auto written = co_await session.redis().script(scripts.replace_document, std::move(keys),
                                                             std::move(texts), session.deadline());
        if (written.applied() && written.value().integer_or(0) == 1) co_return change;
        // Where the answer was lost, the next look tells whether it was written.
        if (!written.applied() && written.kind() != engine::OutcomeKind::unknown)
            co_return tl::make_unexpected(CommandError{kFailed, written.failure().detail});
    }
    co_return tl::make_unexpected(
        CommandError{kFailed, fmt::format("{} is written by somebody all the time; try again", key)});
}

/// Empty: the schedulers have been told.
engine::Task<std::string> announce(Session& session) {
    if (!session.has_bus()) co_return std::string();  // it has been said already
    cap::SystemAlert alert;
    alert.set_message("config changed");
    alert.set_level("INFO");
    alert.set_severity(cap::ALERT_SEVERITY_INFO);
    alert.set_component(kAnnouncer);
    alert.set_source_component(kAnnouncer);
    auto& details = *alert.mutable_details();
    details["scope"] = "system";
    details["scope_id"] = "default";
    details["changed_at"] = wire::rfc3339(session.clock().now());
    const auto packet =
        wire::make_packet(std::move(alert), session.entropy().uuid(), kAnnouncer, session.clock().now());
    const auto told =
        co_await session.bus().publish_core(std::string(wire::kSubjectConfigChanged), wire::serialise(packet));
    co_return told.applied() ? std::string() : told.failure().detail;
}

/// What a pool's workers are at, as Redis has it.
struct InHand {
    Micros at = 0;
    std::optional<Micros> snapshot_at;
    std::int64_t workers = 0;
    std::int64_t jobs = 0;  // by the records of jobs or by what workers say, whichever is more
};

engine::Task<tl::expected<InHand, std::string>> look_at(Session& session, std::string pool) {
    const auto around = co_await read_surroundings(session);
    if (!around) co_return tl::make_unexpected(around.error());
    InHand in_hand{.at = around->now, .snapshot_at = {}, .workers = 0, .jobs = 0};
    if (around->snapshot_known) in_hand.snapshot_at = around->snapshot_at;
    std::int64_t said = 0;
    for (const auto& [id, worker] : around->workers) {
        if (worker.pool != pool) continue;
        ++in_hand.workers;
        said += worker.active;
    }
    std::vector<engine::RedisCommand> lists;
    for (const auto state : {engine::JobState::scheduled, engine::JobState::dispatched, engine::JobState::running})
        lists.push_back({"ZRANGE", engine::keys::state_index(state), "0", "-1"});
    const auto listed = co_await session.read_all(std::move(lists));
    if (!listed) co_return tl::make_unexpected(listed.error());
    std::vector<engine::RedisCommand> asks;
    for (const auto& list : listed.value())
        if (const auto* jobs = list.array())
            for (const auto& job : *jobs)
                asks.push_back({"HGET", engine::keys::job_meta(engine::JobId(std::string(job.text()))), "ls_worker"});
    for (std::size_t from = 0; from < asks.size(); from += kJobsAtATime) {
        const auto first = asks.begin() + static_cast<std::ptrdiff_t>(from);
        const auto last = asks.begin() + static_cast<std::ptrdiff_t>(std::min(asks.size(), from + kJobsAtATime));
        std::vector<engine::RedisCommand> page(first, last);
        const auto holders = co_await session.read_all(std::move(page));
        if (!holders) co_return tl::make_unexpected(holders.error());
        for (const auto& holder : holders.value()) {
            const auto worker = around->workers.find(holder.text());
            if (worker != around->workers.end() && worker->second.pool == pool) ++in_hand.jobs;
        }
    }
    in_hand.jobs = std::max(in_hand.jobs, said);
    co_return in_hand;
}

/// Whether the pool has nothing in hand any more, by a snapshot of workers that is younger than the change: an older one does not
/// tell of what was sent to them last.
bool is_drained(const InHand& now, Micros changed_at) {
    return now.jobs == 0 && now.snapshot_at && *now.snapshot_at > changed_at;
}

void print_pool(const PoolOptions& options, const PoolChange& change, const InHand& in_hand, bool drained) {
    const std::string pool = printable(options.pool);
    fmt::print("pool {} {} {}\n", pool, change.document.empty() ? "was already" : "is now", to_string(options.status));
    if (options.status == engine::PoolStatus::active) return;
    if (!change.without_pool.empty())
        fmt::print("no pool is left for {}: such jobs find none (no_pool_mapping) until one is resumed\n",
                   printable(fmt::format("{}", fmt::join(change.without_pool, ", "))));
    if (drained)
        fmt::print("it is empty: none of its {} workers has a job\n", in_hand.workers);
    else
        fmt::print("its {} workers have {} jobs in hand\n", in_hand.workers, in_hand.jobs);
}

void print_pool_json(const PoolOptions& options, const PoolChange& change, const InHand& in_hand, bool drained) {
    fmt::print("{}", document_line({{"pool", options.pool},
                                    {"status", to_string(options.status)},
                                    {"changed", !change.document.empty()},
                                    {"revision", change.revision},
                                    {"topics_without_pool", change.without_pool},
                                    {"workers", in_hand.workers},
                                    {"jobs_in_hand", in_hand.jobs},
                                    {"drained", drained}}));
}

}  // namespace

engine::Task<int> set_pool_status(Session& session, PoolOptions options) {
    const auto change = co_await write_status(session, options.pool, options.status);
    if (!change) co_return complain(change.error().exit_code, change.error().message);
    const std::string untold = co_await announce(session);
    if (!untold.empty())
        (void)complain(kDone, fmt::format("it is written, but nobody could be told ({}); schedulers find it within "
                                          "SCHEDULER_CONFIG_RELOAD_INTERVAL",
                                          untold));
    const engine::MonoTime limit = session.clock().in(options.wait_limit);
    auto in_hand = co_await look_at(session, options.pool);
    const Micros changed_at = in_hand ? in_hand->at : 0;
    const bool drains = options.status != engine::PoolStatus::active;
    while (drains && options.wait && in_hand && !is_drained(*in_hand, changed_at) &&
           session.clock().monotonic() < limit) {
        co_await session.clock().sleep(kDrainLookPause);
        in_hand = co_await look_at(session, options.pool);
    }
    if (!in_hand) co_return complain(kFailed, in_hand.error());
    const bool drained = drains && is_drained(*in_hand, changed_at);
    if (options.json)
        print_pool_json(options, *change, *in_hand, drained);
    else
        print_pool(options, *change, *in_hand, drained);
    co_return drains&& options.wait && !drained ? kEndedBadly : kDone;
}

}  // namespace lockstep::prod
