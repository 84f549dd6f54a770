#include "prod/redis/hiredis_client.h"

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
    : transport_(loop, address), connection_(transport_, at(address, std::move(options))) {
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
    engine::OneShot<RedisCall::Answer> answer;
    connection_.submit(std::make_unique<AwaitedCall>(std::move(commands), deadline, answer.sender()));
    co_return co_await answer.receive();
}

}  // namespace lockstep::prod
