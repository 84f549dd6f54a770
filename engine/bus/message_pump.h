// From a delivery to its verdict: decodes, bounds how much is handled at once, keeps long handlings alive, buries what
// cannot be decoded (spec: wire, section 4).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "engine/ports/bus.h"
#include "engine/runtime/scope.h"
#include "engine/runtime/wait.h"
#include "engine/scheduler/context.h"
#include "engine/scheduler/dead_letters.h"
#include "engine/scheduler/verdict.h"

namespace lockstep::engine {

/// What to do with a packet, whatever subject it came on.
class PacketHandler {
public:
    virtual ~PacketHandler() = default;
    [[nodiscard]] virtual Task<Verdict> handle(cap::BusPacket packet) = 0;
};

class MessagePump final : public DeliverySink {
public:
    MessagePump(Context& context, DeadLetters& dead_letters, PacketHandler& handler);

    void on_delivery(std::unique_ptr<Delivery> delivery) override;

    /// Tells the server, well within the ack wait, that everything here is still being worked on. Runs until cancelled.
    [[nodiscard]] Task<void> keep_alive();
    /// Waits for what is being handled until `deadline`; what has not been started is handed back. What then still runs is
    /// destroyed where it stands and handed back too.
    [[nodiscard]] Task<void> drain(MonoTime deadline);

    [[nodiscard]] std::size_t in_flight() const { return in_hand_.size(); }

private:
    [[nodiscard]] Task<void> process(std::unique_ptr<Delivery> delivery);
    /// One try at a delivery, in a slot. Nothing when the delivery has had its answer.
    [[nodiscard]] Task<std::optional<Verdict>> attempt(Delivery& delivery);
    [[nodiscard]] Task<void> bury(Delivery& delivery, std::string reason);
    [[nodiscard]] std::uint64_t delivery_limit() const;

    Context& context_;
    DeadLetters& dead_letters_;
    PacketHandler& handler_;
    Semaphore slots_;
    std::map<std::uint64_t, Delivery*> in_hand_;  // every delivery without a verdict, by order of arrival
    std::uint64_t last_number_ = 0;
    Scope handlers_;  // last: its tasks use everything above
};

}  // namespace lockstep::engine
