#include "fakes/engine_test/traffic.h"

namespace lockstep::fakes::engine_test {

void compare_traffic(const std::vector<engine::RedisCommand>&) {}

}  // namespace lockstep::fakes::engine_test
