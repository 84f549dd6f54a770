// Themes of draws about what operators write into settings: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Documents of tenants, teams, workflows and steps that allow and forbid topics, each in its own way; and requests that
/// are delivered with others than are stored.
void tightening_layers(Dice& dice, Document& scenario);
/// Settings that stand there when schedulers start with files that say otherwise, and that others change meanwhile.
void written_settings(Dice& dice, Document& scenario);
/// Settings that cannot be read for a while, or say what nobody understands, while policy is away now and then.
void unreadable_settings(Dice& dice, Document& scenario);
/// Limits of topics and workflows that come, change and go again while jobs are under way.
void changing_limits(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
