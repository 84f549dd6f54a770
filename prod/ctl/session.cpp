#include "prod/ctl/session.h"

#include <fmt/core.h>

#include <cstdio>

#include "engine/runtime/scope.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

constexpr auto kConnectPatience = std::chrono::seconds(5);

engine::Task<void> run_into(engine::Task<int> command, std::optional<int>& code) { code = co_await std::move(command); }

}  // namespace

int complain(int exit_code, const std::string& what) {
    fmt::print(stderr, "lockstepctl: {}\n", printable_lines(what));
    return exit_code;
}

tl::expected<void, CommandError> Session::connect(bool with_redis, bool with_bus, const char* without_bus) {
    if (with_redis) redis_ = std::make_unique<HiredisClient>(loop_, settings_.redis);
    if (with_redis && !loop_.run_until([&] { return redis_->connected(); }, kConnectPatience))
        return tl::make_unexpected(CommandError{
            kFailed, fmt::format("Redis cannot be reached: {}\n(set its address with --redis or REDIS_URL)",
                                 redis_->last_error())});
    if (!with_bus) return {};
    auto bus = NatsBus::connect(loop_, settings_.nats);
    if (!bus && without_bus != nullptr) {
        complain(kDone, fmt::format("{}\n({})", bus.error(), without_bus));
        return {};
    }
    if (!bus)
        return tl::make_unexpected(
            CommandError{kFailed, fmt::format("{}\n(set its address with --nats or NATS_URL)", bus.error())});
    bus_ = std::move(*bus);
    return {};
}

void Session::connect_to_what_is_there() {
    redis_ = std::make_unique<HiredisClient>(loop_, settings_.redis);
    if (!loop_.run_until([&] { return redis_->connected(); }, kConnectPatience)) {
        redis_trouble_ = fmt::format("Redis cannot be reached: {}", redis_->last_error());
        redis_.reset();
    }
    auto bus = NatsBus::connect(loop_, settings_.nats);
    if (bus)
        bus_ = std::move(*bus);
    else
        bus_trouble_ = bus.error();
}

engine::Task<tl::expected<std::vector<engine::RedisValue>, std::string>> Session::read_all(
    std::vector<engine::RedisCommand> commands) {
    std::vector<std::string> asked;
    for (const auto& command : commands)
        asked.push_back(command.size() > 1 ? command[0] + " " + command[1] : command.front());
    auto replies = co_await redis_->pipeline(std::move(commands), deadline());
    if (!replies.applied()) co_return tl::make_unexpected(replies.failure().detail);
    for (std::size_t i = 0; i < replies.value().size(); ++i) {
        if (const auto* error = replies.value()[i].error())
            co_return tl::make_unexpected(fmt::format("Redis refused {}: {}", asked[i], error->text));
    }
    co_return std::move(replies.value());
}

int Session::run(engine::Task<int> command) {
    std::optional<int> code;
    engine::Scope scope(loop_);
    scope.spawn(run_into(std::move(command), code));
    while (!code) loop_.run_until([&] { return code.has_value(); }, std::chrono::hours(1));
    if (bus_) bus_->close();
    return *code;
}

}  // namespace lockstep::prod
