// Whether each heartbeat that NATS has taken reaches every replica: replicas listen to it one by one, in no queue group (spec:
// wire, 2.1), and each routes by what it has heard itself.
//
// 1. A replica listens once it has heard a heartbeat since it came up.
// 2. Of heartbeats in the same words, one that it hears stands for all of the last seconds.
// 3. Who came too late, or whom anything has disturbed since, may have missed it; see weather.h.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/model/weather.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class HeardByAll {
public:
    struct Missed {
        fakes::NodeId by;
        Time taken{};
        EventNumber event = 0;  // of the heartbeat
    };

    void on_event(const fakes::Event& event, EventNumber present, Time now);
    /// What has been missed of that whose time is up; told once. `weather` has been told as much as this.
    [[nodiscard]] std::vector<Missed> missed(const Weather& weather, Time now);

private:
    struct Beat {
        Time taken{};
        EventNumber event = 0;
        std::string payload;
        std::set<fakes::NodeId> heard;
    };

    std::deque<Beat> beats_;  // by when they were taken
    std::map<fakes::NodeId, Time> listens_since_;
};

}  // namespace lockstep::sim
