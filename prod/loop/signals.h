// SIGTERM, SIGINT and the like as events of the loop.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "prod/loop/uv_loop.h"

namespace lockstep::prod {

/// For a process that starts none itself: as process 1 of a container it becomes the parent of what others leave there (`kubectl exec`,
/// probes), and each of them would stay a zombie. The kernel drops them instead.
void leave_no_zombies();

/// Calls `handler` on the loop for each of `signals` until destroyed; the signals' default action is off meanwhile.
class SignalWatch {
public:
    SignalWatch(UvLoop& loop, std::initializer_list<int> signals, std::function<void(int)> handler);
    ~SignalWatch();
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;

private:
    struct State;
    std::vector<State*> states_;  // each frees itself once its handle is closed
};

}  // namespace lockstep::prod
