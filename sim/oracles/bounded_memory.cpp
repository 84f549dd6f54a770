#include "sim/oracles/bounded_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

constexpr std::uint64_t kSlack = 5;
/// What was on its way when a replica asked for no more has come.
constexpr auto kOnItsWay = std::chrono::seconds{1};

}  // namespace

void BoundedMemory::on_event(const fakes::Event& event, Time) {
    switch (event.kind) {
        case fakes::EventKind::deliver: on_delivery(event); break;
        case fakes::EventKind::ack:
        case fakes::EventKind::nak:
        case fakes::EventKind::term: {
            if (event.when != fakes::When::before) break;
            InHand& replica = in_hand_[event.node];
            const auto found =
                replica.deliveries.find({std::string(event.stream), std::string(event.name), event.sequence});
            if (found == replica.deliveries.end()) break;
            replica.bytes -= found->second;
            replica.deliveries.erase(found);
            weigh(replica);
            break;
        }
        case fakes::EventKind::node_down: in_hand_.erase(event.node); break;
        default: break;
    }
}

void BoundedMemory::on_delivery(const fakes::Event& event) {
    InHand& replica = in_hand_[event.node];
    if (event.name == kSchedulersSubmissions) on_given(event, replica);
    const std::uint64_t bytes = event.payload.size();
    replica.deliveries.emplace(Message{event.stream, event.name, event.sequence}, bytes);
    replica.bytes += bytes;
    largest_ = std::max(largest_, bytes);
    const auto bound = std::max(static_cast<std::uint64_t>(tunables_.bus_bytes_in_flight), 2 * largest_);
    const bool above = replica.bytes > bound / 2;
    if (above && !std::exchange(replica.above, above)) exercise();
    replica.above = above;
    weigh(replica);
    if (replica.bytes <= kSlack * bound) return;
    violated(event.node, event.job,
             fmt::format("{} bytes of deliveries are in its hands without an answer, where {} are the bound",
                         replica.bytes, bound));
}

std::uint64_t BoundedMemory::bound() const {
    return std::max(static_cast<std::uint64_t>(tunables_.bus_bytes_in_flight), 2 * max_payload_);
}

void BoundedMemory::weigh(InHand& replica) {
    if (replica.bytes <= bound()) {
        replica.full_since.reset();
    } else if (!replica.full_since) {
        replica.full_since = now_;
        replica.full_event = present();
    }
}

void BoundedMemory::on_given(const fakes::Event& event, const InHand& replica) {
    if (max_payload_ > 0 && replica.full_since && now_ - *replica.full_since > kOnItsWay &&
        weather_.clear_for(event.node, *replica.full_since))
        violated(event.node, event.job,
                 fmt::format("it is given a submission, and has had more than {} bytes in its hands for {} ms, now {}",
                             bound(), engine::to_millis(now_ - *replica.full_since), replica.bytes),
                 replica.full_event);
}

}  // namespace lockstep::sim
