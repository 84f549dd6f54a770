// How often the engine came to the rare places that it tells of by name (`lockstep list`, "reached").
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sim/measure/measured_run.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class ReachedCounts final : public EventObserver {
public:
    static constexpr fakes::EventKinds kWanted{fakes::EventKind::reached};

    void on_event(const fakes::Event& event, Time /*now*/) override { ++counts_[std::string(event.name)]; }
    void report(MeasuredRun& run) const {
        for (const auto& [name, count] : counts_) run.values["times_reached." + name] = static_cast<double>(count);
    }

private:
    std::map<std::string, std::uint64_t, std::less<>> counts_;
};

}  // namespace lockstep::sim
