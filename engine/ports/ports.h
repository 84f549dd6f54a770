// Everything the engine asks of the world, in one place. The simulator and the daemon each build their own.
#pragma once

#include "engine/ports/bus.h"
#include "engine/ports/clock.h"
#include "engine/ports/entropy.h"
#include "engine/ports/kernel.h"
#include "engine/ports/log.h"
#include "engine/ports/metrics.h"
#include "engine/ports/redis.h"
#include "engine/runtime/executor.h"

namespace lockstep::engine {

/// All of it outlives whoever is given it.
struct Ports {
    Executor& executor;
    Clock& clock;
    Entropy& entropy;
    Redis& redis;
    Bus& bus;
    Kernel& kernel;
    Metrics& metrics;
    Log& log;
};

}  // namespace lockstep::engine
