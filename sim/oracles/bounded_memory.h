// bounded_memory: what a replica has been delivered and has not answered stays within bounds, in bytes: five times
// `bus_bytes_in_flight`, or five times two messages of the largest size. At the defaults that is the bound of 64 MB and 256 MB
// for what is on its way when a replica stops asking for more (D-02).
//
// Who has had more than the bound for a second, while nothing disturbed it, is given no further submission: what was on its way
// has come by then (engine/delivery-semantics.md, "Large submissions").
//
// Counted from outside: a delivery counts from its arrival until the replica sends its answer or ends. Where settings of
// replicas differ, the largest bound counts for all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "engine/config/tunables.h"
#include "sim/model/weather.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class BoundedMemory final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::deliver, fakes::EventKind::ack, fakes::EventKind::nak,
                          fakes::EventKind::term, fakes::EventKind::node_down};
    /// `max_payload`: bytes of the largest message that NATS takes; 0: that is not judged, because nobody can tell how soon what the
    /// server has sent arrives. The tunables outlive it.
    BoundedMemory(Judge& judge, const engine::Tunables& tunables, std::uint64_t max_payload)
        : Oracle(judge), tunables_(tunables), max_payload_(max_payload) {}
    [[nodiscard]] std::string_view invariant() const override { return "bounded_memory"; }
    void on_event(const fakes::Event& event, Time now) override;

private:
    using Message = std::tuple<std::string, std::string, std::uint64_t>;  // stream, durable, sequence
    struct InHand {
        std::multimap<Message, std::uint64_t> deliveries;  // bytes of each
        std::uint64_t bytes = 0;
        bool above = false;  // half of the largest bound that it can keep to
        std::optional<Time> full_since;
        EventNumber full_event = 0;
    };

    void on_delivery(const fakes::Event& event);
    void on_given(const fakes::Event& event, const InHand& replica);
    void weigh(InHand& replica);
    /// What replicas keep to.
    [[nodiscard]] std::uint64_t bound() const;

    const engine::Tunables& tunables_;
    const std::uint64_t max_payload_;
    std::map<fakes::NodeId, InHand> in_hand_;
    std::uint64_t largest_ = 0;  // message that was delivered so far
    const Weather& weather_ = model().weather();
    const Time& now_ = told_at();
};

}  // namespace lockstep::sim
