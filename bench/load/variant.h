// One way to run schedulers, and what the bench is asked to do with it.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::bench {

/// Printed by lockstepd once it takes jobs.
inline constexpr const char* kReadyTextOfLockstepd = " ready instance=";

struct Variant {
    std::string name = "A";
    /// Where lockstepd, lockstepctl, lockstep-kernel and lockstep-worker are.
    std::filesystem::path programs;
    /// For /bin/sh; empty: lockstepd.
    std::string scheduler;
    /// What a scheduler prints once it takes jobs; empty: it counts as ready with the first job that has ended.
    std::string ready_text = kReadyTextOfLockstepd;
    /// Of the schedulers, on top of the deployment's.
    std::map<std::string, std::string> environment;
};

/// How jobs arrive in the open loop.
struct Rate {
    /// A second; nothing: half of what A has just been measured to do at most.
    std::optional<double> jobs_per_second;
};

struct Plan {
    long jobs = 5000;
    int replicas = 1;
    int redis_replicas = 0;
    int rounds = 1;
    long slots = 8192;                         // jobs that the workers take at once, in all
    std::chrono::milliseconds service_time{};  // of each job
    /// Nothing: the closed loop only. With a number the open loop only; with half both.
    std::optional<Rate> rate;
    /// A, or A and B.
    std::vector<Variant> variants;
};

}  // namespace lockstep::bench
