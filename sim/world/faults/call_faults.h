// The faults that bite call by call: the simulated servers and workers ask, here it is drawn. Draws come from the stream
// "faults", and only while a fault of the kind is in force for that call.
#pragma once

#include <array>
#include <vector>

#include "fakes/world.h"
#include "reports/run_report.h"
#include "sim/scenario/scenario.h"
#include "sim/world/event_queue.h"
#include "sim/world/faults/fault_kind.h"
#include "sim/world/link_faults.h"

namespace lockstep::sim {

class CallFaults final : public fakes::Faults {
public:
    using Id = std::uint64_t;

    CallFaults(const EventQueue& queue, fakes::Rng& stream) : queue_(queue), stream_(stream) {}

    /// Puts `fault` in force. `workers` are those it concerns, for the kinds worker.*. Both `fault` and `count` must
    /// outlive it.
    Id add(FaultKind kind, const Fault& fault, reports::FaultCount& count, NodeSet workers = {});
    void remove(Id id);

    fakes::CallFault redis_call(NodeId client, std::string_view command) override;
    Duration redis_latency(std::string_view command) override;
    std::optional<fakes::Effect> redis_out_of_memory() override;

    fakes::CallFault publish(NodeId client, std::string_view subject) override;
    bool lose_ack(std::string_view subject) override;
    Duration delay_ack(std::string_view subject) override;
    bool duplicate_delivery(std::string_view subject) override;
    HoldUp reorder_delivery(std::string_view subject) override;
    bool drop_core(std::string_view subject) override;
    bool corrupt(std::string_view subject, std::string& payload) override;

    RpcFault kernel_call() override;
    RpcFault output_call() override;

    bool worker_silent(NodeId worker) override;
    bool worker_zombie(NodeId worker) override;
    bool worker_overloaded(NodeId worker) override;

private:
    struct Active {
        Id id;
        const Fault* fault;
        reports::FaultCount* count;
        Time since;
        NodeSet workers;
    };
    using InForce = std::vector<Active>;  // in the order in which they began

    [[nodiscard]] InForce& of(FaultKind kind) { return in_force_[static_cast<std::size_t>(kind)]; }
    fakes::CallFault draw_outcome(Active& active);
    /// Whether some fault of the kind hits this subject now.
    bool hits_subject(FaultKind kind, std::string_view subject);
    Duration subject_delay(FaultKind kind, std::string_view subject, const fakes::Distribution& otherwise);
    /// The fault's own latency, or this one.
    Duration delay_of(const Fault& fault, const fakes::Distribution& otherwise);
    bool hits_worker(FaultKind kind, NodeId worker);
    void add_errors(FaultKind kind, RpcFault& answer);
    void add_latency(FaultKind kind, RpcFault& answer);
    void add_decision(FaultKind kind, RpcFault& answer);

    const EventQueue& queue_;
    fakes::Rng& stream_;
    std::array<InForce, kFaultKinds> in_force_;
    Id last_id_ = 0;
};

}  // namespace lockstep::sim
