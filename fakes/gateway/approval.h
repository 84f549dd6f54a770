// How a gateway approves or rejects a job that waits for it, under the job's lock (10 s, not renewed).
//
// 1. What is approved is what is stored: the request must hash to what the scheduler's decision was about, and the
//    policy must still be the one that asked (a workflow gate excepted).
// 2. The lock has no fence. Before every write it looks whether its time has passed by this node's own clock, and then
//    begins again; a pause between that look and the write is the gap that the scheduler must bear.
// 3. An attempt that got stuck is taken up where it was: labels, record and message id are the same each time.
#pragma once

#include <cstdint>
#include <string>

#include "engine/ports/bus.h"
#include "engine/runtime/task.h"
#include "engine/wire/fwd.h"
#include "fakes/gateway/job_records.h"
#include "fakes/world.h"

namespace lockstep::fakes {

class KernelClient;

class Approvals {
public:
    /// Without a kernel the policy's snapshot is not compared. Everything must outlive this object and its tasks.
    Approvals(World& world, NodeId node, engine::Executor& executor, engine::Bus& bus, JobRecords& records,
              KernelClient* kernel);

    enum class Attempt : std::uint8_t {
        done,
        not_yet,  // the job does not wait for an approval, or something failed: worth another try
        refused,  // it never will be: the job has ended, or is not what was asked about
    };
    [[nodiscard]] engine::Task<Attempt> approve(std::string job);
    [[nodiscard]] engine::Task<Attempt> reject(std::string job);

private:
    struct Lock {
        std::string job;
        std::string token;
        engine::MonoTime until{};
    };

    engine::Task<Attempt> approve_locked(Lock lock);
    engine::Task<Attempt> reject_locked(Lock lock);
    engine::Task<Attempt> under_lock(std::string job, bool approval);
    /// done: nothing speaks against it.
    engine::Task<Attempt> compare(JobRecords::Stored stored, cap::JobRequest request);
    engine::Task<Attempt> publish_approved(cap::JobRequest request, std::string trace_id);
    engine::Task<bool> publish_result(cap::JobResult letter, std::string subject);

    [[nodiscard]] std::vector<std::string> approval_record(const JobRecords::Stored& stored, const char* reason) const;
    [[nodiscard]] bool holds(const Lock& lock) const { return executor_.monotonic() < lock.until; }
    [[nodiscard]] std::string token(std::string_view job);

    World& world_;
    NodeId node_;
    engine::Executor& executor_;
    engine::Bus& bus_;
    JobRecords& records_;
    KernelClient* kernel_;
};

}  // namespace lockstep::fakes
