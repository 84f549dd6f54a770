// The two measurements. In the closed loop jobs wait in the stream and the schedulers take them as fast as they can; in the open loop
// jobs arrive when they are planned to, whatever becomes of those before them.
#pragma once

#include "bench/load/figures.h"
#include "bench/load/patience.h"
#include "bench/load/redis_reader.h"
#include "bench/load/variant.h"

namespace lockstep::bench {

// Both throw Failed when not every job has succeeded.
[[nodiscard]] Figures closed_loop(const Plan& plan, const Variant& variant, const Patience& patience);
/// `rate` jobs a second.
[[nodiscard]] Figures open_loop(const Plan& plan, const Variant& variant, double rate, const Patience& patience);

/// From the instant for which a job was planned to its first DISPATCHED, and to its submission, in milliseconds and sorted. Job i was
/// planned for the start of the plan + i / rate, however late it was submitted then. None is submitted before its time, so the
/// start is the earliest that any of them allows. Throws Failed when a job was never submitted or never dispatched.
struct Latencies {
    UnixMicros began = 0;
    std::vector<double> dispatched_ms;
    std::vector<double> submitted_ms;
};
[[nodiscard]] Latencies latencies(const std::vector<History>& jobs, double rate);

}  // namespace lockstep::bench
