#include "fakes/nats/delivery.h"

#include <utility>

namespace lockstep::fakes {

void NatsDelivery::in_progress() {
    if (settled_) return;
    if (const auto core = core_.lock()) core->send_answer(handed_, {EventKind::in_progress, {}});
}

void NatsDelivery::settle(DeliveryAnswer answer) {
    if (std::exchange(settled_, true)) return;
    if (const auto core = core_.lock()) core->send_answer(handed_, answer);
}

}  // namespace lockstep::fakes
