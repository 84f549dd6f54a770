// Themes of draws about people who decide about jobs: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Many jobs called off at once, some twice, some before they are known, some that wait for a slot of their tenant.
void cancellations(Dice& dice, Document& scenario);

/// Jobs on the topics of approval gates, under both names, while policy is away; approvals before the question, and what was asked
/// about is lost.
void gates_without_policy(Dice& dice, Document& scenario);

/// Approvals of which only the first half is done, of what is lost meanwhile, or that a submitter has given himself.
void half_approved(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
