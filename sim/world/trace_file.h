// The trace as a file: one JSON object per line and event, for people and for grep. Fields at their default are left out. The first
// line says what the trace is of, where somebody knows.
#pragma once

#include <cstdio>
#include <string>

#include "sim/scenario/topology.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

/// One event as a JSON object, without a line end. A packet is shown as its type and job; a payload as text when it is
/// short and printable, else as its size and first bytes.
void append_event_json(const fakes::Event& event, Time now, const Topology& topology, std::string& out);

class TraceFile final : public EventObserver {
public:
    /// Writes beside `path`, which appears under its name only with `finish`. `heading`: a line of JSON before the events; empty = none.
    TraceFile(std::string path, const Topology& topology, const std::string& heading = {});
    ~TraceFile() override;
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;

    void on_event(const fakes::Event& event, Time now) override;
    /// Empty when the whole trace stands under its name; else what went wrong, as a sentence.
    [[nodiscard]] std::string finish();

private:
    void flush();

    const std::string path_;
    const std::string partial_path_;
    const Topology& topology_;
    std::FILE* file_;
    std::string buffer_;
    bool failed_ = false;
};

}  // namespace lockstep::sim
