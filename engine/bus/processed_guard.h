// Remembers in Redis which stream messages a consumer has handled to the end, so that a crash between the end and the
// acknowledgement does not have them handled again (wire.md 4).
//
// 1. The mark carries the durable's name: two consumers of one message do not silence each other. With
//    `bus_guard_key_scope = stream` it has the documented name without one, for deployments that share their marks with others
//    and have one guarded consumer per stream (C-13).
// 2. It outlives the last possible redelivery: at least twice the ack wait.
// 3. No round trip of its own where the handler's calls carry the marks (MessageMarks): one before the handler where they do not,
//    and one after it where none of them has settled the message.
// 4. Every handler is safe without it. While Redis does not answer a call of the guard's own it steps aside or has messages handed
//    back, by `bus_guard_on_error`; a call of the handler's that gets no answer is the handler's to judge (C-11).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/config/context.h"
#include "engine/ports/bus.h"
#include "engine/runtime/task.h"
#include "engine/store/message_marks.h"
#include "engine/store/scripts.h"

namespace lockstep::engine {

class ProcessedGuard {
public:
    /// An empty durable means that there is nothing to guard. Context and scripts outlive the guard.
    ProcessedGuard(const Context& context, const StoreScripts& scripts, std::string durable);

    enum class Finding : std::uint8_t { fresh, processed, hand_back };

    /// Nothing for a message that is not guarded.
    [[nodiscard]] std::optional<MessageMarks> marks_of(const Delivery& delivery) const;
    /// Before a handler whose own calls do not ask: whether the message has been handled before. If not, it is marked as in flight.
    /// REQUIRES: nobody has asked.
    [[nodiscard]] Task<Finding> enter(MessageMarks& marks);
    /// After the handler and before the acknowledgement, unless one of its commits has done it. False: hand the message back instead.
    /// REQUIRES: not handled before.
    [[nodiscard]] Task<bool> mark_processed(MessageMarks& marks);
    /// After the handler, where the message is handed back: the in-flight mark goes, if it may stand.
    [[nodiscard]] Task<void> leave(const MessageMarks& marks);

private:
    [[nodiscard]] std::string processed_key(const Delivery& delivery) const;
    [[nodiscard]] static std::string in_flight_key(const Delivery& delivery);
    /// What an error of Redis means: true = go on without the guard.
    [[nodiscard]] bool go_on_without();

    const Context& context_;
    const StoreScripts& scripts_;
    const std::string durable_;
    const bool active_;
    bool warned_ = false;
};

}  // namespace lockstep::engine
