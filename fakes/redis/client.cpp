#include "fakes/redis/client.h"

#include "engine/runtime/one_shot.h"
#include "fakes/redis/client_channel.h"

namespace lockstep::fakes::redis {

RedisClient::RedisClient(World& world, NodeId node, RedisServer& server, RedisClientOptions options)
    : channel_(std::make_shared<ClientChannel>(world, node, server, options)) {}

RedisClient::~RedisClient() { channel_->shut_down(); }

bool RedisClient::connected() const { return channel_->connected(); }

engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> RedisClient::exchange(
    std::vector<engine::RedisCommand> commands, engine::MonoTime deadline) {
    engine::OneShot<ClientChannel::Answer> answer;
    channel_->submit(std::move(commands), deadline, answer.sender());
    co_return co_await answer.receive();
}

}  // namespace lockstep::fakes::redis
