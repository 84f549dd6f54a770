// What submissions in hand were routed by. A submission is routed once, and stands in the line of its cell from then on. One that is
// delivered again, because its acknowledgement was lost, must not go into the line of another cell: it would run in both. Within the
// duplicate window the stream sees to that, whatever the file says by then; beyond it a changed file has to wait until nothing is in hand.
//
// Each start writes its map down in the stream of the front (sys.front.routing), and compares it with the last one first. A start with
// another file also asks there whether a front runs, and each that goes by a different file answers with its own record.
#pragma once

#include <string>
#include <vector>

#include "engine/ports/bus.h"
#include "engine/ports/clock.h"
#include "prod/front/cell_map.h"
#include "prod/front/cells_file.h"

namespace lockstep::prod {

/// What all fronts on one NATS go by.
struct Routing {
    CellMap map;
    std::vector<std::string> cells;  // their names
    std::string file;  // of all that the file says about routes, addresses included: equal texts, equal files
};
[[nodiscard]] Routing routing_of(const CellsFile& cells);

/// Why it cannot come into force now, with the way out; empty: it can. Not applied or unknown: the stream does not answer.
[[nodiscard]] engine::Task<engine::Outcome<std::string>> find_unfinished_routing(engine::Bus& bus,
                                                                                 const engine::Clock& clock,
                                                                                 Routing routing);

/// The same where another front that runs goes by another file. Asked only if the last record is of another one: fronts that run are given
/// kFrontPatience to say so.
[[nodiscard]] engine::Task<engine::Outcome<std::string>> find_other_front(engine::Bus& bus, const engine::Clock& clock,
                                                                          Routing routing);

/// How often a front that runs looks at what others have written, and how long one that starts waits for what it asks.
inline constexpr engine::Duration kFrontLookInterval = std::chrono::seconds(1);
inline constexpr engine::Duration kFrontPatience = 3 * kFrontLookInterval;

/// What a front that runs has written, and reads. Of two that go by different files the one whose record is older has to end.
class RoutingWatch {
public:
    /// Both outlive the watch.
    RoutingWatch(engine::Bus& bus, const engine::Clock& clock, Routing routing)
        : bus_(bus), clock_(clock), routing_(std::move(routing)) {}

    /// Applied: the stream has the record.
    [[nodiscard]] engine::Task<engine::Outcome<engine::Done>> record();
    /// Reads what has been written since, and answers who asks. Why this front has to end; empty: it has not.
    [[nodiscard]] engine::Task<engine::Outcome<std::string>> look();

private:
    engine::Bus& bus_;
    const engine::Clock& clock_;
    Routing routing_;
    engine::StreamSequence own_{0};
    engine::StreamSequence next_{1};
};

}  // namespace lockstep::prod
