// Remembers in Redis which stream messages a consumer has handled to the end, so that a crash between the end and the
// acknowledgement does not have them handled again (wire.md 4).
//
// 1. The mark carries the durable's name: two consumers of one message do not silence each other. With
//    `bus_guard_key_scope = stream` it has the documented name without one, for deployments that share their marks with others
//    and have one guarded consumer per stream (C-13).
// 2. It outlives the last possible redelivery: at least twice the ack wait.
// 3. One round trip before the handler, one after.
// 4. Every handler is safe without it. While Redis is away it steps aside or has messages handed back, by
//    `bus_guard_on_error`.
#pragma once

#include <cstdint>
#include <string>

#include "engine/config/context.h"
#include "engine/ports/bus.h"
#include "engine/runtime/task.h"
#include "engine/store/scripts.h"

namespace lockstep::engine {

class ProcessedGuard {
public:
    /// An empty durable means that there is nothing to guard. Context and scripts outlive the guard.
    ProcessedGuard(const Context& context, const StoreScripts& scripts, std::string durable);

    enum class Finding : std::uint8_t { fresh, processed, hand_back };

    /// Before the handler: whether the message has been handled before. If not, it is marked as in flight.
    [[nodiscard]] Task<Finding> enter(const Delivery& delivery);
    /// After the handler and before the acknowledgement. False: hand the message back instead.
    [[nodiscard]] Task<bool> mark_processed(const Delivery& delivery);
    /// After the handler, where the message is handed back.
    [[nodiscard]] Task<void> leave(const Delivery& delivery);

private:
    [[nodiscard]] bool guards(const Delivery& delivery) const;
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
