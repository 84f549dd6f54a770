// Which kind of packet counts on which subject. Permissions on a bus are given by subject: a worker that may publish heartbeats
// could otherwise cancel jobs with a packet that says so, wherever it arrives. Stricter than the reference, where the
// packet alone decides; nobody who speaks the protocol sends one kind on the subject of another.
#pragma once

#include <string_view>

#include "engine/wire/messages.h"

namespace lockstep::engine::wire {

/// Whether a scheduler acts on a packet of this kind when it comes on this subject. Kinds that it never acts on belong nowhere.
[[nodiscard]] bool counts_on(cap::BusPacket::PayloadCase kind, std::string_view subject);

}  // namespace lockstep::engine::wire
