// How the bench waits: it looks again and again, gives up, and hears of whoever interrupts it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>

namespace lockstep::bench {

/// Somebody has asked the bench to end.
struct Interrupted : std::runtime_error {
    Interrupted() : std::runtime_error("interrupted") {}
};

/// What was measured did not do its work; the text says which jobs are missing, and shows logs.
struct Failed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Patience {
public:
    /// `stop` outlives this, and is set by a handler of signals.
    explicit Patience(const std::atomic<bool>& stop) : stop_(stop) {}

    /// False when `done` has not come true within `limit`. Throws Interrupted.
    [[nodiscard]] bool until(const std::function<bool()>& done, std::chrono::milliseconds limit) const;

private:
    const std::atomic<bool>& stop_;
};

}  // namespace lockstep::bench
