// The door between the loop's thread and every other one: functions that other threads leave here run on the loop,
// in the order in which they were left.
//
// 1. `post` may be called from any thread at any time, also after the loop is gone: it then does nothing.
// 2. A function never runs inside the caller's stack, and never inside another step.
#pragma once

#include <uv.h>

#include <functional>
#include <mutex>
#include <vector>

namespace lockstep::prod {

class Mailbox {
public:
    /// Leaves `work` for the loop. False when the loop is gone: `work` is then destroyed without running.
    bool post(std::function<void()> work);

private:
    friend class UvLoop;
    /// Binds to the handle that wakes the loop. The loop's thread only.
    void open(uv_async_t& wake);
    /// From here on nothing is accepted; what still waits is destroyed. The loop's thread only.
    void close();
    /// Runs what waits now; what that leaves behind runs in the next round.
    void run();

    std::mutex mutex_;
    uv_async_t* wake_ = nullptr;                 // guarded by mutex_; null before open and after close
    std::vector<std::function<void()>> waiting_;  // guarded by mutex_
};

}  // namespace lockstep::prod
