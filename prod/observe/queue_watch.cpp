#include "prod/observe/queue_watch.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/routing/pick.h"
#include "engine/store/job_state.h"
#include "engine/store/keys.h"

namespace lockstep::prod {

namespace {

using engine::JobState;
using engine::RedisCommand;
using engine::RedisValue;

/// States that a job does not stay in. PENDING comes first.
constexpr std::array kPassingStates{JobState::pending, JobState::approval_required, JobState::scheduled,
                                    JobState::dispatched, JobState::running};
constexpr engine::Duration kAnswerWithin = std::chrono::seconds(2);
/// Jobs that are asked about at once, and how often.
constexpr int kPage = 256;
constexpr int kPagesMax = 16;
/// Of all pools beyond those that are told apart.
constexpr std::string_view kOtherLabel = "other";

double seconds(engine::Duration span) { return std::chrono::duration<double>(span).count(); }

/// Of a reply to TIME.
double seconds_of_time(const RedisValue& time) {
    return static_cast<double>(time.at(0).integer_or(0)) + static_cast<double>(time.at(1).integer_or(0)) / 1e6;
}

/// In seconds, of a score that is a time in microseconds; 0 of one that is still to come.
double age_since(const RedisValue& score, double now) {
    return std::max(0.0, now - std::strtod(std::string(score.text()).c_str(), nullptr) / 1e6);
}

/// The same of the first member of a reply to ZRANGE; 0 without one.
double age_of_first(const RedisValue& members, double now) {
    return members.at(1).text().empty() ? 0 : age_since(members.at(1), now);
}

/// The value of a line `name:value` of INFO; 0 without one.
double number_in(std::string_view info, std::string_view name) {
    for (auto at = info.find(name); at != std::string_view::npos; at = info.find(name, at + 1)) {
        const bool whole = (at == 0 || info[at - 1] == '\n') && info.substr(at + name.size()).starts_with(':');
        if (whole) return std::strtod(std::string(info.substr(at + name.size() + 1, 20)).c_str(), nullptr);
    }
    return 0;
}

}  // namespace

engine::Task<void> QueueWatch::keep_looking() {
    while (true) {
        co_await look();
        co_await clock_.sleep(kInterval);
    }
}

engine::Task<void> QueueWatch::look() {
    co_await look_at_jobs();
    co_await look_at_memory();
    std::vector<engine::ConsumerSpec> specs;  // more may come to be known meanwhile
    for (const auto& [name, spec] : durables_) specs.push_back(spec);
    for (const auto& spec : specs) {
        const bool answered = co_await look_at(spec);
        if (!answered) metrics_.add(DaemonMetric::queue_watch_failures, {"nats"});
    }
}

engine::Task<std::optional<std::vector<RedisValue>>> QueueWatch::ask(std::vector<RedisCommand> questions) {
    auto answers = co_await redis_.pipeline(std::move(questions), clock_.in(kAnswerWithin));
    const bool answered = answers.applied() && std::ranges::none_of(answers.value(), [](const RedisValue& value) {
                              return value.error() != nullptr;
                          });
    if (!answered) co_return std::nullopt;
    co_return std::move(answers.value());
}

engine::Task<void> QueueWatch::look_at_jobs() {
    std::vector<RedisCommand> questions{
        {"TIME"},
        {"HGETALL", std::string(engine::keys::kCapacityCount)},
        {"ZRANGE", std::string(engine::keys::kCapacityWaiting), "0", "0", "WITHSCORES"}};
    const std::size_t others = questions.size();
    for (const JobState state : kPassingStates) {
        questions.push_back({"ZCARD", engine::keys::state_index(state)});
        questions.push_back({"ZRANGE", engine::keys::state_index(state), "0", "0", "WITHSCORES"});
    }
    const auto answers = co_await ask(std::move(questions));
    std::optional<double> pending_age;
    if (answers)
        pending_age = co_await age_of_pending(answers->at(2), answers->at(others + 1), seconds_of_time(answers->at(0)));
    if (!pending_age) {
        metrics_.add(DaemonMetric::queue_watch_failures, {"redis"});
        co_return;
    }
    const double now = seconds_of_time(answers->at(0));
    metrics_.set(DaemonMetric::capacity_oldest_wait, age_of_first(answers->at(2), now));
    show_capacity(answers->at(2).at(0).text().empty() ? RedisValue() : answers->at(1));
    for (std::size_t i = 0; i < kPassingStates.size(); ++i) {
        const std::string_view state = to_string(kPassingStates[i]);
        const double age = i == 0 ? *pending_age : age_of_first(answers->at(others + 2 * i + 1), now);
        metrics_.set(DaemonMetric::jobs, static_cast<double>(answers->at(others + 2 * i).integer_or(0)), {state});
        metrics_.set(DaemonMetric::oldest_job_age, age, {state});
    }
}

void QueueWatch::show_capacity(const RedisValue& counts) {
    std::map<std::string, std::int64_t> waiting;
    for (const std::string& pools : pools_) waiting[pools] = 0;
    const auto* entries = counts.array();
    for (std::size_t i = 0; entries != nullptr && i + 1 < entries->size(); i += 2) {
        const auto demand = engine::Demand::of_queue((*entries)[i].text());
        std::string pools = demand ? fmt::format("{}", fmt::join(demand->pools, ",")) : std::string(kOtherLabel);
        if (demand && demand->pools.empty()) pools = "none";  // their topics have lost theirs
        if (!pools_.contains(pools) && pools_.size() >= kPoolLabelsMax) pools = kOtherLabel;
        waiting[pools] += std::max<std::int64_t>(0, (*entries)[i + 1].integer_or(0));
        pools_.insert(std::move(pools));
    }
    for (const auto& [pools, jobs] : waiting)
        metrics_.set(DaemonMetric::capacity_waiting, static_cast<double>(jobs), {pools});
}

engine::Task<std::optional<double>> QueueWatch::age_of_pending(RedisValue first_waiting, RedisValue first_pending,
                                                               double now) {
    if (first_waiting.at(0).text().empty()) co_return age_of_first(first_pending, now);
    for (int page = 0; page < kPagesMax; ++page) {
        std::vector<RedisCommand> some{{"ZRANGE", engine::keys::state_index(JobState::pending),
                                        std::to_string(page * kPage), std::to_string((page + 1) * kPage - 1),
                                        "WITHSCORES"}};
        const auto jobs = co_await ask(std::move(some));
        if (!jobs) co_return std::nullopt;
        const auto* listed = jobs->at(0).array();
        if (listed == nullptr || listed->empty()) co_return 0.0;
        std::vector<RedisCommand> whether;
        for (std::size_t i = 0; i + 1 < listed->size(); i += 2)
            whether.push_back(
                {"ZSCORE", std::string(engine::keys::kCapacityWaiting), std::string((*listed)[i].text())});
        const auto waits = co_await ask(std::move(whether));
        if (!waits) co_return std::nullopt;
        for (std::size_t i = 0; i < waits->size(); ++i)
            if (waits->at(i).text().empty()) co_return age_since((*listed)[2 * i + 1], now);
    }
    co_return 0.0;
}

engine::Task<void> QueueWatch::look_at_memory() {
    RedisCommand question{"INFO", "memory"};
    const auto answer = co_await redis_.command(std::move(question), clock_.in(kAnswerWithin));
    if (!answer.applied() || answer.value().error() != nullptr) co_return;
    const std::string_view info = answer.value().text();
    const double own_limit = number_in(info, "maxmemory");
    metrics_.set(DaemonMetric::redis_memory_used, number_in(info, "used_memory"));
    metrics_.set(DaemonMetric::redis_memory_limit, own_limit > 0 ? own_limit : number_in(info, "total_system_memory"));
}

engine::Task<bool> QueueWatch::look_at(engine::ConsumerSpec spec) {
    const auto state = co_await bus_.consumer_state(spec.stream, spec.durable, clock_.in(kAnswerWithin));
    if (!state.applied()) co_return false;
    const engine::ConsumerState durable = state.value().value_or(engine::ConsumerState{});
    const std::string name = spec.durable;
    std::optional<engine::Duration> age = engine::Duration{0};
    if (durable.waiting + durable.in_hand > 0) age = co_await age_of_oldest(std::move(spec), durable.ack_floor);
    if (!age) co_return false;
    metrics_.set(DaemonMetric::consumer_waiting, static_cast<double>(durable.waiting), {name});
    metrics_.set(DaemonMetric::consumer_in_hand, static_cast<double>(durable.in_hand), {name});
    metrics_.set(DaemonMetric::consumer_oldest_age, seconds(*age), {name});
    co_return true;
}

engine::Task<std::optional<engine::Duration>> QueueWatch::age_of_oldest(engine::ConsumerSpec spec,
                                                                        engine::StreamSequence floor) {
    const auto oldest = co_await bus_.read_stream(std::move(spec.stream), std::move(spec.subject),
                                                  engine::StreamSequence(floor.value() + 1), clock_.in(kAnswerWithin));
    if (!oldest.applied()) co_return std::nullopt;
    if (!oldest.value()) co_return engine::Duration{0};  // answered in between
    const auto age = std::chrono::duration_cast<engine::Duration>(clock_.now() - oldest.value()->stored_at);
    co_return std::max(age, engine::Duration{0});
}

}  // namespace lockstep::prod
