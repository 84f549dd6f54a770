// Jobs and runs whose handling does not come back: the process dies of them, as far as anybody can see. A killed process leaves the
// marks of all that it had in hand, so that counting marks alone accuses the innocent.
//
// 1. Who takes a job or run leaves a mark with it, and every answer takes that off, a refusal or a hand-back included. What somebody
//    else finds marked has not come back (scripts/common.lua `mark_of`).
// 2. What did not come back three times in a row is handled alone, with nothing else in hand in its process. What did not come back
//    from that three times either is set aside. So five kills in a row set nothing aside, whatever they hit.
#pragma once

#include <cstdint>

#include "engine/config/context.h"
#include "engine/runtime/room.h"
#include "engine/store/dead_letter.h"
#include "engine/store/lease.h"

namespace lockstep::engine {

/// In a row, before the handling that has just begun.
struct LostHandlings {
    std::int64_t beside_others = 0;
    std::int64_t alone = 0;
};

inline constexpr std::int64_t kLostUntilAlone = 3;
inline constexpr std::int64_t kLostAloneUntilAside = 3;

enum class HandlingStart : std::uint8_t {
    goes_on,    // alone in its process, where that is called for
    set_aside,  // nobody is to look at it any more
    not_now,    // the lock may be lost, or the process is to stop: somebody else begins again
};

/// What is to be done about what has just been taken under `lease`, by a holder of `place`. Waits for its turn to be alone. Both
/// outlive the call.
[[nodiscard, gnu::noinline]] Task<HandlingStart> start_handling(const Context& context, Lease& lease,
                                                                Room::Place& place, LostHandlings lost);

/// The letter of what is set aside. `id` is the job, or what dead_letter.h says of a run; `topic` may be empty.
[[nodiscard]] DeadLetter letter_of_lost(std::string id, std::string topic);

}  // namespace lockstep::engine
