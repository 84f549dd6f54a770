// Makes a thread's heap and stack look different from how they looked before, as they would in another process, on another
// day. A run must not notice. One that orders by address, hashes an address or reads what it never wrote does, and would
// otherwise pass for deterministic as long as both of its runs happened to find the same memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lockstep::sim::cli {

class Disturbance {
public:
    Disturbance();
    ~Disturbance();
    Disturbance(const Disturbance&) = delete;
    Disturbance& operator=(const Disturbance&) = delete;

    /// Before a run, on its thread. Another number, another disorder. From several threads at once.
    void before_run(std::uint64_t number);

private:
    struct Freed {
        void operator()(void* block) const;
    };

    std::mutex mutex_;                                // guards what follows
    std::vector<std::unique_ptr<void, Freed>> kept_;  // blocks that stand in the way until the end
};

}  // namespace lockstep::sim::cli
