#include "prod/ctl/overview.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/store/job_state.h"
#include "engine/store/keys.h"
#include "engine/wire/subjects.h"
#include "prod/ctl/text.h"
#include "prod/ctl/why.h"

namespace lockstep::prod {

namespace {

using nlohmann::json;

/// Places of workers; a worker without a limit has none to count.
struct Load {
    std::int64_t workers = 0;
    std::int64_t active = 0;
    std::int64_t capacity = 0;
};

std::map<std::string, Load> load_of_pools(const Overview& overview) {
    std::map<std::string, Load> pools;
    for (const auto& [id, worker] : overview.workers) {
        Load& load = pools[worker.pool];
        ++load.workers;
        load.active += worker.active;
        load.capacity += worker.capacity;
    }
    return pools;
}

json time_or_null(std::optional<Micros> time) {
    return time ? json(micros_as_time(std::to_string(*time))) : json(nullptr);
}

std::string messages_line(const char* what, const std::optional<MessagesWaiting>& messages) {
    if (!messages) return fmt::format("{}: nobody tells", what);
    return fmt::format("{}: {} not delivered yet, {} in hand", what, messages->waiting, messages->in_hand);
}

/// How many jobs have ended between two looks, a second; empty where that cannot be told.
std::string pace(const Overview& now, const Overview* before) {
    if (before == nullptr || now.at <= before->at || now.ended() < before->ended()) return {};
    const double seconds = static_cast<double>(now.at - before->at) / 1e6;
    return fmt::format("; {:.1f} end a second", static_cast<double>(now.ended() - before->ended()) / seconds);
}

}  // namespace

std::int64_t Overview::ended() const {
    std::int64_t sum = 0;
    for (const auto& [name, count] : jobs) {
        const auto state = engine::parse_job_state(name);
        if (state && engine::is_terminal(*state)) sum += count;
    }
    return sum;
}

engine::Task<std::optional<MessagesWaiting>> messages_waiting(Session& session, std::string subject) {
    if (!session.has_bus()) co_return std::nullopt;
    const auto state = co_await session.bus().consumer_state(
        std::string(engine::wire::kStreamSys), engine::wire::durable_name(engine::wire::kQueueScheduler, subject),
        session.deadline());
    if (!state.applied() || !state.value()) co_return std::nullopt;
    co_return MessagesWaiting{state.value()->waiting, state.value()->in_hand};
}

engine::Task<tl::expected<Overview, std::string>> read_overview(Session& session) {
    auto around = co_await read_surroundings(session);
    if (!around) co_return tl::make_unexpected(around.error());
    std::vector<engine::RedisCommand> commands;
    for (int i = 0; i < engine::kJobStateCount; ++i)
        commands.push_back({"ZCARD", engine::keys::state_index(static_cast<engine::JobState>(i))});
    const auto counts = co_await session.read_all(std::move(commands));
    if (!counts) co_return tl::make_unexpected(counts.error());
    Overview overview;
    overview.at = around->now;
    for (int i = 0; i < engine::kJobStateCount; ++i)
        overview.jobs.emplace_back(engine::to_string(static_cast<engine::JobState>(i)),
                                   counts.value()[static_cast<std::size_t>(i)].integer_or(0));
    if (around->snapshot_known) overview.snapshot_at = around->snapshot_at;
    overview.workers = std::move(around->workers);
    overview.submissions = co_await messages_waiting(session, std::string(engine::wire::kSubjectSubmit));
    overview.results = co_await messages_waiting(session, std::string(engine::wire::kSubjectResult));
    co_return overview;
}

json messages_json(const std::optional<MessagesWaiting>& messages) {
    if (!messages) return nullptr;
    return {{"waiting", messages->waiting}, {"in_hand", messages->in_hand}};
}

json overview_json(const Overview& overview) {
    json jobs = json::object();
    for (const auto& [state, count] : overview.jobs) jobs[state] = count;
    json workers = json::array();
    for (const auto& [id, worker] : overview.workers)
        workers.push_back({{"worker_id", id},
                           {"pool", worker.pool},
                           {"active_jobs", worker.active},
                           {"max_parallel_jobs", worker.capacity}});
    json pools = json::array();
    for (const auto& [pool, load] : load_of_pools(overview))
        pools.push_back({{"pool", pool},
                         {"workers", load.workers},
                         {"active_jobs", load.active},
                         {"max_parallel_jobs", load.capacity}});
    return {{"at", micros_as_time(std::to_string(overview.at))},
            {"jobs", std::move(jobs)},
            {"snapshot_at", time_or_null(overview.snapshot_at)},
            {"pools", std::move(pools)},
            {"workers", std::move(workers)},
            {"messages",
             {{"submissions", messages_json(overview.submissions)}, {"results", messages_json(overview.results)}}}};
}

std::string jobs_line(const Overview& overview) {
    std::string text;
    for (const auto& [state, count] : overview.jobs)
        if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, state);
    return text.empty() ? "none" : text;
}

std::string overview_text(const Overview& now, const Overview* before, std::size_t workers_max) {
    std::string text = fmt::format("jobs      {}{}\n", jobs_line(now), pace(now, before));
    text += fmt::format("messages  {}; {}\n", messages_line("submissions", now.submissions),
                        messages_line("results", now.results));
    if (!now.snapshot_at) return text + "workers   no scheduler has said who is there\n";
    text += fmt::format("workers   {}, as a scheduler saw them {} ago\n", now.workers.size(),
                        length(std::chrono::microseconds(now.at - *now.snapshot_at)));
    for (const auto& [pool, load] : load_of_pools(now))
        text += fmt::format("  pool {:<22} {:>4} {:<8} {:>5} of {} jobs\n", printable(pool), load.workers,
                            load.workers == 1 ? "worker" : "workers", load.active, load.capacity);
    using Worker = decltype(now.workers)::value_type;
    std::vector<const Worker*> busiest;
    for (const Worker& worker : now.workers) busiest.push_back(&worker);
    std::ranges::sort(busiest, [](const Worker* a, const Worker* b) {
        return std::tie(b->second.active, a->first) < std::tie(a->second.active, b->first);
    });
    if (busiest.size() > workers_max) busiest.resize(workers_max);
    for (const Worker* worker : busiest)
        text += fmt::format("  {:<27} {:<13} {:>5} of {} jobs\n", printable(worker->first),
                            printable(worker->second.pool), worker->second.active, worker->second.capacity);
    if (busiest.size() < now.workers.size())
        text += fmt::format("  and {} more\n", now.workers.size() - busiest.size());
    return text;
}

}  // namespace lockstep::prod
