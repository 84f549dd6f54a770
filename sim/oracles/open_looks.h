// What replicas may still say about the deliveries that they have in hand: which delays a hand-back can name, going by the
// times at which its replica looked at the job.
//
// Deliveries of one job cannot be told apart by their answers, nor can a look be traced to its delivery: a replica may have
// several in hand at once, and also looks at jobs on its own account. So a hand-back is held against every look that it can
// have come from. While one delivery is in hand and was looked at once, that is a single one.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

/// Clocks of three machines measure a delay: who says "now", who redelivers, who judges.
inline constexpr engine::Duration kDelaySlack = std::chrono::milliseconds{100};

/// A replica has a job's lock and knows how the job stands. The delays that can come of that, both bounds included.
struct Look {
    enum class Outcome : std::uint8_t {
        open,     // it goes on, and whatever delay it ends with is a documented one
        not_due,  // the delay of an earlier try still holds: what is left of it
        failed,   // its own try failed: a new delay
    };
    Outcome outcome = Outcome::open;
    engine::Duration least{};
    engine::Duration most{};
    std::int64_t tries = 0;  // the failed ones by then, not for `open`
    EventNumber since = 0;   // when the delay was granted

    [[nodiscard]] bool allows(engine::Duration delay) const {
        return least <= delay + kDelaySlack && delay <= most + kDelaySlack;
    }
};

class OpenLooks {
public:
    /// Of one job at one replica, the latest last.
    using Looks = std::vector<Look>;

    void delivered(fakes::NodeId replica, std::string_view job);
    /// Of no interest while the replica has no delivery of the job in hand: then it has nothing to hand back.
    void looked(fakes::NodeId replica, std::string_view job, Look look);
    /// Null when there are none.
    [[nodiscard]] Looks* find(fakes::NodeId replica, std::string_view job);
    /// One of those that allow `delay` has ended with it. Where there are several, each that is left may be any of them.
    static void end_one(Looks& looks, engine::Duration delay);
    /// An answer to one delivery was given. With the last one in hand all looks are over.
    void settled(fakes::NodeId replica, std::string_view job);
    void crashed(fakes::NodeId replica);

private:
    struct InHand {
        std::int64_t deliveries = 0;
        Looks looks;
    };
    std::map<std::pair<fakes::NodeId, std::string>, InHand> in_hand_;
};

}  // namespace lockstep::sim
