#include "prod/lockstepd/other_engines.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/wire/json_text.h"
#include "prod/lockstepd/instance_record.h"

namespace lockstep::prod {

namespace {

constexpr auto kReadTimeout = std::chrono::seconds(2);
/// RecordKeys that one step of the reading looks at.
constexpr const char* kScanStep = "1000";

/// Whoever lives renews its record in good time before it expires.
constexpr auto kRenewalMargin = std::chrono::seconds(2);
constexpr auto kLookPause = std::chrono::milliseconds(500);

using RecordKeys = std::vector<std::string>;

}  // namespace

bool is_other_engine(std::string_view record) {
    const nlohmann::json document = engine::wire::parse_bounded(record);
    if (!document.is_object()) return true;
    const auto implementation = document.find("implementation");
    return implementation == document.end() || *implementation != kImplementation;
}

engine::Task<engine::Outcome<RecordKeys>> still_other_engines(engine::Redis& redis, engine::Clock& clock,
                                                              RecordKeys keys) {
    if (keys.empty()) co_return keys;
    engine::RedisCommand read{"MGET"};
    read.insert(read.end(), keys.begin(), keys.end());
    const auto records = co_await redis.command(std::move(read), clock.in(kReadTimeout));
    if (!records.applied()) co_return records.failure_as<RecordKeys>();
    RecordKeys others;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const engine::RedisValue& record = records.value().at(i);
        if (!record.is_nil() && is_other_engine(record.text())) others.push_back(std::move(keys[i]));
    }
    co_return others;
}

engine::Task<engine::Outcome<RecordKeys>> find_other_engines(engine::Redis& redis, engine::Clock& clock) {
    const std::string pattern = fmt::format("cordum:instance:{}:*", kWorkflowService);
    RecordKeys found;
    std::string cursor = "0";
    do {
        engine::RedisCommand scan{"SCAN", cursor, "MATCH", pattern, "COUNT", kScanStep};
        const auto page = co_await redis.command(std::move(scan), clock.in(kReadTimeout));
        if (!page.applied()) co_return page.failure_as<RecordKeys>();
        cursor = page.value().at(0).text();
        if (const auto* keys = page.value().at(1).array())
            for (const engine::RedisValue& key : *keys) found.emplace_back(key.text());
    } while (cursor != "0" && !cursor.empty());
    // A key may come more than once.
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    co_return co_await still_other_engines(redis, clock, std::move(found));
}

engine::Task<engine::Outcome<RecordKeys>> await_no_other_engines(engine::Redis& redis, engine::Clock& clock,
                                                                 engine::Log& log, const engine::Event& stop) {
    auto others = co_await find_other_engines(redis, clock);
    if (!others.applied() || others.value().empty()) co_return others;
    log.event(engine::LogLevel::warn, "another implementation's workflow engine is registered: waiting for it to go",
              {{"record", others.value().front()}});
    const engine::MonoTime limit = clock.in(kInstanceLife + kRenewalMargin);
    while (others.applied() && !others.value().empty() && clock.monotonic() < limit && !stop.is_set()) {
        co_await clock.sleep(kLookPause);
        RecordKeys keys = std::move(others.value());
        others = co_await still_other_engines(redis, clock, std::move(keys));
    }
    if (stop.is_set()) co_return RecordKeys{};
    co_return others;
}

}  // namespace lockstep::prod
