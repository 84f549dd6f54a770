#include "prod/loop/system_clock.h"

#include <ctime>

namespace lockstep::prod {

namespace {

engine::Duration read_clock(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return std::chrono::seconds(now.tv_sec) + engine::Duration(now.tv_nsec);
}

}  // namespace

engine::MonoTime monotonic_now() { return engine::MonoTime(read_clock(CLOCK_MONOTONIC)); }
engine::WallTime wall_now() { return engine::WallTime(read_clock(CLOCK_REALTIME)); }

}  // namespace lockstep::prod
