// Of which jobs Redis has lost something: keys that were evicted or damaged, and what a restart or a failover took back. Whoever
// judges jobs excuses these, and no others (engine/delivery-semantics.md, "What holds even then").
//
// A job's records are its keys, but for its lock and the content of its input and output, and its places in the indexes of jobs
// and of its tenant. What stands there after a loss as it stood before was not lost. Where single keys are evicted, only the hash
// and those places count: copies, and a request, without which a job is given up, excuse nothing.
//
// It belongs to the table of jobs, which passes on what it hears.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "fakes/redis/keyspace.h"

namespace lockstep::sim {

class LostRecords {
public:
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after);
    void key_removed(std::string_view key, fakes::redis::Removal why, const fakes::redis::Value& last);
    void losing(const fakes::redis::Keyspace& before);
    void restored(const fakes::redis::Keyspace& now);

    /// Any record of the job, at any time.
    [[nodiscard]] bool any_of(std::string_view job) const { return lost_.contains(job); }
    /// The same, but for what only failovers have taken back.
    [[nodiscard]] bool any_but_by_failover(std::string_view job) const { return lost_otherwise_.contains(job); }
    /// What is lost next is lost by a failover.
    void failing_over() { failing_over_ = true; }
    /// What is lost next is not, unless there are two primaries.
    void restarting() { failing_over_ = twins_ > 0; }
    /// From here on, or no longer, each of two has what the other one misses: as by as many failovers as the turn changes.
    void two_primaries(bool begins);
    /// Its hash or one of its places, while others of its records were kept: they may contradict each other from then on.
    [[nodiscard]] bool in_part(std::string_view job) const { return torn_.contains(job); }

private:
    /// By job, a sum over its records: equal before and after means that nothing is missing.
    using Sums = std::map<std::string, std::uint64_t, std::less<>>;
    void note(std::string_view job, bool by_failover = false);
    [[nodiscard]] static Sums sums_of(const fakes::redis::Keyspace& keys);

    Sums before_;
    bool failing_over_ = false;
    int twins_ = 0;  // faults that have begun and not ended
    std::set<std::string, std::less<>> lost_;
    std::set<std::string, std::less<>> lost_otherwise_;  // than by a failover
    std::set<std::string, std::less<>> torn_;
};

}  // namespace lockstep::sim
