// How long a job may stay in a state, and for how long a result that may be in the stream is waited for (settings.md 3; redis-schema.md
// 3.4; engine/delivery-semantics.md, "When a TIMEOUT follows a stored result").
#pragma once

#include <optional>

#include "engine/config/tunables.h"
#include "sim/model/model.h"

namespace lockstep::sim::spec {

/// By the strictest and by the most lenient document that was in force at some time; 0: nothing limits it.
struct StayLimit {
    engine::Duration shortest{};
    engine::Duration longest{};
};
[[nodiscard]] StayLimit limit_of_stay(State state, const Job& job, const Model& model,
                                      const engine::Tunables& tunables);

struct Overdue {
    engine::Duration at_most{};   // since the earliest limit that the job can have had; negative: before it
    engine::Duration at_least{};  // since the latest one, or since its deadline
};
/// By how much the stay that has ended was too long; nothing: nothing limits it, or its beginning is not known.
[[nodiscard]] std::optional<Overdue> overdue(const Stays& stays, const Job& job, const Model& model,
                                             const engine::Tunables& tunables);

/// From the limit of a job until it times out although a result of it may be in the stream.
[[nodiscard]] inline engine::Duration wait_for_results(const engine::Tunables& tunables) {
    return tunables.bus_ack_wait + 2 * tunables.reconciler_interval;
}

/// The longest time between two ticks of the reconciler by any document.
[[nodiscard]] engine::Duration longest_interval(const Model& model, const engine::Tunables& tunables);

}  // namespace lockstep::sim::spec
