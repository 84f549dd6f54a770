#include "prod/redis/hiredis_client.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/runtime/one_shot.h"

namespace lockstep::prod {

namespace {

using engine::RedisCall;

class AwaitedCall final : public RedisCall {
public:
    AwaitedCall(engine::RedisCommands what, engine::MonoTime until, engine::OneShot<Answer>::Sender sender)
        : RedisCall(std::move(what), until), sender_(std::move(sender)) {}
    void finish(Answer answer) override { sender_.send(std::move(answer)); }

private:
    engine::OneShot<Answer>::Sender sender_;
};

engine::RedisConnectionOptions at(const RedisAddress& address, engine::RedisConnectionOptions options) {
    options.server = address.display();
    options.log_in = engine::redis_log_in(address.user, address.password, address.database);
    return options;
}

}  // namespace

HiredisClient::HiredisClient(UvLoop& loop, const RedisAddress& address, engine::RedisConnectionOptions options)
    : loop_(loop), transport_(loop, address), connection_(transport_, at(address, std::move(options))) {
    transport_.tell(connection_.listener());
    connection_.open();
}

HiredisClient::~HiredisClient() {
    PRECONDITION(!transport_.telling(), "the client goes inside a callback of its connection {}",
                 connection_.connections());
    connection_.close("the client was closed");
}

engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> HiredisClient::exchange(engine::RedisCommands commands,
                                                                                       engine::MonoTime deadline) {
    return is_renewal(*commands) ? renew(std::move(commands), deadline) : submit(std::move(commands), deadline);
}

// EVALSHA <sha1> 1 <lock> <token> <life in ms>
bool HiredisClient::is_renewal(const std::vector<engine::RedisCommand>& commands) const {
    return renewed_ != nullptr && commands.size() == 1 && commands[0].size() == 6 && commands[0][0] == "EVALSHA" &&
           commands[0][1] == renewal_->sha1();
}

engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> HiredisClient::renew(engine::RedisCommands commands,
                                                                                    engine::MonoTime deadline) {
    const engine::RedisCommand& renewal = commands->front();
    const std::chrono::milliseconds life(engine::RedisValue(renewal[5]).integer_or(0));
    const auto both = std::make_shared<const std::vector<engine::RedisCommand>>(
        std::vector<engine::RedisCommand>{{"PTTL", renewal[3]}, renewal});
    const auto renewed = renewed_;  // the client may be gone when the answer comes
    auto replies = co_await submit(both, deadline);
    if (!replies.applied() || replies.value().size() != 2) co_return replies;
    std::vector<engine::RedisValue> answers = std::move(replies.value());
    // Without a lock that expires (-2, -1) there was nothing left of this one. A user who may not ask learns nothing.
    if (const std::int64_t* left = answers[0].integer(); left != nullptr && life.count() > 0)
        (*renewed)(std::chrono::milliseconds(std::max<std::int64_t>(*left, 0)), life);
    answers.erase(answers.begin());
    co_return answers;
}

engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> HiredisClient::submit(engine::RedisCommands commands,
                                                                                     engine::MonoTime deadline) {
    engine::OneShot<RedisCall::Answer> answer;
    connection_.submit(std::make_unique<AwaitedCall>(std::move(commands), deadline, answer.sender()));
    const UvLoop& loop = loop_;  // the client may be gone when the answer comes
    const auto exchanged = exchanged_;
    const engine::MonoTime sent = loop.monotonic();
    auto replies = co_await answer.receive();
    if (exchanged) (*exchanged)(loop.monotonic() - sent, replies.kind());
    co_return replies;
}

}  // namespace lockstep::prod
