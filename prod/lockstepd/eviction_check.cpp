#include "prod/lockstepd/eviction_check.h"

#include <chrono>

namespace lockstep::prod {

namespace {

constexpr auto kInfoPatience = std::chrono::seconds(2);

/// `name:value` of a line of its own; empty when there is none.
std::string_view value_of(std::string_view info, std::string_view name) {
    while (!info.empty()) {
        const auto end = info.find('\n');
        std::string_view line = info.substr(0, end);
        info.remove_prefix(end == std::string_view::npos ? info.size() : end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':')
            return line.substr(name.size() + 1);
    }
    return {};
}

}  // namespace

std::string evicting_policy(std::string_view info) {
    const std::string_view policy = value_of(info, "maxmemory_policy");
    // Without a limit nothing is evicted, whatever the policy.
    const bool limited = value_of(info, "maxmemory") != "0";
    return limited && policy != "noeviction" ? std::string(policy) : std::string();
}

engine::Task<engine::Outcome<std::string>> find_evicting_policy(engine::Redis& redis, engine::Clock& clock) {
    engine::RedisCommand ask{"INFO", "memory"};
    const auto info = co_await redis.command(std::move(ask), clock.in(kInfoPatience));
    if (!info.applied()) co_return info.failure_as<std::string>();
    co_return evicting_policy(info.value().text());
}

}  // namespace lockstep::prod
