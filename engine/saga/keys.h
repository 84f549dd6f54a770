// Names of the Redis keys of sagas (redis-schema.md 10); what stands there: rollback/saga_store.h.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::engine::keys {

/// Sagas whose rollback is owed, by the time of its last try: by their names; and, as older versions wrote them, by the id of
/// their run or workflow.
inline constexpr std::string_view kSagasOwed = "lockstep:saga:owed";
/// Sagas of runs, by when somebody is to look whether their stack lives on (us).
inline constexpr std::string_view kSagasKept = "lockstep:saga:kept";
inline constexpr std::string_view kSagasPending = "lockstep:saga:pending";

[[nodiscard]] std::string saga_stack(std::string_view saga);
[[nodiscard]] std::string saga_lock(std::string_view saga);

}  // namespace lockstep::engine::keys
