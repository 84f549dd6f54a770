#include "prod/lockstepd/instance_record.h"

#include <fmt/chrono.h>

#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"

namespace lockstep::prod {

namespace {

constexpr auto kRenewal = std::chrono::milliseconds(7500);
static_assert(2 * kRenewal <= kInstanceLife);
constexpr auto kTimeout = std::chrono::seconds(2);

std::string rfc3339(engine::WallTime time) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string text_of(const InstanceRecord::Content& content, engine::WallTime started_at) {
    nlohmann::json record{{"id", content.id},
                          {"service", content.service},
                          {"version", content.version},
                          {"commit", ""},
                          {"started_at", rfc3339(started_at)}};
    if (!content.implementation.empty()) record["implementation"] = content.implementation;
    if (content.service == kSchedulerService) record["limits"] = content.limits;
    return engine::wire::json_text(record);
}

}  // namespace

InstanceRecord::InstanceRecord(engine::Redis& redis, engine::Clock& clock, const Content& content)
    : redis_(redis),
      clock_(clock),
      key_(fmt::format("cordum:instance:{}:{}", content.service, content.id)),
      json_(text_of(content, clock.now())) {}

engine::Task<void> InstanceRecord::keep() {
    while (true) {
        std::vector<std::string> set{"SET", key_, json_, "EX", std::to_string(kInstanceLife.count())};
        // Whatever comes of it, the next round says it again.
        (void)co_await redis_.command(std::move(set), clock_.in(kTimeout));
        co_await clock_.sleep(kRenewal);
    }
}

engine::Task<void> InstanceRecord::remove() {
    std::vector<std::string> del{"DEL", key_};
    (void)co_await redis_.command(std::move(del), clock_.in(kTimeout));
}

}  // namespace lockstep::prod
