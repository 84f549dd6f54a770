// Turns what was recorded of real servers into the events that the simulator's observers know, and into changes of the
// mirror. Needs no server: a recording made by hand is judged like any other.
#pragma once

#include <string>
#include <vector>

#include "prod/rehearsal/mirror.h"
#include "prod/rehearsal/recording.h"
#include "sim/scenario/topology.h"
#include "sim/world/trace.h"

namespace lockstep::prod::rehearsal {

/// What Redis executes and the bus carries to find out that everything before has been seen.
inline constexpr std::string_view kMarkerSubject = "lockstep.rehearsal.marker";

class Witness final : public fakes::Trace {
public:
    /// The topology outlives it. Times of events count from `began`.
    Witness(const sim::Topology& topology, Mirror::Owner owner, engine::WallTime began);

    /// Observers outlive this, and hear of events in the order in which they were added.
    void add_observer(sim::EventObserver& observer) { observers_.push_back(&observer); }
    void add_observer(fakes::redis::KeyspaceObserver& observer) { mirror_.add_observer(observer); }

    void see(const Record& record, engine::WallTime now);
    /// A line of the workers' record, "job time worker". An execution is a delivery that took place.
    void see_execution(const std::string& line);

    /// Facts that the harness knows, such as a submit of its own.
    bool emit(const fakes::Event& event) override;
    void set_time(engine::WallTime now) { now_ = now; }
    [[nodiscard]] sim::Time now() const;

    [[nodiscard]] Mirror& mirror() { return mirror_; }
    [[nodiscard]] std::uint64_t events() const { return events_; }
    /// How often the markers have come by, at Redis and on the bus.
    [[nodiscard]] int redis_markers() const { return redis_markers_; }
    [[nodiscard]] int bus_markers() const { return bus_markers_; }

private:
    void see_line(const MonitorLine& line);
    void see_message(const BusMessage& message);
    void see_verdict(const BusMessage& message);

    const sim::Topology& topology_;
    const engine::WallTime began_;
    engine::WallTime now_;
    Mirror mirror_;
    std::vector<sim::EventObserver*> observers_;
    std::uint64_t events_ = 0;
    int redis_markers_ = 0;
    int bus_markers_ = 0;
};

}  // namespace lockstep::prod::rehearsal
