// Turns what was recorded of real servers into the events that the simulator's observers know, and into changes of the
// mirror. Needs no server: a recording made by hand is judged like any other.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "prod/rehearsal/mirror.h"
#include "prod/rehearsal/recording.h"
#include "sim/scenario/topology.h"
#include "sim/world/name_numbers.h"
#include "sim/world/trace.h"

namespace lockstep::prod::rehearsal {

/// What Redis executes and the bus carries to find out that everything before has been seen.
inline constexpr std::string_view kMarkerSubject = "lockstep.rehearsal.marker";

class Witness final : public fakes::Trace {
public:
    /// The topology outlives it. Times of events count from `began`.
    Witness(const sim::Topology& topology, Mirror::Owner owner, engine::WallTime began);

    /// Observers outlive this, and hear of events of the kinds that they want in the order in which they were added.
    void add_observer(sim::EventObserver& observer, fakes::EventKinds wanted = fakes::EventKinds::all()) {
        observers_.push_back({&observer, wanted});
    }
    /// The same of changes of the mirror.
    void add_observer(fakes::redis::KeyspaceObserver& observer, const fakes::redis::KeyspaceChanges& changes) {
        mirror_.add_observer(observer, changes);
    }

    /// `now`: when it was taken down, of what has no time of its own.
    void see(const Record& record, engine::WallTime now);
    /// An execution is a delivery that took place.
    void see_execution(const std::string& line);

    bool emit(const fakes::Event& told) override;
    void set_time(engine::WallTime now) { now_ = now; }
    [[nodiscard]] sim::Time now() const;

    [[nodiscard]] Mirror& mirror() { return mirror_; }
    [[nodiscard]] std::uint64_t events() const { return events_; }
    /// When the event was told that was told last.
    [[nodiscard]] const sim::Time& told_at() const { return told_at_; }
    /// How often the markers have come by, at Redis and on the bus.
    [[nodiscard]] int redis_markers() const { return redis_markers_; }
    [[nodiscard]] int bus_markers() const { return bus_markers_; }

private:
    void see_line(const MonitorLine& line);
    void see_message(const BusMessage& message);
    void see_early(const BusMessage& message);
    void see_verdict(const BusMessage& message);
    void see_deed(const Deed& deed);
    void tell_stored(const BusMessage& message, std::uint64_t sequence);
    /// Whether it is the answer of a stream to whom it took a message from.
    bool see_taken(const BusMessage& answer);

    const sim::Topology& topology_;
    const engine::WallTime began_;
    engine::WallTime now_;
    Mirror mirror_;
    struct Observer {
        sim::EventObserver* observer;
        fakes::EventKinds wanted;
    };
    std::vector<Observer> observers_;
    sim::NameNumbers job_numbers_;
    sim::Time told_at_{};
    std::uint64_t events_ = 0;
    int redis_markers_ = 0;
    int bus_markers_ = 0;
    std::map<std::string, BusMessage> offered_;  // to streams, which have not answered, by where they answer to
    std::set<std::string> stored_ids_;
};

}  // namespace lockstep::prod::rehearsal
