// Where in a stream a time begins, found by bisection over the times at which messages were stored.
#pragma once

#include <functional>
#include <optional>

#include "engine/ports/bus.h"
#include "engine/runtime/identifiers.h"
#include "engine/runtime/task.h"
#include "engine/runtime/time.h"

namespace lockstep::engine {

/// The first message with this number or a higher one, of any subject; nothing where there is none.
using ReadFrom = std::function<Task<Outcome<std::optional<StoredMessage>>>(StreamSequence from)>;

/// The first number whose message was not stored before `time`, by the clock of the server; behind the last where all were. Nothing
/// where `read` has no answer. As many reads as the length of the stream has binary digits.
[[nodiscard]] Task<std::optional<StreamSequence>> first_since(StreamState stream, WallTime time, ReadFrom read);

}  // namespace lockstep::engine
