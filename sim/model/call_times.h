// How long calls of Redis about jobs take, by the longest one: what a promise about the time of a few calls has to allow.
#pragma once

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/model/state_reads.h"
#include "sim/model/weather.h"

namespace lockstep::sim {

class CallTimes {
public:
    /// Of those that no fault and no other trouble has made long.
    [[nodiscard]] engine::Duration longest() const { return longest_; }

    /// A call of this kind was made and is not answered.
    [[nodiscard]] bool is_open(fakes::NodeId node, fakes::JobNumber job, StateReads::CallKind kind) const {
        return begun_.contains(std::tuple{node, job, kind});
    }
    void on_call(const fakes::Event& call, fakes::JobNumber job, StateReads::CallKind kind, Time now,
                 const Weather& weather) {
        const std::tuple key{call.node, job, kind};
        if (call.when == fakes::When::before) begun_.try_emplace(key, now);
        if (call.when != fakes::When::answered) return;
        const auto begun = begun_.extract(key);
        if (!begun || weather.has_fault() || weather.last_trouble() > begun.mapped()) return;
        longest_ = std::max(longest_, now - begun.mapped());
    }

private:
    std::map<std::tuple<fakes::NodeId, fakes::JobNumber, StateReads::CallKind>, Time> begun_;  // and not answered
    engine::Duration longest_{};
};

}  // namespace lockstep::sim
