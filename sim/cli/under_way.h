// What is run now and how far the command is, for whoever asks while it goes on (questions.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "sim/cli/cli.h"

namespace lockstep::sim::cli {

class UnderWay {
public:
    /// Answers until its end. `planned`: runs to make; 0 = no limit. The environment outlives it.
    UnderWay(const Environment& environment, std::uint64_t planned);
    ~UnderWay();
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

    /// On the thread that makes the run, before it does. A thread makes one run at a time.
    void started(const std::string& what);
    /// On the same thread.
    void ended(std::uint64_t events, bool failed);

    /// Makes runs as `runner` does and notes how far each is. Lives no longer than this.
    [[nodiscard]] Runner timing(Runner runner);
    /// The same, and notes when each starts and ends, for commands that do not do it themselves. Lives no longer than
    /// this.
    [[nodiscard]] Runner watching(Runner runner);

    /// A line of the whole and one for each run, or that there is none, each ended.
    [[nodiscard]] std::string text() const;

private:
    using Wall = std::chrono::steady_clock;
    struct Run {
        std::string what;
        Wall::time_point since;
        std::int64_t virtual_ms = 0;
    };

    /// On the thread of the run.
    void passed(std::int64_t virtual_ms);

    const Environment& environment_;
    const std::uint64_t planned_;
    const Wall::time_point began_ = Wall::now();
    mutable std::mutex mutex_;  // guards what follows
    std::map<std::thread::id, Run> running_;
    std::uint64_t done_ = 0;
    std::uint64_t failed_ = 0;
    std::uint64_t events_ = 0;
};

}  // namespace lockstep::sim::cli
