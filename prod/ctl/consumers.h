// `consumers set`: the settings of the scheduler's durable consumers, changed in place (D-03).
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

/// Changes both durables of the scheduler and prints how they differed. What is in hand and the positions stay. Stops at the
/// first that the server does not change.
[[nodiscard]] engine::Task<int> set_consumers(Session& session, ConsumersOptions options);

}  // namespace lockstep::prod
