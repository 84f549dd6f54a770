// Work that was done for nothing, and dispatches to workers that were gone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/measure/measured_run.h"
#include "sim/scenario/topology.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class WorkerTimes final : public EventObserver {
public:
    static constexpr fakes::EventKinds kWanted{fakes::EventKind::job_started, fakes::EventKind::job_finished,
                                               fakes::EventKind::publish, fakes::EventKind::node_down,
                                               fakes::EventKind::node_up};

    explicit WorkerTimes(const Topology& topology) : topology_(topology) {}

    void on_event(const fakes::Event& event, Time now) override;
    void report(MeasuredRun& run, Time end) const;

private:
    struct Work {
        Duration done{};    // by whoever has ended it
        Duration useful{};  // of the execution that was told of first
        bool told = false;
        std::map<fakes::NodeId, Time> running;
    };
    void lose_work(fakes::NodeId node, Time now);
    void on_dispatch(const fakes::Event& event, Time now);

    const Topology& topology_;
    std::map<std::string, Work, std::less<>> jobs_;
    std::map<fakes::NodeId, Time> gone_;  // workers that are down, since when
    std::uint64_t dispatches_to_gone_ = 0;
    Duration longest_believed_{};
};

}  // namespace lockstep::sim
