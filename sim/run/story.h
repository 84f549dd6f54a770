// The short story of one job: what happened to it, one line per event, oldest first. Kept to the last lines before the end.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "sim/world/topology.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class Story final : public EventObserver {
public:
    /// Tells about `job`; with an empty one about everything that no single job is concerned with.
    Story(std::string job, const Topology& topology) : job_(std::move(job)), topology_(topology) {}

    void on_event(const fakes::Event& event, Time now) override;
    [[nodiscard]] std::vector<std::string> lines() const { return {lines_.begin(), lines_.end()}; }

private:
    [[nodiscard]] bool concerns(const fakes::Event& event) const;

    std::string job_;
    const Topology& topology_;
    std::deque<std::string> lines_;
};

}  // namespace lockstep::sim
