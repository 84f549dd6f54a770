// `doctor`: whether the servers of a deployment are there, hold what is expected of them, and are set up as they should be
// (C14, O18). What is wrong is told with the way to mend it.
#pragma once

#include "engine/runtime/task.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

struct DoctorOptions {
    bool all = false;  // also tell what is well
    bool json = false;
};

/// Asks whichever of Redis, NATS and the safety kernel is there; another counts as wrong. It writes one key for a moment (`lockstep:doctor:<uuid>`) and changes
/// nothing else. Exit code kUnwell: something is wrong. The environment is read as a scheduler reads it, so that it is best run
/// with the scheduler's.
[[nodiscard]] engine::Task<int> run_doctor(Session& session, DoctorOptions options);

}  // namespace lockstep::prod
