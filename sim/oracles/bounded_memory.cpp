#include "sim/oracles/bounded_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/wire/subjects.h"

namespace lockstep::sim {

namespace {

constexpr std::uint64_t kSlack = 5;
constexpr std::string_view kSubmissions = "dur_cordum-scheduler__sys_job_submit";
/// What was on its way when a replica asked for no more has come.
constexpr auto kOnItsWay = std::chrono::seconds{1};
/// Beyond any start, and any pause between two tries to connect.
constexpr auto kHandedOut = std::chrono::seconds{20};
constexpr std::uint64_t kBitsInByte = 8;

}  // namespace

void BoundedMemory::on_event(const fakes::Event& event, Time now) {
    now_ = now;
    weather_.on_event(event, now);
    switch (event.kind) {
        case fakes::EventKind::stored:
            if (event.subject == engine::wire::kSubjectSubmit) on_stored(event);
            break;
        case fakes::EventKind::fault:
            // The numbers of what it took are given out again.
            if (event.name == "nats.power_cut") {
                waiting_.clear();
                waiting_bytes_ = 0;
            }
            break;
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
        case fakes::EventKind::node_down:
            if (in_hand_[event.node].much) much_in_hand_ = now;
            in_hand_.erase(event.node);
            break;
        default: break;
    }
}

void BoundedMemory::on_delivery(const fakes::Event& event) {
    InHand& replica = in_hand_[event.node];
    if (event.name == kSubmissions) on_given(event, replica);
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
    const bool much = replica.bytes >= bound() / 2;
    if (std::exchange(replica.much, much) || much) much_in_hand_ = now_;
    if (replica.bytes <= bound()) {
        replica.full_since.reset();
    } else if (!replica.full_since) {
        replica.full_since = now_;
        replica.full_event = present();
    }
}

void BoundedMemory::on_stored(const fakes::Event& event) {
    ++submissions_;
    const auto [entry, fresh] = waiting_.try_emplace(event.sequence);
    if (!fresh) return;
    entry->second = {now_, event.payload.size(), std::string(event.job), present()};
    waiting_bytes_ += event.payload.size();
}

void BoundedMemory::on_given(const fakes::Event& event, const InHand& replica) {
    replicas_.insert(event.node);
    if (max_payload_ > 0 && replica.full_since && now_ - *replica.full_since > kOnItsWay &&
        weather_.clear_for(event.node, *replica.full_since))
        violated(event.node, event.job,
                 fmt::format("it is given a submission, and has had more than {} bytes in its hands for {} ms, now {}",
                             bound(), engine::to_millis(now_ - *replica.full_since), replica.bytes),
                 replica.full_event);
    const auto waiting = waiting_.find(event.sequence);
    if (waiting == waiting_.end()) return;
    judge_wait(event.node, waiting->second);
    waiting_bytes_ -= waiting->second.bytes;
    waiting_.erase(waiting);
}

/// How long the durable takes to hand out so much.
engine::Duration BoundedMemory::at_its_rate(std::uint64_t bytes) const {
    if (tunables_.bus_rate_limit == 0) return {};
    return std::chrono::seconds{1 + bytes * kBitsInByte / static_cast<std::uint64_t>(tunables_.bus_rate_limit)};
}

void BoundedMemory::judge_wait(fakes::NodeId node, const Waiting& waiting) {
    if (max_payload_ == 0 || submissions_ > tunables_.bus_max_ack_pending) return;
    if (now_ - waiting.since <= kHandedOut + at_its_rate(waiting_bytes_)) return;
    // What is sent to one who stops listening at that moment comes again after the ack wait.
    const Time before = waiting.since - 2 * kOnItsWay;
    const bool all_listen =
        much_in_hand_ < before &&
        std::ranges::all_of(replicas_, [&](fakes::NodeId replica) { return weather_.clear_for(replica, before); });
    if (!all_listen || replicas_.empty()) return;
    violated(
        node, waiting.job,
        fmt::format("its submission has stood in the stream for {} ms and is given to nobody, and no replica has "
                    "had {} bytes in its hands since {} ms",
                    engine::to_millis(now_ - waiting.since), bound() / 2, engine::to_millis(before.time_since_epoch())),
        waiting.event);
}

void BoundedMemory::at_rest(const RestView&) {
    for (const auto& [sequence, waiting] : waiting_) judge_wait({}, waiting);
}

}  // namespace lockstep::sim
