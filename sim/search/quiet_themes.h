// Themes of draws that bring the one trouble that they are about and no other, so that what is promised for calm weather is put to
// the test around it: see themes.h. Each makes a scenario of its own, whatever has been drawn before.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Outputs of every size, with findings one in another and with none, come before or after their reports; output policy gives no
/// answer for a while, and whoever scans dies, with or without the request of the job.
void scans_in_peace(Dice& dice, Document& scenario);
/// Topics and workflows have limits, of which now the one and now the other is stricter, and jobs outlast them; or a deadline
/// passes while a result is in the hands of one who is frozen.
void limits_in_peace(Dice& dice, Document& scenario);
/// Rollbacks of several tenants, of steps that call themselves compensations and of records that nobody can use, at a policy that
/// takes its time.
void rollbacks_in_peace(Dice& dice, Document& scenario);
/// Strangers cancel jobs on the bus, before they are known and after, and many at once.
void strangers_cancel(Dice& dice, Document& scenario);
/// Jobs end while their dispatch is on a long way to the stream.
void long_ways_out(Dice& dice, Document& scenario);
/// Records outlive their time, some of them renewed by a late scan, and letters cannot be told of for minutes.
void afterlives(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
