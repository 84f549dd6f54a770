// A delivery that knows which server process gave it out. One that has lost its power gives out the numbers of what it had not
// synced again, and an answer names its message by number only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/ports/bus.h"

namespace lockstep::engine {

class CarriedDelivery final : public Delivery {
public:
    /// By the process that the bus is connected to now. The bus outlives the delivery.
    CarriedDelivery(std::unique_ptr<Delivery> delivery, const Bus& bus)
        : delivery_(std::move(delivery)), bus_(bus), server_(bus.connection().server) {}

    /// Whoever is answered now has delivered it.
    [[nodiscard]] bool same_server() const { return bus_.connection().server == server_; }

    [[nodiscard]] std::string_view subject() const override { return delivery_->subject(); }
    /// From here on these are its bytes. REQUIRES: the stream holds them under its number.
    void read_as_stored(std::string payload) { as_stored_ = std::move(payload); }

    [[nodiscard]] std::string_view payload() const override { return as_stored_ ? *as_stored_ : delivery_->payload(); }
    [[nodiscard]] std::string_view stream() const override { return delivery_->stream(); }
    [[nodiscard]] StreamSequence sequence() const override { return delivery_->sequence(); }
    [[nodiscard]] std::uint64_t delivery_count() const override { return delivery_->delivery_count(); }
    void ack() override { delivery_->ack(); }
    void nak(Duration delay) override { delivery_->nak(delay); }
    void term() override { delivery_->term(); }
    void in_progress() override { delivery_->in_progress(); }

private:
    const std::unique_ptr<Delivery> delivery_;
    const Bus& bus_;
    const std::string server_;
    std::optional<std::string> as_stored_;
};

}  // namespace lockstep::engine
