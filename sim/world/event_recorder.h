// Keeps what `Recording` asks for while a run is told.
#pragma once

#include <string_view>
#include <utility>

#include "sim/scenario/topology.h"
#include "sim/world/recorded_event.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class EventRecorder final : public DigestObserver {
public:
    EventRecorder(const Recording& wanted, const Topology& topology) : wanted_(wanted), topology_(topology) {}

    void on_digested(std::uint64_t number, std::string_view bytes, const fakes::Event& event, Time now) override;
    [[nodiscard]] Recorded take() { return std::move(recorded_); }

private:
    const Recording wanted_;
    const Topology& topology_;
    Recorded recorded_;
};

}  // namespace lockstep::sim
