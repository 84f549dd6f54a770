// Everybody who takes part in one measurement, each a process on loopback ports: Redis with its replicas, NATS, the kernel, two
// workers, schedulers of one variant, and who submits.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/costs.h"
#include "bench/load/patience.h"
#include "bench/load/redis_reader.h"
#include "bench/load/variant.h"
#include "prod/integration/deployment.h"

namespace lockstep::bench {

class Parties {
public:
    /// Starts all but the schedulers; one scheduler has come, has made the streams, has seen a job to its end, and has gone.
    /// Throws Failed when it cannot, std::runtime_error when a server does not start.
    Parties(const Plan& plan, const Variant& variant, const Patience& patience);
    ~Parties();
    Parties(const Parties&) = delete;
    Parties& operator=(const Parties&) = delete;

    /// Returns once they take jobs, with the moment at which the first of them was seen to. Without a text to know it by that is
    /// when one of the jobs that wait has ended. REQUIRES: some wait.
    UnixMicros start_schedulers();
    /// The same for schedulers that are to have nothing to do yet: they are given one job, which does not count.
    void start_idle_schedulers();

    /// Jobs <prefix>-0 and so on; `rate` a second, or as fast as it goes (0). Throws Failed.
    void submit(const std::string& prefix, long count, double rate);
    /// Waits until so many have ended in whatever state. Throws Failed when for a long while none did.
    void await_ends(long count);

    [[nodiscard]] Snapshot snapshot();
    [[nodiscard]] double peak_resident_bytes_of_schedulers() const;
    [[nodiscard]] RedisReader& redis() { return *redis_; }

private:
    using Program = prod::testing::Program;

    void start_redis_replicas();
    void try_out();
    Program launch_scheduler();
    bool is_ready(Program& scheduler);
    void stop(Program scheduler);
    [[noreturn]] void fail(const std::string& why);

    const Plan& plan_;
    const Variant& variant_;
    const Patience& patience_;
    prod::testing::Deployment world_;
    std::unique_ptr<RedisReader> redis_;
    std::vector<std::unique_ptr<fakes::testing::ServerProcess>> redis_replicas_;
    std::vector<pid_t> workers_;
    std::deque<Program> schedulers_;
    double submitter_cpu_seconds_ = 0;
    long ended_before_ = 0;  // jobs that do not count
};

}  // namespace lockstep::bench
