#include "sim/oracles/calm.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace lockstep::sim {

namespace {

/// Whether a fault of this kind goes on until its end is told; the others are over when they have begun.
bool lasts(std::string_view fault) {
    constexpr std::array<std::string_view, 8> kAtOnce{"redis.restart",  "redis.failover", "redis.script_flush",
                                                      "redis.evict",    "redis.corrupt",  "nats.restart",
                                                      "nats.power_cut", "config.update"};
    return std::ranges::find(kAtOnce, fault) == kAtOnce.end();
}

}  // namespace

void Calm::on_event(const fakes::Event& event, Time now) {
    switch (event.kind) {
        case fakes::EventKind::fault:
            if (lasts(event.name)) disturbances_ = std::max(0, disturbances_ + (event.from == "begin" ? 1 : -1));
            trouble(now);
            break;
        case fakes::EventKind::node_up: since_ = now; break;
        case fakes::EventKind::node_down: trouble(now); break;
        default: break;
    }
}

void Calm::trouble(Time now) {
    since_ = now;
    last_trouble_ = now;
}

}  // namespace lockstep::sim
