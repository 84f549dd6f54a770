// Answers who asks a process how far it is, by SIGUSR1, on standard error; what the process does goes on.
#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace lockstep::sim::cli {

/// At most one in a process. The handler only writes a byte to a pipe; a thread of this says the rest.
class Questions {
public:
    Questions();
    ~Questions();
    Questions(const Questions&) = delete;
    Questions& operator=(const Questions&) = delete;

    /// What to say, asked on another thread; empty = that nothing runs. What was given before is not called once this returns.
    void answer_with(std::function<std::string()> say);

private:
    void listen();

    std::array<int, 2> pipe_{-1, -1};
    std::mutex mutex_;  // guards the next
    std::function<std::string()> say_;
    std::thread listener_;
};

}  // namespace lockstep::sim::cli
