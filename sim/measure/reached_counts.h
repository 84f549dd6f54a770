// How often the engine came to the rare places that it tells of by name (`lockstep list`, "reached").
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sim/measure/measured_run.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class ReachedCounts final : public EventObserver {
public:
    static constexpr fakes::EventKinds kWanted{fakes::EventKind::reached};

    void on_event(const fakes::Event& event, Time /*now*/) override { ++counts_[std::string(event.name)]; }
    void report(MeasuredRun& run) const {
        for (const auto& [name, count] : counts_) run.values["times_reached." + name] = static_cast<double>(count);
        run.values["outputs_passed_unseen"] = count_of("output_passed_unseen");
        run.values["quarantined_unseen"] = count_of("output_withheld_unseen");
    }

private:
    [[nodiscard]] double count_of(std::string_view mark) const {
        const auto found = counts_.find(mark);
        return found == counts_.end() ? 0 : static_cast<double>(found->second);
    }

    std::map<std::string, std::uint64_t, std::less<>> counts_;
};

}  // namespace lockstep::sim
