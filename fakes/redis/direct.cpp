#include "fakes/redis/direct.h"

namespace lockstep::fakes::redis {

namespace {

constexpr auto kStart = std::chrono::seconds(1'767'225'600);  // 2026-01-01T00:00:00Z

}  // namespace

DirectRedis::DirectRedis() : shared_(std::make_shared<Shared>()), session_(shared_->database.watches(), NodeId{0}) {
    shared_->now = engine::WallTime(kStart);
}

DirectRedis::DirectRedis(DirectRedis& other)
    : shared_(other.shared_), session_(shared_->database.watches(), NodeId{other.session_.client().value + 1}) {}

DirectRedis::~DirectRedis() = default;

void DirectRedis::advance(engine::Duration by) {
    shared_->now += by;
    shared_->database.expire_due(shared_->now);
}

engine::RedisValue DirectRedis::run(const engine::RedisCommand& command) {
    if (shared_->executed) shared_->executed(command);
    const std::vector<std::string_view> args(command.begin(), command.end());
    return shared_->database.execute(session_, args, shared_->now);
}

engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> DirectRedis::exchange(engine::RedisCommands commands,
                                                                                     engine::MonoTime) {
    ++exchanges_;
    commands_ += commands->size();
    const CallFault what = fault ? fault(commands->front()) : CallFault::none;
    if (what == CallFault::not_applied) {
        co_return engine::NotApplied{{engine::FailureCause::disconnected, "no connection"}};
    }
    if (what == CallFault::lost) co_return engine::Unknown{{engine::FailureCause::timeout, "no answer"}, 0};
    std::vector<engine::RedisValue> replies;
    for (const engine::RedisCommand& command : *commands) replies.push_back(run(command));
    if (what == CallFault::unknown) co_return engine::Unknown{{engine::FailureCause::timeout, "no answer"}, 0};
    co_return replies;
}

}  // namespace lockstep::fakes::redis
