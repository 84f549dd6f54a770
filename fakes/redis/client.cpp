#include "fakes/redis/client.h"

#include "fakes/redis/client_channel.h"

namespace lockstep::fakes::redis {

RedisClient::RedisClient(World& world, NodeId node, RedisServer& server, engine::RedisConnectionOptions options)
    : channel_(std::make_shared<ClientChannel>(world, node, server, std::move(options))) {
    channel_->open();
}

RedisClient::~RedisClient() { channel_->shut_down(); }

bool RedisClient::connected() const { return channel_->connection().connected(); }

std::uint64_t RedisClient::connections() const { return channel_->connection().connections(); }

engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> RedisClient::exchange(engine::RedisCommands commands,
                                                                                     engine::MonoTime deadline) {
    engine::OneShot<engine::RedisCall::Answer> answer;
    channel_->submit(std::move(commands), deadline, answer.sender());
    co_return co_await answer.receive();
}

}  // namespace lockstep::fakes::redis
