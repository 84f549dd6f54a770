#include "engine/runtime/invariant.h"

namespace lockstep::engine::detail {

void invariant_failed(const char* condition, const char* file, int line, std::string message) {
    throw InvariantViolation(fmt::format("{}:{}: INVARIANT {} failed: {}", file, line, condition, message));
}

}  // namespace lockstep::engine::detail
