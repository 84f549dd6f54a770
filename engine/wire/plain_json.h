// Reads messages from JSON that is as plain as what schedulers and gateways store nearly always is. Protobuf's own reader makes a
// tree of types, a stream of events and the bytes of the message from the text, and takes twenty times as many instructions.
//
// Plain is: each field once, by its JSON name, in any order and with any space; text in printable ASCII without escapes; enumerators
// by their names; integers without a fraction or an exponent, those of 64 bits in quotes; null only for a message that is not set.
// Whatever else JSON or protobuf allow (floats, bytes, timestamps, other names of a field, ...) is left to protobuf's reader.
#pragma once

#include <string_view>

#include "engine/wire/fwd.h"

namespace lockstep::engine::wire {

/// Reads into `message`, which is empty. True: it is what protobuf's strict reader would have made of the text. False: the text is
/// not plain, which does not say whether it is sound; `message` may hold part of it.
[[nodiscard]] bool read_plain_json(std::string_view text, google::protobuf::Message& message);

}  // namespace lockstep::engine::wire
