// The faults that bite call by call: the simulated servers and workers ask, here it is drawn, each fault by itself and for
// each thing that is called about by itself, and only while it is in force for that call.
#pragma once

#include <vector>

#include "fakes/world.h"
#include "reports/run_report.h"
#include "sim/scenario/fault.h"
#include "sim/world/event_queue.h"
#include "sim/world/link_faults.h"

namespace lockstep::sim {

class CallFaults final : public fakes::Faults {
public:
    using Id = std::uint64_t;

    explicit CallFaults(const EventQueue& queue) : queue_(queue) {}

    /// Puts in force what a fault does. `workers` are those it concerns, for the kinds worker.*. `fault`, `count` and `draws`
    /// must outlive it.
    template <class Kind>
    Id add(const Kind& fault, reports::FaultCount& count, fakes::KeyedRng& draws, NodeSet workers = {}) {
        of<Kind>().push_back({++last_id_, &fault, &count, &draws, queue_.now(), std::move(workers)});
        return last_id_;
    }
    void remove(Id id);

    fakes::CallFault redis_call(NodeId client, std::string_view command, const fakes::CallScope& scope) override;
    Duration redis_latency(std::string_view command, const fakes::CallScope& scope) override;
    std::optional<fakes::Effect> redis_out_of_memory() override;

    fakes::CallFault publish(NodeId client, std::string_view subject, const fakes::CallScope& scope) override;
    bool lose_ack(const fakes::MessageScope& message) override;
    Duration delay_ack(const fakes::MessageScope& message) override;
    bool duplicate_delivery(const fakes::MessageScope& message) override;
    HoldUp reorder_delivery(const fakes::MessageScope& message) override;
    bool drop_core(const fakes::MessageScope& message) override;
    bool corrupt(const fakes::MessageScope& message, std::string& payload) override;
    bool garble_delivery(const fakes::MessageScope& message) override;

    RpcFault kernel_call(const fakes::CallScope& scope) override;
    RpcFault output_call(const fakes::CallScope& scope) override;

    bool worker_silent(NodeId worker) override;
    bool worker_zombie(NodeId worker) override;
    bool worker_overloaded(NodeId worker) override;

private:
    template <class Kind>
    struct Active {
        Id id;
        const Kind* fault;
        reports::FaultCount* count;
        fakes::KeyedRng* draws;
        Time since;
        NodeSet workers;
        std::uint64_t hits = 0;

        /// Whether it hits this call, by its rate and by how many calls it may hit: then what else is to be drawn for it.
        [[nodiscard]] std::optional<fakes::Rng> hit(const fakes::DrawKey& call);
    };
    template <class Kind>
    using InForce = std::vector<Active<Kind>>;  // in the order in which they began

    template <class Kind>
    struct ListOf {
        InForce<Kind> list;
    };
    template <class Any>
    struct ByKind;
    template <class... Kinds>
    struct ByKind<std::variant<Kinds...>> : ListOf<Kinds>... {  // a tuple of so many takes a compiler seconds
        void each(auto&& use) { (use(static_cast<ListOf<Kinds>&>(*this).list), ...); }
    };

    template <class Kind>
    [[nodiscard]] InForce<Kind>& of() {
        return static_cast<ListOf<Kind>&>(in_force_).list;
    }
    template <class Kind>
    static fakes::CallFault draw_outcome(Active<Kind>& active, fakes::Rng& rng);
    /// The first fault of the kind that hits this message now: what else is to be drawn for it; nothing = none does.
    template <class Kind>
    std::optional<fakes::Rng> hit_message(const fakes::MessageScope& message);
    template <class Kind>
    bool hits_worker(NodeId worker);
    template <class Kind>
    void add_errors(const fakes::CallScope& scope, RpcFault& answer);
    template <class Kind>
    void add_latency(const fakes::CallScope& scope, RpcFault& answer);
    template <class Kind>
    void add_decision(const fakes::CallScope& scope, RpcFault& answer);

    const EventQueue& queue_;
    ByKind<faults::Any> in_force_;
    Id last_id_ = 0;
};

}  // namespace lockstep::sim
