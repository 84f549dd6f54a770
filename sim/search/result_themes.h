// Themes of draws about reports of workers and how long they are remembered: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Records of jobs live hardly longer than the jobs: a message may come again when nothing else remembers its job. One job
/// at a time: what a crash leaves half done could not be told from what was never begun.
void short_records(Dice& dice, Document& scenario);

/// Reports of workers that nobody hears for long: they come just before the limit, contradict each other, and whoever has one
/// in hand dies, freezes or is cut off, at times alone and with a long ack wait.
void unheard_reports(Dice& dice, Document& scenario);

/// Reports that end nothing, in the midst of others that contradict each other: the one is settled while the job's lock cannot be
/// given back, the others while somebody else has it.
void settled_reports(Dice& dice, Document& scenario);

/// Policy withholds outputs of jobs that have succeeded, and from then on the store takes nothing down, and policy answers
/// nobody: what one replica has heard, no other will hear.
void withheld_outputs(Dice& dice, Document& scenario);

/// Outputs that are long, or that only a redacted copy of may be seen: the copy cannot be stored, or the look that would make it
/// comes to nothing, or whoever looks is asked to end.
void redactions(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
