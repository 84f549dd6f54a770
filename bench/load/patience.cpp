#include "bench/load/patience.h"

#include <thread>

namespace lockstep::bench {

namespace {

/// Looks cost Redis a few commands each; times are taken from what the jobs' histories say and not from these looks.
constexpr std::chrono::milliseconds kPause{20};

}  // namespace

bool Patience::until(const std::function<bool()>& done, std::chrono::milliseconds limit) const {
    const auto give_up = std::chrono::steady_clock::now() + limit;
    while (!done()) {
        if (stop_) throw Interrupted();
        if (std::chrono::steady_clock::now() > give_up) return false;
        std::this_thread::sleep_for(kPause);
    }
    return true;
}

}  // namespace lockstep::bench
