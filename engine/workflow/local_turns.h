// Within one process, visits to a run take turns before they ask Redis for its lock: the local layer of the two-layer lock
// (workflow.md 8). Whoever waits leaves what it came for to the one who has the next turn, so that a
// thousand results of one run do not become a thousand changes of its document.
//
// 1. The local turn is taken before the lock in Redis and given back after it.
// 2. Nothing is kept of a run that nobody visits.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/runtime/task.h"
#include "engine/runtime/wait.h"

namespace lockstep::engine {

class LocalTurns {
    struct Queue {
        Mutex mutex;
        std::size_t visitors = 0;
        std::vector<std::string> jobs;  // whose ends somebody has come for, and nobody has looked at
    };

public:
    class [[nodiscard]] Turn {
    public:
        Turn(Turn&& other) noexcept
            : turns_(std::exchange(other.turns_, nullptr)),
              run_(std::move(other.run_)),
              guard_(std::move(other.guard_)) {}
        Turn& operator=(Turn&&) = delete;
        ~Turn();

        /// All jobs that anybody has come for so far; theirs from here on to whoever calls this.
        [[nodiscard]] std::vector<std::string> take_jobs();
        /// They were not dealt with: the next turn has them again.
        void give_back(std::vector<std::string> jobs);

    private:
        friend class LocalTurns;
        Turn(LocalTurns& turns, std::string run) : turns_(&turns), run_(std::move(run)) {}

        LocalTurns* turns_;
        std::string run_;
        Mutex::Guard guard_;
    };

    /// Waits for the run's turn. `jobs` are left to whoever has a turn first.
    [[nodiscard]] Task<Turn> take(std::string run, std::vector<std::string> jobs);
    /// Runs that somebody visits or waits to visit.
    [[nodiscard]] std::size_t runs() const { return queues_.size(); }

private:
    std::map<std::string, Queue> queues_;
};

}  // namespace lockstep::engine
