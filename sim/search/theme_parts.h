// What themes of draws are put together from: see themes.h.
#pragma once

#include <string>

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

void add_fault(Document& scenario, Document fault);
void add_load(Document& scenario, Document line);
/// For a while the calls of this script fail, with or without effect.
void add_failing_script(Dice& dice, Document& scenario, const char* script);
/// The same, from one of its first `calls` on: where there are few of them, no time that is drawn is theirs.
void add_script_failing_when_called(Dice& dice, Document& scenario, const char* script, int calls = 4);
/// The tunables of the scenario; made if there are none.
[[nodiscard]] Document& config(Document& scenario);

[[nodiscard]] int replicas(const Document& scenario);
void at_least_two_replicas(Dice& dice, Document& scenario);
/// The name of one.
[[nodiscard]] std::string a_replica(Dice& dice, const Document& scenario);

/// Faults that name replicas beyond those that there are name others instead: a theme may settle for fewer than an earlier one has
/// named one of.
void name_present_replicas(Document& scenario);

/// One job of the workflow `travel`. Without a run, or a tenant, it names none.
void workflow_step(Document& scenario, std::string at, const char* topic, const std::string& run, bool undoable,
                   const char* tenant = nullptr);
/// Pools and workers for the steps of a workflow, of which one fails for good. Once, however many themes need them.
void open_travel_agency(Document& cluster);
/// The pools of the cluster, to be added to; those that there are without any, if it names none.
[[nodiscard]] Document& pools_of(Document& cluster);

}  // namespace lockstep::sim
