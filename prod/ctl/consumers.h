// `consumers set`: the settings of the scheduler's durable consumers, changed in place (D-03). `consumers adopt`: which deployment
// they and Redis belong to (D-35).
#pragma once

#include "engine/runtime/task.h"
#include "prod/ctl/session.h"
#include "prod/nats/jetstream_api.h"

namespace lockstep::prod {

struct ConsumersOptions {
    jetstream::ConsumerChange change;
    bool dry_run = false;
    bool json = false;
};

struct AdoptOptions {
    bool replace = false;  // durables that belong to another deployment are given the one of Redis
    bool dry_run = false;
    bool json = false;
};

/// Makes Redis and the durables that exist name one deployment: that of Redis, or where it has none that of the durables. Refuses
/// durables of another deployment unless they are to be replaced. Prints what was changed.
[[nodiscard]] engine::Task<int> adopt_consumers(Session& session, AdoptOptions options);

/// Changes both durables of the scheduler and prints how they differed. What is in hand and the positions stay. Stops at the
/// first that the server does not change.
[[nodiscard]] engine::Task<int> set_consumers(Session& session, ConsumersOptions options);

}  // namespace lockstep::prod
