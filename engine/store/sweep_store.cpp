#include "engine/store/sweep_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "engine/runtime/invariant.h"
#include "engine/runtime/millis.h"
#include "engine/runtime/span.h"
#include "engine/store/dead_letter.h"
#include "engine/store/delays.h"
#include "engine/store/keys.h"
#include "engine/store/replies.h"
#include "engine/store/script_arguments.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {

namespace {

void require_limit(std::int64_t limit) { PRECONDITION(limit > 0, "{} members at most", limit); }

bool is_lost(const RedisValue& reply) { return reply.at(0).text() == "lost"; }

}  // namespace

Task<Outcome<OverduePage>> SweepStore::stale_jobs(TickLock lock, std::string index, Duration age, std::int64_t skipped,
                                                  std::int64_t limit) {
    require_limit(limit);
    auto reply = co_await redis_.script(
        scripts_.stale_jobs, {std::move(lock.key), std::move(index)},
        {std::move(lock.token).text(), millis(age), fmt::format("{}", skipped), fmt::format("{}", limit)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<OverduePage>();
    OverduePage page;
    page.lost = is_lost(reply.value());
    if (const auto* elements = reply.value().array()) {
        for (std::size_t i = 1; i + 3 < elements->size(); i += 4)
            page.jobs.push_back({{JobId((*elements)[i].text()), std::string((*elements)[i + 1].text())},
                                 parse_job_state((*elements)[i + 2].text()),
                                 Duration{0},
                                 bounded(std::chrono::milliseconds((*elements)[i + 3].integer_or(0)))});
    }
    co_return page;
}

Task<Outcome<OverduePage>> SweepStore::overdue_page(TickLock lock, JobState state, StayLimits limits, std::string after,
                                                    std::int64_t limit) {
    require_limit(limit);
    Duration shortest = limits.otherwise;
    std::vector<std::string> each;
    for (const auto* map : {&limits.by_topic, &limits.by_workflow}) {
        for (const auto& [name, stay] : *map) {
            shortest = std::min(shortest, stay);
            each.push_back(name);
            each.push_back(millis(stay));
        }
    }
    std::vector<std::string> arguments{std::move(lock.token).text(),
                                       std::string(to_string(state)),
                                       after.empty() ? "-inf" : "(" + after,
                                       fmt::format("{}", limit),
                                       millis(shortest),
                                       millis(limits.otherwise),
                                       fmt::format("{}", limits.by_topic.size())};
    std::ranges::move(each, std::back_inserter(arguments));
    auto reply = co_await redis_.script(scripts_.overdue_page, {std::move(lock.key), keys::state_index(state)},
                                        std::move(arguments), deadline());
    if (!reply.applied()) co_return reply.failure_as<OverduePage>();
    OverduePage page;
    page.lost = is_lost(reply.value());
    page.last_score = reply.value().at(1).text();
    if (const auto* elements = reply.value().array()) {
        for (std::size_t i = 2; i + 3 < elements->size(); i += 4)
            page.jobs.push_back({{JobId((*elements)[i].text()), std::string((*elements)[i + 1].text())},
                                 state,
                                 bounded(std::chrono::milliseconds((*elements)[i + 2].integer_or(0))),
                                 bounded(std::chrono::milliseconds((*elements)[i + 3].integer_or(0)))});
    }
    co_return page;
}

Task<Outcome<IndexPage>> SweepStore::index_page(JobState state, Duration age, std::string after, std::int64_t limit) {
    require_limit(limit);
    auto reply = co_await redis_.script(scripts_.index_page, {keys::state_index(state)},
                                        {millis(age), after.empty() ? "-inf" : "(" + after, fmt::format("{}", limit)},
                                        deadline());
    if (!reply.applied()) co_return reply.failure_as<IndexPage>();
    IndexPage page;
    page.pruned = reply.value().at(0).integer_or(0);
    page.last_score = reply.value().at(1).text();
    if (const auto* elements = reply.value().array()) {
        for (std::size_t i = 2; i + 1 < elements->size(); i += 2)
            page.jobs.push_back({JobId((*elements)[i].text()), std::string((*elements)[i + 1].text())});
    }
    co_return page;
}

Task<Outcome<ReplayPage>> SweepStore::replay_page(TickLock lock, JobState state, Duration age, std::string after,
                                                  std::int64_t limit) {
    require_limit(limit);
    auto reply = co_await redis_.script(
        scripts_.replay_page, {std::move(lock.key), keys::state_index(state)},
        {std::move(lock.token).text(), std::string(to_string(state)), millis(age), after.empty() ? "-inf" : "(" + after,
         fmt::format("{}", limit), millis(longest_delay(tunables_)), millis(tunables_.job_meta_ttl),
         millis(tunables_.data_ttl)},
        deadline());
    if (!reply.applied()) co_return reply.failure_as<ReplayPage>();
    ReplayPage page;
    page.lost = is_lost(reply.value());
    page.last_score = reply.value().at(1).text();
    if (const auto* elements = reply.value().array()) {
        for (std::size_t i = 2; i + 1 < elements->size(); i += 2)
            page.jobs.push_back({JobId((*elements)[i].text()), std::string((*elements)[i + 1].text())});
    }
    co_return page;
}

Task<Outcome<TenantRound>> SweepStore::tend_tenant(TickLock lock, std::string after, std::int64_t slots,
                                                   Duration ask_after) {
    const std::string place = after;
    auto reply = co_await redis_.script(scripts_.tend_tenant, {std::move(lock.key), std::string(keys::kTenantsWaiting)},
                                        {std::move(lock.token).text(), after.empty() ? "-inf" : "(" + after,
                                         fmt::format("{}", slots), millis(ask_after), millis(tunables_.job_meta_ttl)},
                                        deadline());
    if (!reply.applied()) co_return reply.failure_as<TenantRound>();
    const RedisValue& tended = reply.value();
    if (tended.at(0).text() != "tended") co_return TenantRound{true, is_lost(tended) ? place : std::string{}, false};
    news_.tell_of_woken(tended.at(3));
    co_return TenantRound{false, std::string(tended.at(1).text()), !tended.at(2).text().empty()};
}

Task<Outcome<std::int64_t>> SweepStore::hand_on(FreeWorker worker) {
    ScriptArguments arguments;
    arguments.text("worker", std::move(worker.worker).text())
        .text("pool", std::move(worker.pool))
        .number_or_zero("worker_active", worker.active)
        .duration_or_zero("worker_age_ms", worker.age)
        .duration_or_zero("records_ttl_ms", tunables_.job_meta_ttl);
    if (worker.slots) arguments.number_or_zero("slots", *worker.slots);
    auto reply =
        co_await redis_.script(scripts_.hand_on, {}, std::move(arguments).argv(std::move(worker.labels)), deadline());
    if (!reply.applied()) co_return reply.failure_as<std::int64_t>();
    news_.tell_of_woken(reply.value().at(1));
    co_return reply.value().at(0).integer_or(0);
}

Task<Outcome<CapacityLook>> SweepStore::tend_capacity(TickLock lock, std::int64_t skipped, std::int64_t page,
                                                      std::string anew) {
    require_limit(page);
    auto reply = co_await redis_.script(
        scripts_.tend_capacity, {std::move(lock.key)},
        {std::move(lock.token).text(), millis(tunables_.overload_limit), fmt::format("{}", skipped),
         fmt::format("{}", page), millis(tunables_.job_meta_ttl), std::move(anew)},
        deadline());
    if (!reply.applied()) co_return reply.failure_as<CapacityLook>();
    const RedisValue& found = reply.value();
    CapacityLook look;
    look.lost = found.at(0).text() == "lost";
    if (found.at(0).text() != "tended") co_return look;
    news_.tell_of_woken(found.at(1));
    news_.tell_of_freed(found.at(2));
    const std::vector<std::string> queues = texts(found.at(3));
    for (std::size_t i = 0; i + 1 < queues.size(); i += 2) look.queues.push_back({queues[i], queues[i + 1] != "0"});
    look.jobs = found.at(4).integer_or(0);
    look.last_score = found.at(5).text();
    co_return look;
}

Task<Outcome<Done>> SweepStore::tend_queue(TickLock lock, std::string queue, bool fits, Duration patience) {
    auto reply = co_await redis_.script(scripts_.tend_queue, {std::move(lock.key)},
                                        {std::move(lock.token).text(), std::move(queue), fits ? "1" : "0",
                                         millis(patience), millis(tunables_.job_meta_ttl)},
                                        deadline());
    if (!reply.applied()) co_return reply.failure_as<Done>();
    news_.tell_of_woken(reply.value());
    co_return Done{};
}

Task<Outcome<TimedOut>> SweepStore::time_out(StaleJob stale, std::string index, std::optional<JobState> expected,
                                             TimeoutReason reason) {
    PRECONDITION(!expected || transition_allowed(expected, JobState::timeout), "job {} cannot time out {}", stale.job,
                 to_string(*expected));
    std::string letter;
    if (tunables_.reconciler_emit_dead_letter)
        letter =
            dead_letter_head({stale.job.text(), {}, cap::JOB_STATUS_TIMEOUT, reason.text, reason.code}, clock_.now());
    auto reply = co_await redis_.script(
        scripts_.time_out, {keys::job_meta(stale.job)},
        {stale.job.text(), std::move(index), expected ? std::string(to_string(*expected)) : std::string{},
         expected ? stale.score : std::string{}, millis(tunables_.job_meta_ttl), std::move(reason.text),
         std::move(letter), millis(tunables_.dlq_entry_ttl), fmt::format("{}", tunables_.dlq_max_size)},
        deadline());
    if (!reply.applied()) co_return reply.failure_as<TimedOut>();
    const RedisValue& facts = reply.value();
    news_.tell_of_woken(facts.at(6));
    news_.tell_of_wrong_typed(facts.at(7));
    news_.tell_of_freed(facts.at(8));
    co_return TimedOut{facts.at(0).text() == "ok", parse_job_state(facts.at(1).text()), std::string(facts.at(3).text()),
                       WorkerId(facts.at(4).text()), std::string(facts.at(5).text())};
}

Task<Outcome<bool>> SweepStore::is_known(JobId job) {
    const auto reply = co_await redis_.command({"EXISTS", keys::job_meta(job), keys::job_request(job)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    co_return reply.value().integer_or(0) > 0;
}

Task<Outcome<std::optional<WallTime>>> SweepStore::at_work_since() {
    std::vector<RedisCommand> oldest;
    for (const JobState state : {JobState::dispatched, JobState::running})
        oldest.push_back({"ZRANGE", keys::state_index(state), "0", "0", "WITHSCORES"});
    const auto reply = co_await redis_.pipeline(std::move(oldest), deadline());
    if (!reply.applied()) co_return reply.failure_as<std::optional<WallTime>>();
    std::optional<WallTime> since;
    for (const RedisValue& first : reply.value()) {
        const std::string score(first.at(1).text());
        if (score.empty()) continue;
        // Others write scores, too.
        constexpr double kMost = 4e15;
        const double micros = std::clamp(std::strtod(score.c_str(), nullptr), 0.0, kMost);
        const WallTime entered{std::chrono::microseconds(static_cast<std::int64_t>(micros))};
        since = std::min(since.value_or(entered), entered);
    }
    co_return since;
}

Task<Outcome<bool>> SweepStore::is_at_work(JobId job) {
    const auto reply = co_await redis_.command({"HGET", keys::job_meta(job), "state"}, deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    const auto state = parse_job_state(reply.value().text());
    co_return state == JobState::dispatched || state == JobState::running;
}

Task<Outcome<bool>> SweepStore::tick_lock(TickLock lock, Duration ttl) {
    PRECONDITION(!lock.token.empty() && ttl > Duration{0}, "lock {} is held by '{}' for {} ns", lock.key, lock.token,
                 ttl.count());
    auto reply = co_await redis_.script(scripts_.tick_lock, {std::move(lock.key)},
                                        {std::move(lock.token).text(), millis(ttl)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    co_return reply.value().integer_or(0) == 1;
}

}  // namespace lockstep::engine
