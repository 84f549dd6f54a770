// The trace as a file: one JSON object per line and event, for people and for grep. Fields at their default are left out. The first
// line says what the trace is of, where somebody knows.
#pragma once

#include <string>

#include "reports/atomic_file.h"
#include "sim/scenario/topology.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

/// One event as a JSON object, without a line end. A packet is shown as its type and job; a payload as text when it is
/// short and printable, else as its size and first bytes.
void append_event_json(const fakes::Event& event, Time now, const Topology& topology, std::string& out);

class TraceFile final : public EventObserver {
public:
    /// `file` outlives it, and is finished by its owner afterwards. `heading`: a line of JSON before the events; empty = none.
    TraceFile(reports::AtomicFile& file, const Topology& topology, const std::string& heading = {});
    ~TraceFile() override;
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;

    void on_event(const fakes::Event& event, Time now) override;

private:
    void flush();

    reports::AtomicFile& file_;
    const Topology& topology_;
    std::string buffer_;
};

}  // namespace lockstep::sim
