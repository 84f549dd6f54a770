#include "engine/wire/rfc3339.h"

#include <fmt/core.h>

#include <chrono>

namespace lockstep::engine::wire {

std::string rfc3339(WallTime time) {
    using namespace std::chrono;
    const auto since_epoch = floor<microseconds>(time.time_since_epoch());
    const auto day = floor<days>(since_epoch);
    const year_month_day date{sys_days{day}};
    const hh_mm_ss clock{since_epoch - day};
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

}  // namespace lockstep::engine::wire
