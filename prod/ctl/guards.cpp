#include "prod/ctl/guards.h"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>

#include "engine/store/keys.h"
#include "prod/ctl/document.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

using nlohmann::json;

constexpr std::array kLoopLocks{"cordum:reconciler:default",        "cordum:replayer:pending",
                                "cordum:scheduler:snapshot:writer", "cordum:dlq:cleanup",
                                "cordum:wf:delay:poller",           "cordum:workflow-engine:reconciler:default"};

/// When a key expires, as RFC 3339; null where it does not, or is not there.
json expiry(const engine::RedisValue& time, std::int64_t ms_left) {
    if (ms_left < 0) return nullptr;
    const std::int64_t micros = time.at(0).integer_or(0) * 1'000'000 + time.at(1).integer_or(0) + ms_left * 1000;
    return micros_as_time(std::to_string(micros));
}

}  // namespace

engine::Task<int> list_locks(Session& session, std::string job, bool as_json) {
    std::vector<std::string> keys(kLoopLocks.begin(), kLoopLocks.end());
    if (!job.empty()) keys.insert(keys.begin(), engine::keys::job_lock(engine::JobId(job)));
    std::vector<engine::RedisCommand> commands{{"TIME"}};
    for (const std::string& key : keys) {
        commands.push_back({"GET", key});
        commands.push_back({"PTTL", key});
    }
    const auto replies = co_await session.read_all(std::move(commands));
    if (!replies) co_return complain(kFailed, replies.error());
    json document = json::array();
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto& holder = replies.value()[1 + 2 * i];
        const std::int64_t ms_left = replies.value()[2 + 2 * i].integer_or(-2);
        const json until = expiry(replies.value()[0], ms_left);
        document.push_back({{"key", keys[i]}, {"held", !holder.is_nil()}, {"holder", holder.text()}, {"until", until}});
        if (as_json) continue;
        if (holder.is_nil())
            fmt::print("{:<44} free\n", printable(keys[i]));
        else
            fmt::print("{:<44} held by {} {}\n", printable(keys[i]), printable(holder.text()),
                       until.is_null() ? "for ever" : "until " + until.get<std::string>());
    }
    if (as_json) fmt::print("{}", json_text(document));
    co_return kDone;
}

engine::Task<int> show_circuits(Session& session, bool as_json) {
    struct Circuit {
        const char* name;
        const char* failures;
        const char* trip;
    };
    constexpr std::array<Circuit, 2> kCircuits{
        {{"input", "cordum:cb:safety:failures", "lockstep:cb:safety:trip"},
         {"output", "cordum:cb:safety:output:failures", "lockstep:cb:safety:output:trip"}}};
    constexpr std::size_t kAnswers = 3;
    std::vector<engine::RedisCommand> commands{{"TIME"}};
    for (const Circuit& circuit : kCircuits) {
        commands.push_back({"GET", circuit.failures});
        commands.push_back({"PTTL", circuit.failures});
        commands.push_back({"EXISTS", circuit.trip});
    }
    const auto replies = co_await session.read_all(std::move(commands));
    if (!replies) co_return complain(kFailed, replies.error());
    json document = json::array();
    for (std::size_t i = 0; i < kCircuits.size(); ++i) {
        const auto answer = [&](std::size_t n) -> const engine::RedisValue& {
            return replies.value()[1 + i * kAnswers + n];
        };
        const std::int64_t failures = std::max<std::int64_t>(0, answer(0).integer_or(0));
        const bool open = failures >= session.settings().tunables.circuit_fail_budget;
        const char* state = open ? "open" : answer(2).integer_or(0) == 1 ? "half_open" : "closed";
        const json until = open ? expiry(replies.value()[0], answer(1).integer_or(-2)) : json();
        document.push_back(
            {{"circuit", kCircuits[i].name}, {"state", state}, {"failures", failures}, {"until", until}});
        if (!as_json)
            fmt::print("{:<8}{:<10} {} failures in a row{}\n", kCircuits[i].name, state, failures,
                       until.is_null() ? "" : ", asked again at " + until.get<std::string>());
    }
    if (as_json) fmt::print("{}", json_text(document));
    co_return kDone;
}

}  // namespace lockstep::prod
