// The lines of tenants as Redis holds them (engine/delivery-semantics.md, "Jobs of a tenant with a limit"), and whether each
// command of a scheduler leaves them as is promised:
//
// 1. Whoever takes a job off the slots hands the slot on at the same instant: afterwards nobody stands first in line for whom
//    there is room. Nor does anybody who was called longer than ten seconds ago keep a slot in reserve.
// 2. Jobs are called in the order in which they stand. One that was called, and has to wait again, gets its old place; only one
//    that has not come within ten seconds goes to the end. No more are called than there is room for.
// 3. Who stands in line is held up by no delay of an earlier try.
// 4. A tenant is listed for the ticks while somebody stands in its line, or has been called.
// 5. Where nothing moves, a tick calls the first of the line; and once more whoever was called and did not come.
//
// A line of which Redis has lost anything, or that somebody else has changed, is not judged any more; and nothing that counts
// time, once a clock was set.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/config/tunables.h"
#include "fakes/event.h"
#include "fakes/redis/keyspace.h"
#include "sim/model/model.h"
#include "sim/world/virtual_time.h"

namespace lockstep::sim {

class TenantLines {
public:
    struct Finding {
        fakes::NodeId node;
        std::string job, detail;
    };

    /// Both outlive it. `recorded` is kept up to date by its owner.
    TenantLines(const engine::Tunables& tunables, const Model& model);

    /// A command begins, or is over: what the one before has left that must not be. `calm_since`: nothing has been amiss since.
    [[nodiscard]] std::vector<Finding> command(fakes::NodeId client, std::span<const std::string_view> words,
                                               std::int64_t now_ms, Time now, Time calm_since);
    void zset_listed(std::string_view key);
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, double after);
    void zset_removed(fakes::NodeId client, std::string_view key, std::string_view member, double before);
    void hash_set(std::string_view key, std::string_view field, const std::string* before, std::string_view after);
    void hash_removed(std::string_view key, std::string_view field);
    void key_removed(std::string_view key, fakes::redis::Removal why);
    void restored(const fakes::redis::Keyspace& now);
    void clock_set() { clocks_set_ = true; }

    /// How often somebody waited when a slot was given back.
    [[nodiscard]] std::uint64_t handed_on() const { return handed_on_; }

private:
    struct Job {
        std::string since, limit;  // as its hash says; empty: it does not wait
        bool has_delay = false;
        friend bool operator==(const Job&, const Job&) = default;
    };
    using Place = std::pair<double, std::string>;  // in the order of a sorted set
    struct Tenant {
        std::set<std::string, std::less<>> slots;
        std::set<Place> waiting;
        std::map<std::string, double, std::less<>> woken;
        std::map<std::string, std::int64_t, std::less<>> limits;  // that hold now, by the one that was told
        Time moved{};                                             // when anything of its line last changed
        bool unsure = false;
    };
    /// What the present command does.
    struct Step {
        std::set<std::string, std::less<>> struck;            // tenants of which it frees a slot
        std::set<std::string, std::less<>> unlisted;          // tenants that it takes off the list
        std::map<std::string, double, std::less<>> left;      // the line: jobs, by their former places
        std::map<std::string, double, std::less<>> uncalled;  // jobs that are not called any more, and when they were
        std::vector<std::pair<std::string, std::string>> called;    // tenant and job
        std::vector<std::pair<std::string, std::string>> standing;  // that come into the line: tenant and job
        std::vector<std::string> told;                              // jobs that are told by which limit they wait
        std::vector<Finding> found;
        bool ticks = false;
    };

    void judge(Time now, Time calm_since);
    void judge_free_slot(const std::string& name, const Tenant& tenant);
    void judge_number_called(const std::string& name, const Tenant& tenant);
    void judge_call(const Tenant& tenant, const std::string& job);
    void judge_place(const Tenant& tenant, const std::string& job);
    void judge_tick(Time now, Time calm_since);
    void object(std::string_view job, std::string detail);

    [[nodiscard]] bool stands(const std::string& job) const;
    /// By which it waits; 0: none.
    [[nodiscard]] std::int64_t limit_of(const Tenant& tenant, const std::string& job) const;
    [[nodiscard]] bool was_called_long_ago(double called) const;
    void touch(fakes::NodeId client, Tenant& tenant);

    const engine::Tunables& tunables_;
    const Model& model_;
    std::map<std::string, Tenant, std::less<>> tenants_;
    std::map<std::string, Job, std::less<>> jobs_;  // that wait, or have a next try
    std::set<std::string, std::less<>> listed_;     // tenants
    Step step_;
    fakes::NodeId client_;  // whose command it is; not valid: none is under way, or nobody's that is judged
    std::int64_t now_ms_ = 0;
    Time now_{};
    bool clocks_set_ = false;
    bool list_unsure_ = false;
    std::uint64_t handed_on_ = 0;
};

}  // namespace lockstep::sim
