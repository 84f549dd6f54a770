// Runs a command with bytes on its standard input and collects what it prints.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/one_shot.h"
#include "engine/runtime/task.h"
#include "prod/loop/uv_loop.h"

namespace lockstep::prod {

struct ChildResult {
    std::string error;   // why it could not be started; empty when it ran
    int exit_status = 0;
    int signal = 0;      // that ended it; 0 when it ended by itself
    std::string output;  // its standard output
    bool truncated = false;
};

/// One run of `/bin/sh -c command` in a process group of its own. Its standard error is ours. Destroying the object kills
/// the whole group.
class ChildProcess {
public:
    /// Output beyond this is dropped and noted.
    static constexpr std::size_t kOutputMax = 16U << 20U;

    /// `environment` entries (`NAME=value`) are added to our own.
    ChildProcess(UvLoop& loop, const std::string& command, std::vector<std::string> environment, std::string input);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// Completes when the process has ended and closed its output. REQUIRES: awaited once.
    [[nodiscard]] engine::Task<ChildResult> finished();
    /// SIGTERM to its group.
    void terminate();

private:
    struct State;
    static void read_output(State& state);
    static void write_input(State& state);

    engine::OneShot<ChildResult> done_;
    State* state_;  // frees itself when its handles are closed
};

}  // namespace lockstep::prod
