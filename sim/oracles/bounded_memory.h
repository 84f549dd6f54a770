// bounded_memory: what a replica has been delivered and has not answered stays within bounds, in bytes: five times
// `bus_bytes_in_flight`, or five times two messages of the largest size. At the defaults that is the bound of 64 MB and 256 MB
// for what is on its way when a replica stops asking for more (spec: conflicts, D-02). And it asks for more when it should
// (engine/delivery-semantics.md, "Large submissions"):
//
// 1. Who has had more than the bound for a second, while nothing disturbed it, is given no further submission: what was on its
//    way has come by then.
// 2. No submission waits in the stream that was taken in while every replica had less than half of the bound, and since then as
//    well, and no replica was disturbed. Not judged where others may keep it waiting: `bus_max_ack_pending`, and the rate of the
//    durable.
//
// Counted from outside: a delivery counts from its arrival until the replica sends its verdict or ends. No replica's settings may
// differ.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"
#include "sim/oracles/weather.h"

namespace lockstep::sim {

class BoundedMemory final : public Oracle {
public:
    /// `max_payload`: bytes of the largest message that NATS takes; 0: neither 1 nor 2 is judged, because nobody can tell how soon
    /// what the server has sent arrives. The tunables outlive it.
    BoundedMemory(Judge& judge, const engine::Tunables& tunables, std::uint64_t max_payload)
        : Oracle(judge), tunables_(tunables), max_payload_(max_payload) {}
    [[nodiscard]] std::string_view invariant() const override { return "bounded_memory"; }
    void on_event(const fakes::Event& event, Time now) override;
    void at_rest(const RestView& view) override;

private:
    using Message = std::tuple<std::string, std::string, std::uint64_t>;  // stream, durable, sequence
    struct InHand {
        std::multimap<Message, std::uint64_t> deliveries;  // bytes of each
        std::uint64_t bytes = 0;
        bool above = false;  // half of the largest bound that it can keep to
        bool much = false;   // half of its bound
        std::optional<Time> full_since;
        EventNumber full_event = 0;
    };
    /// A submission that nobody has been given yet.
    struct Waiting {
        Time since{};
        std::uint64_t bytes = 0;
        std::string job;
        EventNumber event = 0;
    };

    void on_delivery(const fakes::Event& event);
    void on_stored(const fakes::Event& event);
    void on_given(const fakes::Event& event, const InHand& replica);
    void weigh(InHand& replica);
    void judge_wait(fakes::NodeId node, const Waiting& waiting);
    [[nodiscard]] engine::Duration at_its_rate(std::uint64_t bytes) const;
    /// What replicas keep to.
    [[nodiscard]] std::uint64_t bound() const;

    const engine::Tunables& tunables_;
    const std::uint64_t max_payload_;
    std::map<fakes::NodeId, InHand> in_hand_;
    std::uint64_t largest_ = 0;                 // message that was delivered so far
    std::map<std::uint64_t, Waiting> waiting_;  // by sequence
    std::uint64_t waiting_bytes_ = 0;
    std::set<fakes::NodeId> replicas_;  // that have been given submissions
    std::int64_t submissions_ = 0;      // that the stream has taken in
    Weather weather_;
    Time much_in_hand_ = kBeforeAll;  // when some replica last had half of the bound
    Time now_{};
};

}  // namespace lockstep::sim
