// What a scheduler under test has sent to its Redis. The tests are linked twice: once nobody looks at it, and once all of it
// is sent to a simulated and to a real server, which must answer alike and end with the same keys.
#pragma once

#include <vector>

#include "engine/ports/redis.h"

namespace lockstep::fakes::engine_test {

/// Called at the end of every test with the commands in their order. Fails the test where the servers differ.
void compare_traffic(const std::vector<engine::RedisCommand>& commands);

}  // namespace lockstep::fakes::engine_test
