// How the outputs of successful jobs are scanned (engine/delivery-semantics.md, "To a submitter", 5; wire.md 7.2 and 9.1).
// Part of fail_modes.
//
// 1. The scan is done by whoever has recorded the success, and by another replica only after that one has claimed it, since two
//    are never at it. A claim is the place of the job in the list of scans that are due, which the claimant moves.
// 2. A scan that gets no answer is tried three times, with pauses of one second and of two, and waits for an open circuit: for
//    twice as long as that stays open. Before that nobody gives up.
// 3. An output that cannot be read yet is looked for during half a second. Only then it counts as none.
//
// What users or losses have changed of a mark, of a request or of an output is not judged, nor is a scan that was under way when
// Redis lost anything.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "engine/config/tunables.h"
#include "sim/model/weather.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class OutputScans {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::lock_acquired, fakes::EventKind::node_down, fakes::EventKind::output_check};
    /// The tunables, the time, which goes on, and the weather outlive it.
    OutputScans(const engine::Tunables& tunables, const Time& now, const Weather& weather)
        : tunables_(tunables), weather_(weather), now_(now) {}

    /// What is wrong with what this event tells; empty: nothing.
    [[nodiscard]] std::string on_event(const fakes::Event& event, Time now);
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field);
    void string_set(fakes::NodeId client, std::string_view key);
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member);
    void key_removed(std::string_view key);
    void restored();

    /// The replica has ended the job's scan without a word of policy. What is wrong with that; empty: nothing.
    [[nodiscard]] std::string given_up(fakes::NodeId replica, std::string_view job, Time now) const;
    void over(std::string_view job);

private:
    struct Claim {
        Time since{};
        int tries = 0;  // questions that got no answer
        bool heard = false;
    };
    struct Scan {
        bool changed = false;  // by a user, or a loss
        std::map<fakes::NodeId, Claim> claims;
    };
    [[nodiscard]] std::string on_question(const fakes::Event& event, Time now);
    void change(std::string_view job);

    const engine::Tunables& tunables_;
    const Weather& weather_;
    std::map<std::string, Scan, std::less<>> scans_;  // of jobs whose output is still to be scanned
    std::set<std::string, std::less<>> listed_;       // jobs in the list of those that are due
    /// Who has had a job's lock and has not asked about its output since. Until then it asks about a result, however long ago it lost the
    /// lock, and not for the scan that somebody else has begun meanwhile.
    std::map<std::string, std::set<fakes::NodeId>, std::less<>> under_lock_;
    std::set<std::string, std::less<>> outputs_;        // keys under which there has been one
    std::set<std::string, std::less<>> requests_gone_;  // jobs whose stored request was there and is not any more
    const Time& now_;
    /// Nobody knows what is left of their claims, while whoever made one may go by it.
    std::set<std::string, std::less<>> begun_before_a_loss_;
};

}  // namespace lockstep::sim
