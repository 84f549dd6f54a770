// `locks` and `circuit`: what keeps schedulers apart, and what keeps them from asking policy.
#pragma once

#include <string>

#include "engine/runtime/task.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

/// The locks of the loops, and of `job` where one is named: who holds each (a token, made up for every holding) and until when, by
/// the clock of Redis.
[[nodiscard]] engine::Task<int> list_locks(Session& session, std::string job, bool json);

/// The circuits to input and output policy, as all replicas share them (redis-schema.md 9).
[[nodiscard]] engine::Task<int> show_circuits(Session& session, bool json);

}  // namespace lockstep::prod
