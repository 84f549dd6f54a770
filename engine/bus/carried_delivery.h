// A delivery that knows which server process gave it out. One that has lost its power gives out the numbers of what it had not
// synced again, and an answer names its message by number only: an acknowledgement that comes to another process than the
// one that delivered could take off a message that nobody has seen.
#pragma once

#include <memory>
#include <string>

#include "engine/ports/bus.h"

namespace lockstep::engine {

/// Asks another process for a redelivery instead, at once: what was done is remembered by the message's processed mark, and the
/// message that has the number now comes again unharmed. The bus outlives the delivery.
[[nodiscard]] std::unique_ptr<Delivery> carried_by_this_server(std::unique_ptr<Delivery> delivery, const Bus& bus);

}  // namespace lockstep::engine
