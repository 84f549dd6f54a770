#include "engine/bus/carried_delivery.h"

#include <utility>

namespace lockstep::engine {

namespace {

class CarriedDelivery final : public Delivery {
public:
    CarriedDelivery(std::unique_ptr<Delivery> delivery, const Bus& bus)
        : delivery_(std::move(delivery)), bus_(bus), server_(bus.connection().server) {}

    [[nodiscard]] std::string_view subject() const override { return delivery_->subject(); }
    [[nodiscard]] std::string_view payload() const override { return delivery_->payload(); }
    [[nodiscard]] std::string_view stream() const override { return delivery_->stream(); }
    [[nodiscard]] std::uint64_t sequence() const override { return delivery_->sequence(); }
    [[nodiscard]] std::uint64_t delivery_count() const override { return delivery_->delivery_count(); }

    void ack() override {
        if (same_server())
            delivery_->ack();
        else
            delivery_->nak(Duration{0});
    }
    void term() override {
        if (same_server())
            delivery_->term();
        else
            delivery_->nak(Duration{0});
    }
    void nak(Duration delay) override { delivery_->nak(delay); }
    void in_progress() override { delivery_->in_progress(); }

private:
    /// While there is no connection the answer goes nowhere.
    [[nodiscard]] bool same_server() const { return bus_.connection().server == server_; }

    const std::unique_ptr<Delivery> delivery_;
    const Bus& bus_;
    const std::string server_;
};

}  // namespace

std::unique_ptr<Delivery> carried_by_this_server(std::unique_ptr<Delivery> delivery, const Bus& bus) {
    return std::make_unique<CarriedDelivery>(std::move(delivery), bus);
}

}  // namespace lockstep::engine
