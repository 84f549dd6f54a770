// The faults that bite call by call: the simulated servers and workers ask, here it is drawn, each fault from its own
// stream, and only while it is in force for that call.
#pragma once

#include <array>
#include <vector>

#include "fakes/world.h"
#include "reports/run_report.h"
#include "sim/faults/fault_kind.h"
#include "sim/scenario/scenario.h"
#include "sim/world/event_queue.h"
#include "sim/world/link_faults.h"

namespace lockstep::sim {

class CallFaults final : public fakes::Faults {
public:
    using Id = std::uint64_t;

    explicit CallFaults(const EventQueue& queue) : queue_(queue) {}

    /// Puts `fault` in force. `workers` are those it concerns, for the kinds worker.*. `fault`, `count` and `stream` must
    /// outlive it.
    Id add(FaultKind kind, const Fault& fault, reports::FaultCount& count, fakes::Rng& stream, NodeSet workers = {});
    void remove(Id id);

    fakes::CallFault redis_call(NodeId client, std::string_view command, const fakes::CallScope& scope) override;
    Duration redis_latency(std::string_view command, const fakes::CallScope& scope) override;
    std::optional<fakes::Effect> redis_out_of_memory() override;

    fakes::CallFault publish(NodeId client, std::string_view subject, const fakes::CallScope& scope) override;
    bool lose_ack(std::string_view subject) override;
    Duration delay_ack(std::string_view subject) override;
    bool duplicate_delivery(std::string_view subject) override;
    HoldUp reorder_delivery(std::string_view subject) override;
    bool drop_core(std::string_view subject) override;
    bool corrupt(std::string_view subject, std::string& payload) override;
    bool garble_delivery(std::string_view subject) override;

    RpcFault kernel_call(const fakes::CallScope& scope) override;
    RpcFault output_call(const fakes::CallScope& scope) override;

    bool worker_silent(NodeId worker) override;
    bool worker_zombie(NodeId worker) override;
    bool worker_overloaded(NodeId worker) override;

private:
    struct Active {
        Id id;
        const Fault* fault;
        reports::FaultCount* count;
        fakes::Rng* stream;
        Time since;

        /// Whether it hits this time, by its rate and by how many calls it may hit.
        [[nodiscard]] bool chance();
        /// The fault's own latency, or this one.
        [[nodiscard]] Duration latency_or(const fakes::Distribution& otherwise) const;
        NodeSet workers;
        int hits = 0;
    };
    using InForce = std::vector<Active>;  // in the order in which they began

    [[nodiscard]] InForce& of(FaultKind kind) { return in_force_[static_cast<std::size_t>(kind)]; }
    fakes::CallFault draw_outcome(Active& active);
    /// The first fault of the kind that hits this subject now; null = none does.
    Active* hit_on_subject(FaultKind kind, std::string_view subject);
    Duration subject_delay(FaultKind kind, std::string_view subject, const fakes::Distribution& otherwise);
    bool hits_worker(FaultKind kind, NodeId worker);
    void add_errors(FaultKind kind, const fakes::CallScope& scope, RpcFault& answer);
    void add_latency(FaultKind kind, const fakes::CallScope& scope, RpcFault& answer);
    void add_decision(FaultKind kind, const fakes::CallScope& scope, RpcFault& answer);

    const EventQueue& queue_;
    std::array<InForce, kFaultKinds> in_force_;
    Id last_id_ = 0;
};

}  // namespace lockstep::sim
