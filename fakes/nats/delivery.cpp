#include "fakes/nats/delivery.h"

#include <utility>

namespace lockstep::fakes {

void NatsDelivery::in_progress() {
    if (settled_) return;
    if (const auto core = core_.lock()) core->send_verdict(handed_, {EventKind::in_progress, {}});
}

void NatsDelivery::settle(Verdict verdict) {
    if (std::exchange(settled_, true)) return;
    if (const auto core = core_.lock()) core->send_verdict(handed_, verdict);
}

}  // namespace lockstep::fakes
