// Deliveries of the two kinds of consumers. They stay valid when the connection goes: their answers are then lost, and
// the server delivers again.
#pragma once

#include <functional>
#include <memory>

#include "engine/ports/bus.h"
#include "prod/nats/jetstream_api.h"
#include "prod/nats/nats_connection.h"

namespace lockstep::prod {

/// What somebody who only watches may be told of. Empty: nobody asks. Called on the loop's thread, and not to throw.
struct BusWatch {
    /// A durable is being read.
    std::function<void(const engine::ConsumerSpec& spec)> bound;
    /// A message of a durable has come. The view ends with the call.
    std::function<void(std::string_view payload)> delivered;
    /// The last answer to a message was given; by the server's clock it had been in the stream since `stored_at`.
    std::function<void(std::string_view subject, engine::WallTime stored_at)> acknowledged;
    /// A stream took a message that it did not have.
    std::function<void(std::string_view subject)> stored;
};

/// A delivery of a durable consumer. The answers are messages to the reply subject, the form that every client uses;
/// the library's own acknowledgements work only on subscriptions that it made itself.
class StreamDelivery final : public engine::Delivery {
public:
    /// `watch` may be null.
    StreamDelivery(std::weak_ptr<NatsConnection> connection, NatsMessage message,
                   std::shared_ptr<const BusWatch> watch);

    [[nodiscard]] std::string_view subject() const override;
    [[nodiscard]] std::string_view payload() const override;
    [[nodiscard]] std::string_view stream() const override { return info_.stream; }
    [[nodiscard]] engine::StreamSequence sequence() const override { return engine::StreamSequence(info_.sequence); }
    [[nodiscard]] std::uint64_t delivery_count() const override { return info_.delivered; }

    void ack() override;
    void nak(engine::Duration delay) override { settle(jetstream::nak_body(delay)); }
    void term() override { settle("+TERM"); }
    void in_progress() override;

private:
    void settle(const std::string& answer);

    std::weak_ptr<NatsConnection> connection_;
    NatsMessage message_;
    std::shared_ptr<const BusWatch> watch_;
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
