// `workers`: who is there, as the scheduler's last snapshot has it.
#pragma once

#include "engine/runtime/task.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

[[nodiscard]] engine::Task<int> list_workers(Session& session, bool json);

}  // namespace lockstep::prod
