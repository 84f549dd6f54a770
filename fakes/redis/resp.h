// RESP2, the wire form of commands and replies: the canonical bytes of an event's payload.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/ports/redis.h"

namespace lockstep::fakes::redis {

void append_resp(std::string& out, const engine::RedisValue& reply);
void append_resp(std::string& out, std::span<const std::string_view> command);
void append_resp(std::string& out, const engine::RedisCommand& command);

}  // namespace lockstep::fakes::redis
