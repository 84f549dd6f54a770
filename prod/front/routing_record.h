// What submissions in hand were routed by. A submission is routed once, and stands in the line of its cell from then on. One that is
// delivered again, because its acknowledgement was lost, must not go into the line of another cell: it would run in both. Within the
// duplicate window the stream sees to that, whatever the file says by then; beyond it a changed file has to wait until nothing is in hand.
//
// Each start writes its map down in the stream of the front (sys.front.routing), and compares it with the last one first.
#pragma once

#include <string>
#include <vector>

#include "engine/ports/bus.h"
#include "engine/ports/clock.h"
#include "prod/front/cell_map.h"

namespace lockstep::prod {

/// Why `map` cannot come into force now, with the way out; empty: it can. Not applied or unknown: the stream does not answer.
[[nodiscard]] engine::Task<engine::Outcome<std::string>> find_unfinished_routing(engine::Bus& bus,
                                                                                 const engine::Clock& clock,
                                                                                 CellMap map,
                                                                                 std::vector<std::string> cells);

/// Applied: the stream has it.
[[nodiscard]] engine::Task<engine::Outcome<engine::Done>> record_routing(engine::Bus& bus, const engine::Clock& clock,
                                                                         CellMap map, std::vector<std::string> cells);

}  // namespace lockstep::prod
