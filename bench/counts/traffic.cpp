#include "bench/counts/traffic.h"

#include <fmt/core.h>

#include <stdexcept>

#include "engine/store/job_state.h"
#include "sim/run/simulated_cluster.h"
#include "sim/simulation/simulation.h"

namespace lockstep::bench {

namespace {

using fakes::EventKind;
using fakes::When;

class TrafficCounter final : public sim::EventObserver {
public:
    explicit TrafficCounter(const sim::Topology& topology) : topology_(topology) {}

    void on_event(const fakes::Event& event, sim::Time /*now*/) override {
        if (event.kind == EventKind::state && event.to == engine::to_string(engine::JobState::succeeded)) ++succeeded_;
        if (event.kind == EventKind::redis && event.when == When::before) ++calls_of_all_;
        if (event.kind == EventKind::deliver || event.kind == EventKind::core_deliver) ++counts_["nats_deliveries"];
        if (!event.node.valid() || topology_.node(event.node).role != sim::NodeRole::scheduler) return;
        if (event.kind == EventKind::redis && event.when != When::answered)
            counts_["redis_bytes"] += event.payload.size();  // of the command, and then of the reply
        if (event.when == When::before) count_call(event.kind);
    }

    [[nodiscard]] std::uint64_t succeeded() const { return succeeded_; }
    /// Commands that were sent to Redis by anybody, a script as one.
    [[nodiscard]] std::uint64_t calls_of_all() const { return calls_of_all_; }
    [[nodiscard]] const std::map<std::string, std::uint64_t>& counts() const { return counts_; }

private:
    void count_call(EventKind kind) {
        switch (kind) {
            case EventKind::redis: ++counts_["redis_calls"]; return;
            case EventKind::kernel_check:
            case EventKind::output_check: ++counts_["kernel_calls"]; return;
            case EventKind::publish:
            case EventKind::core_publish: ++counts_["nats_publishes"]; return;
            case EventKind::ack:
            case EventKind::nak:
            case EventKind::term:
            case EventKind::in_progress: ++counts_["nats_answers"]; return;
            default: return;
        }
    }

    const sim::Topology& topology_;
    std::map<std::string, std::uint64_t> counts_;
    std::uint64_t succeeded_ = 0;
    std::uint64_t calls_of_all_ = 0;
};

}  // namespace

std::map<std::string, std::uint64_t> count_traffic(const sim::Scenario& scenario, std::uint64_t seed,
                                                   std::uint64_t jobs) {
    sim::Simulation simulation(scenario, seed, {});
    sim::SimulatedCluster cluster(simulation, scenario);
    TrafficCounter counter(simulation.topology());
    simulation.trace().add_observer(counter);
    simulation.start();
    // What the schedulers still owe the bus follows within a second.
    sim::Time last{};
    const auto ended = [&] {
        if (counter.succeeded() < jobs) last = simulation.now();
        return simulation.now() - last > std::chrono::seconds{2};
    };
    const auto end = simulation.run(sim::Time(scenario.duration), ended);
    if (simulation.defect()) throw std::runtime_error(simulation.defect()->what);
    if (end != sim::Simulation::End::done)
        throw std::runtime_error(fmt::format("{} of {} jobs succeeded", counter.succeeded(), jobs));
    auto counts = counter.counts();
    counts["events"] = simulation.trace().events();
    counts["steps"] = simulation.steps();
    counts["redis_commands"] = counter.calls_of_all() + cluster.redis().database().commands_of_scripts();
    simulation.close();
    return counts;
}

}  // namespace lockstep::bench
