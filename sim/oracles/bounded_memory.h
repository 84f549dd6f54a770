// bounded_memory: what a replica has been delivered and has not answered stays within bounds, in bytes: five times
// `bus_bytes_in_flight`, or five times two messages of the largest size. At the defaults that is the bound of 64 MB and 256 MB
// for what is on its way when a replica stops asking for more (spec: conflicts, D-02).
//
// Counted from outside: a delivery counts from its arrival until the replica sends its verdict or ends.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class BoundedMemory final : public Oracle {
public:
    BoundedMemory(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "bounded_memory"; }
    void on_event(const fakes::Event& event, Time now) override;

private:
    using Message = std::tuple<std::string, std::string, std::uint64_t>;  // stream, durable, sequence
    struct InHand {
        std::multimap<Message, std::uint64_t> deliveries;  // bytes of each
        std::uint64_t bytes = 0;
        bool above = false;  // half of the bound that the replica keeps to
    };

    void on_delivery(const fakes::Event& event);

    const engine::Tunables& tunables_;
    std::map<fakes::NodeId, InHand> in_hand_;
    std::uint64_t largest_ = 0;  // message that was delivered so far
};

}  // namespace lockstep::sim
