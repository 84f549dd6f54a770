// An ordeal: a deployment on real servers, a load, and what the seed has drawn against it; then everything is healed, quiet is
// waited for, and what the outside knows is judged.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "prod/integration/program.h"
#include "prod/ordeal/disturbance.h"
#include "prod/ordeal/ledger.h"

namespace lockstep::prod::ordeal {

struct Options {
    std::uint64_t seed = 1;
    std::chrono::milliseconds span = std::chrono::minutes(15);  // of load and disturbances
    std::chrono::milliseconds quiet_limit = std::chrono::minutes(3);
    Shape shape;
    int jobs_per_second = 20;
    int jobs_most = 100'000;
    std::filesystem::path programs;
    std::filesystem::path logs;                    // copied there at the end; empty: nowhere
    testing::Program::Environment environment;     // for the replicas, beside what the ordeal sets
    std::function<void(const std::string&)> tell;  // a line of progress
};

/// Runs it to its end, or until `stop` becomes true: then the ledger says that it was interrupted, and proves nothing.
/// Throws std::runtime_error when the ordeal itself fails: a server does not start, or cannot be read in the end.
[[nodiscard]] Ledger undergo(const Options& options, const std::atomic<bool>& stop);

}  // namespace lockstep::prod::ordeal
