// What Redis has lost of a job, and how it shows which jobs a restart or a failover has taken something back of
// (engine/delivery-semantics.md, "What holds even then").
//
// A job's records are its keys, but for its lock and the content of its input and output, and its places in the indexes of jobs
// and of its tenant. What stands there after a loss as it stood before was not lost. Where single keys are evicted, only the hash
// and those places count: copies, and a request, without which a job is given up, excuse nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/event.h"
#include "fakes/redis/keyspace.h"

namespace lockstep::sim {

/// Of any record of a job, at any time.
struct Loss {
    bool by_failover = false;
    bool by_restart = false;      // of Redis, or by anything else that takes back a whole keyspace
    bool of_single_keys = false;  // evicted or damaged

    [[nodiscard]] bool any() const { return taken_back() || of_single_keys; }
    [[nodiscard]] bool taken_back() const { return by_failover || by_restart; }
};

/// Whether the members of this key are jobs: an index, slots of a tenant, a queue.
[[nodiscard]] bool lists_jobs(std::string_view key);
/// The jobs that a key lists.
[[nodiscard]] std::vector<std::string_view> jobs_listed(const fakes::redis::Value& value);
/// The job whose record this key is; empty for any other key.
[[nodiscard]] std::string_view job_of_record(std::string_view key);

/// Tells of which jobs something was taken back, by comparing what was there with what is.
class TakenBack {
public:
    void on_fault(const fakes::Event& event);
    void losing(const fakes::redis::Keyspace& before);
    struct Jobs {
        std::vector<std::string> names;
        bool by_failover = false;
    };
    [[nodiscard]] Jobs restored(const fakes::redis::Keyspace& now);

private:
    /// By job, a sum over its records: equal before and after means that nothing is missing.
    using Sums = std::map<std::string, std::uint64_t, std::less<>>;
    [[nodiscard]] static Sums sums_of(const fakes::redis::Keyspace& keys);

    Sums before_;
    bool failing_over_ = false;  // what is lost next is lost by a failover
    int twins_ = 0;              // faults by which there are two primaries, begun and not ended
};

}  // namespace lockstep::sim
