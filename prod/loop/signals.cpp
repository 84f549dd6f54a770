#include "prod/loop/signals.h"

#include <signal.h>

#include <utility>

namespace lockstep::prod {

void leave_no_zombies() { ::signal(SIGCHLD, SIG_IGN); }

struct SignalWatch::State {
    uv_signal_t handle{};
    std::function<void(int)> handler;
};

SignalWatch::SignalWatch(UvLoop& loop, std::initializer_list<int> signals, std::function<void(int)> handler) {
    for (const int signal : signals) {
        auto* state = new State{{}, handler};
        uv_signal_init(loop.uv(), &state->handle);
        state->handle.data = state;
        uv_signal_start(
            &state->handle, [](uv_signal_t* h, int number) { static_cast<State*>(h->data)->handler(number); }, signal);
        states_.push_back(state);
    }
}

SignalWatch::~SignalWatch() {
    for (State* state : states_) {
        state->handler = [](int) {};
        uv_close(reinterpret_cast<uv_handle_t*>(&state->handle),
                 [](uv_handle_t* handle) { delete static_cast<State*>(handle->data); });
    }
}

}  // namespace lockstep::prod
