// NatsClient: the bus port over a simulated connection to a NatsServer, for one process on one node. It behaves as the
// production client does:
//
// 1. It connects by itself and reconnects for ever; while there is no connection it refuses (not applied) and buffers
//    nothing.
// 2. A publish whose deadline passes is *unknown* and leaves the connection alone; so is one whose connection breaks, or
//    which the stream refuses.
// 3. Verdicts on a delivery travel on whatever connection there is at the time.
//
// Destroying it hangs up. Deliveries and subscriptions may outlive it; tasks of its calls must be destroyed, not resumed,
// after it: with the node's coroutines, when the node crashes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/ports/bus.h"
#include "fakes/nats/client_core.h"
#include "fakes/nats/server.h"
#include "fakes/world.h"

namespace lockstep::fakes {

class NatsClient final : public engine::Bus {
public:
    /// Starts to connect. World and server outlive the client.
    NatsClient(World& world, NatsServer& server, NodeId node, NatsClientOptions options = {});
    NatsClient(const NatsClient&) = delete;
    NatsClient& operator=(const NatsClient&) = delete;
    ~NatsClient() override;

    [[nodiscard]] engine::Task<engine::Outcome<engine::PublishAck>> publish(std::string subject, std::string payload,
                                                                            std::string message_id,
                                                                            engine::MonoTime deadline) override;
    [[nodiscard]] engine::Task<engine::Outcome<engine::Done>> publish_core(std::string subject,
                                                                           std::string payload) override;
    [[nodiscard]] engine::Task<engine::Outcome<std::optional<engine::StoredMessage>>> read_stream(
        std::string stream, std::string subject, engine::StreamSequence from_sequence,
        engine::MonoTime deadline) override;
    [[nodiscard]] engine::Task<engine::Outcome<std::optional<engine::StoredMessage>>> read_message(
        std::string stream, engine::StreamSequence sequence, engine::MonoTime deadline) override;
    [[nodiscard]] engine::Task<engine::Outcome<engine::StreamState>> stream_state(std::string stream,
                                                                                  engine::MonoTime deadline) override;
    [[nodiscard]] engine::Task<engine::Outcome<std::optional<engine::ConsumerState>>> consumer_state(
        std::string stream, std::string durable, engine::MonoTime deadline) override;
    [[nodiscard]] engine::Task<engine::Outcome<std::unique_ptr<engine::Consumption>>> consume(
        engine::ConsumerSpec spec, engine::DeliverySink& sink, engine::MonoTime deadline) override;
    [[nodiscard]] std::unique_ptr<engine::Subscription> subscribe(std::string subject, std::string queue,
                                                                  engine::MessageSink& sink) override;
    [[nodiscard]] engine::BusConnection connection() const override { return core_->connection(); }

private:
    /// Sends the request that `ask(session, request id)` makes and waits for the answer.
    template <class Ask>
    engine::Task<engine::Outcome<NatsReply>> request(Ask ask, engine::MonoTime deadline);
    engine::Task<engine::Outcome<NatsReply>> publish_and_wait(MessagePtr message, CallFault fault,
                                                              engine::MonoTime deadline);
    /// What is about to be sent, after the fault plan had its way with the bytes.
    [[nodiscard]] MessagePtr sealed(std::shared_ptr<BusMessage> message);

    /// False: the node went down at that.
    [[nodiscard]] bool tell_read(const BusMessage& message, const std::string& stream, engine::StreamSequence sequence);

    World& world_;
    const NodeId node_;
    const std::shared_ptr<ClientCore> core_;
};

}  // namespace lockstep::fakes
