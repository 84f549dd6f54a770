// NatsDelivery: one delivery in the hands of the engine. It may outlive its client; its answer then goes nowhere.
#pragma once

#include <memory>

#include "fakes/nats/client_core.h"

namespace lockstep::fakes {

class NatsDelivery final : public engine::Delivery {
public:
    NatsDelivery(std::weak_ptr<ClientCore> core, std::shared_ptr<const HandedMessage> handed)
        : core_(std::move(core)), handed_(std::move(handed)) {}

    [[nodiscard]] std::string_view subject() const override { return handed_->message->subject; }
    [[nodiscard]] std::string_view payload() const override { return handed_->message->payload; }
    [[nodiscard]] std::string_view stream() const override { return handed_->consumer->stream; }
    [[nodiscard]] engine::StreamSequence sequence() const override {
        return engine::StreamSequence(handed_->receipt.sequence);
    }
    [[nodiscard]] std::uint64_t delivery_count() const override {
        return static_cast<std::uint64_t>(handed_->receipt.count);
    }

    void ack() override { settle({EventKind::ack, {}}); }
    void nak(engine::Duration delay) override { settle({EventKind::nak, delay}); }
    void term() override { settle({EventKind::term, {}}); }
    void in_progress() override;

private:
    void settle(DeliveryAnswer answer);

    std::weak_ptr<ClientCore> core_;
    std::shared_ptr<const HandedMessage> handed_;
    bool settled_ = false;
};

}  // namespace lockstep::fakes
