// What processes have cost so far, as the kernel counts it: /proc/PID/stat, in steps of a clock tick (10 ms).
#pragma once

#include <sys/types.h>

#include <map>
#include <vector>

namespace lockstep::bench {

/// All processes of this machine at one moment.
class ProcessTable {
public:
    [[nodiscard]] static ProcessTable read();

    /// The process and all that it has started, in no order; empty when it is not there.
    [[nodiscard]] std::vector<pid_t> tree(pid_t root) const;
    /// User and system time of the tree, those included that have ended and been waited for. Seconds.
    [[nodiscard]] double cpu_of(pid_t root) const;

private:
    struct Process {
        pid_t parent = 0;
        double cpu_seconds = 0;
    };
    std::map<pid_t, Process> processes_;
};

/// VmHWM of the largest process of the tree: what it has had in memory at most. Bytes; zero when it is not there.
[[nodiscard]] double peak_resident_bytes(const ProcessTable& table, pid_t root);

/// User and system time of the children of this process that have been waited for. Seconds.
[[nodiscard]] double cpu_of_ended_children();

/// Time that the machine's cores have worked so far, for anybody. Seconds.
[[nodiscard]] double cpu_of_machine();

}  // namespace lockstep::bench
