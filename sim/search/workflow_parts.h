// What themes about workflow runs are put together from: see themes.h.
#pragma once

#include <string>

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Engines, at least so many, what gates need, and a topic of work.
void open_workshop(Dice& dice, Document& scenario, int engines_min);

/// Stores the definition of a workflow with these steps; `timeout_sec` of 0: its runs may take as long as they like.
void put_workflow(Document& scenario, std::string id, Document steps, int timeout_sec = 0, std::string at = "1s");
/// A line of the load that starts a run.
[[nodiscard]] Document run_started(std::string at, const char* workflow, std::string run,
                                   Document input = Document::object());

/// A step whose job any worker does.
[[nodiscard]] Document work_step();
/// How often a step is tried again, and with which pauses.
[[nodiscard]] Document drawn_retry(Dice& dice);

}  // namespace lockstep::sim
