// When NATS was disturbed, and when anything else was: for promises that hold once NATS is back.
#pragma once

#include <map>

#include "fakes/event.h"
#include "sim/model/weather.h"

namespace lockstep::sim {

class Outages {
public:
    void on_event(const fakes::Event& event, Time now);

    /// Since then neither the replica nor anything else but NATS was disturbed. Faults of workers and of output policy do not count.
    [[nodiscard]] bool only_nats(fakes::NodeId replica, Time since) const;
    /// A fault of NATS goes on.
    [[nodiscard]] bool nats_fails() const { return nats_faults_ != 0; }
    /// When NATS was disturbed last.
    [[nodiscard]] Time nats() const { return nats_; }
    [[nodiscard]] Time power_cut() const { return power_cut_; }
    /// When its server last gave way to another process.
    [[nodiscard]] Time new_server() const { return new_server_; }
    /// A clock was set, packets were garbled, or the stream lost something.
    [[nodiscard]] bool is_unsure() const { return unsure_; }

private:
    void on_fault(const fakes::Event& event, Time now);

    std::map<fakes::NodeId, Time> nodes_;
    Time nats_ = kBeforeAll;
    Time others_ = kBeforeAll;
    Time power_cut_ = kBeforeAll;
    Time new_server_ = kBeforeAll;
    int nats_faults_ = 0;  // that go on
    int other_faults_ = 0;
    bool unsure_ = false;
};

}  // namespace lockstep::sim
