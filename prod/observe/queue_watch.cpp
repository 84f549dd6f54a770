#include "prod/observe/queue_watch.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/store/job_state.h"
#include "engine/store/keys.h"

namespace lockstep::prod {

namespace {

using engine::JobState;
using engine::RedisCommand;
using engine::RedisValue;

/// States that a job does not stay in.
constexpr std::array kPassingStates{JobState::pending, JobState::approval_required, JobState::scheduled,
                                    JobState::dispatched, JobState::running};
constexpr engine::Duration kAnswerWithin = std::chrono::seconds(2);

double seconds(engine::Duration span) { return std::chrono::duration<double>(span).count(); }

/// Of a reply to TIME.
double seconds_of_time(const RedisValue& time) {
    return static_cast<double>(time.at(0).integer_or(0)) + static_cast<double>(time.at(1).integer_or(0)) / 1e6;
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

engine::Task<void> QueueWatch::look_at_jobs() {
    std::vector<RedisCommand> questions{{"TIME"}};
    for (const JobState state : kPassingStates) {
        questions.push_back({"ZCARD", engine::keys::state_index(state)});
        questions.push_back({"ZRANGE", engine::keys::state_index(state), "0", "0", "WITHSCORES"});
    }
    const auto answers = co_await redis_.pipeline(std::move(questions), clock_.in(kAnswerWithin));
    const bool answered = answers.applied() && std::ranges::none_of(answers.value(), [](const RedisValue& value) {
                              return value.error() != nullptr;
                          });
    if (!answered) {
        metrics_.add(DaemonMetric::queue_watch_failures, {"redis"});
        co_return;
    }
    const double now = seconds_of_time(answers.value().at(0));
    for (std::size_t i = 0; i < kPassingStates.size(); ++i) {
        const std::string_view state = to_string(kPassingStates[i]);
        const RedisValue& oldest = answers.value().at(2 * i + 2);
        const std::string since(oldest.at(1).text());  // micros, as a double's text
        const double age = since.empty() ? 0 : now - std::strtod(since.c_str(), nullptr) / 1e6;
        metrics_.set(DaemonMetric::jobs, static_cast<double>(answers.value().at(2 * i + 1).integer_or(0)), {state});
        metrics_.set(DaemonMetric::oldest_job_age, std::max(age, 0.0), {state});
    }
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
