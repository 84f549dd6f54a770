// Whether each heartbeat that NATS has taken reaches every replica: replicas listen to it one by one, in no queue group (wire.md 2.1),
// and each routes by what it has heard itself.
//
// 1. A replica listens once it has heard a heartbeat since it came up.
// 2. Of heartbeats in the same words, one that it hears stands for all of the last seconds.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "fakes/event.h"
#include "sim/model/names.h"

namespace lockstep::sim {

class HeartbeatsHeard {
public:
    void taken(std::string_view payload, Since now);
    void heard(fakes::NodeId node, std::string_view payload, Time now);
    void node_down(fakes::NodeId node) { listens_since_.erase(node); }
    /// Of those whose time is up: who listened and has not heard them. Told once.
    [[nodiscard]] std::vector<std::pair<fakes::NodeId, Since>> missed(Time now);

private:
    struct Beat {
        Since taken;
        std::size_t words = 0;  // a digest
        std::vector<fakes::NodeId> heard;
    };

    std::deque<Beat> beats_;  // by when they were taken
    std::map<fakes::NodeId, Time> listens_since_;
};

}  // namespace lockstep::sim
