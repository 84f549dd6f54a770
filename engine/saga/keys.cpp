#include "engine/saga/keys.h"

#include <fmt/core.h>

namespace lockstep::engine::keys {

std::string saga_stack(std::string_view saga) { return fmt::format("saga:{}:stack", saga); }
std::string saga_lock(std::string_view saga) { return fmt::format("saga:{}:lock", saga); }

}  // namespace lockstep::engine::keys
