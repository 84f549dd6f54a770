#include "engine/bus/byte_window.h"

#include <algorithm>
#include <utility>

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

void ByteWindow::regulate(std::unique_ptr<Consumption> consumption) {
    consumption_ = std::move(consumption);
    paused_ = false;
    adjust();
}

void ByteWindow::take(std::size_t bytes) {
    notice_a_cut();
    bytes_ += bytes;
    adjust();
}

void ByteWindow::give_back(std::size_t bytes) {
    if (consumption_) notice_a_cut();
    PRECONDITION(bytes <= bytes_, "{} bytes are given back, and {} are in hand", bytes, bytes_);
    bytes_ -= bytes;
    adjust();
}

std::size_t ByteWindow::bound() const {
    const auto least = 2 * context_.ports.bus.connection().max_payload;
    return std::max(static_cast<std::size_t>(context_.tunables.bus_bytes_in_flight), static_cast<std::size_t>(least));
}

void ByteWindow::adjust() {
    if (!consumption_ || !context_.mechanisms.on(Mechanism::byte_window)) return;
    if (!paused_ && bytes_ > bound()) {
        context_.ports.log.reached("submissions_paused");
        paused_ = true;
        consumption_->pause();
    } else if (paused_ && bytes_ < bound() / 2) {
        paused_ = false;
        consumption_->resume();
    }
}

/// The server hangs up on whoever reads too slowly. It does not say so on the connection; how much was in hand tells.
void ByteWindow::notice_a_cut() {
    const BusConnection now = context_.ports.bus.connection();
    const std::uint64_t present = now.connected ? now.id : 0;
    const std::uint64_t before = std::exchange(connection_, present);
    if (before == 0 || before == present || bytes_ < bound() / 2) return;
    context_.ports.log.reached("cut_off_with_much_in_hand");
    context_.ports.log.event(
        LogLevel::warn,
        "the connection to NATS ended with many bytes in hand: if NATS names a slow consumer, lower "
        "bus_bytes_in_flight or bus_rate_limit",
        {{"bytes", bytes_}, {"bus_bytes_in_flight", context_.tunables.bus_bytes_in_flight}});
}

}  // namespace lockstep::engine
