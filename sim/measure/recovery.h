// The faults of a run as spans of time, and how long after each the backlog was back to what it had been before.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/measure/measured_run.h"
#include "sim/measure/step_course.h"
#include "sim/scenario/topology.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class Recovery final : public EventObserver {
public:
    static constexpr fakes::EventKinds kWanted{fakes::EventKind::fault};

    /// Both outlive this.
    Recovery(const StepCourse& backlog, const Topology& topology) : backlog_(backlog), topology_(topology) {}

    void on_event(const fakes::Event& event, Time now) override;
    void report(MeasuredRun& run) const;

private:
    struct Span {
        std::string kind;  // and at which node
        Time from{};
        Time to{};
        double backlog_before = 0;
    };
    const StepCourse& backlog_;
    const Topology& topology_;
    std::vector<Span> spans_;
    std::map<std::pair<std::string, fakes::NodeId>, std::size_t> in_force_;  // by place in the file and node
};

}  // namespace lockstep::sim
