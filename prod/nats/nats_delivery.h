// Deliveries of the two kinds of consumers. They stay valid when the connection goes: their answers are then lost, and
// the server delivers again.
#pragma once

#include <memory>

#include "engine/ports/bus.h"
#include "prod/nats/jetstream_api.h"
#include "prod/nats/nats_connection.h"

namespace lockstep::prod {

/// A delivery of a durable consumer. The answers are messages to the reply subject, the form that every client uses;
/// the library's own acknowledgements work only on subscriptions that it made itself.
class StreamDelivery final : public engine::Delivery {
public:
    StreamDelivery(std::weak_ptr<NatsConnection> connection, NatsMessage message);

    [[nodiscard]] std::string_view subject() const override;
    [[nodiscard]] std::string_view payload() const override;
    [[nodiscard]] std::string_view stream() const override { return info_.stream; }
    [[nodiscard]] engine::StreamSequence sequence() const override { return engine::StreamSequence(info_.sequence); }
    [[nodiscard]] std::uint64_t delivery_count() const override { return info_.delivered; }

    void ack() override { settle("+ACK"); }
    void nak(engine::Duration delay) override { settle(jetstream::nak_body(delay)); }
    void term() override { settle("+TERM"); }
    void in_progress() override;

private:
    void settle(const std::string& answer);

    std::weak_ptr<NatsConnection> connection_;
    NatsMessage message_;
    jetstream::DeliveryInfo info_;  // views into message_
    bool settled_ = false;
};

/// A message of plain NATS in the clothes of a delivery: there is nobody to send an answer to.
class CoreDelivery final : public engine::Delivery {
public:
    explicit CoreDelivery(NatsMessage message) : message_(std::move(message)) {}

    [[nodiscard]] std::string_view subject() const override;
    [[nodiscard]] std::string_view payload() const override;
    [[nodiscard]] std::string_view stream() const override { return {}; }
    [[nodiscard]] engine::StreamSequence sequence() const override { return {}; }
    [[nodiscard]] std::uint64_t delivery_count() const override { return 0; }
    void ack() override {}
    void nak(engine::Duration) override {}
    void term() override {}
    void in_progress() override {}

private:
    NatsMessage message_;
};

[[nodiscard]] std::string_view subject_of(const NatsMessage& message);
[[nodiscard]] std::string_view payload_of(const NatsMessage& message);

}  // namespace lockstep::prod
