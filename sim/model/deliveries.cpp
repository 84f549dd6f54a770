#include "sim/model/deliveries.h"

#include <algorithm>

#include "sim/model/job_keys.h"

namespace lockstep::sim {

std::optional<SchedulersMessage> schedulers_message(const fakes::Event& event) {
    if (!event.name.starts_with(kSchedulersDurables)) return std::nullopt;
    return SchedulersMessage{is_schedulers_results(event.name), event.sequence};
}

MessageLife Deliveries::life_of(const fakes::Event& event) const {
    const auto found = unusual_.find({streams_.find(event.stream), event.sequence});
    return found == unusual_.end() ? MessageLife{} : found->second;
}

std::vector<Unanswered::Delivery> Deliveries::of_schedulers(fakes::NodeId node) const {
    std::vector<Unanswered::Delivery> found;
    const auto known = nodes_.find(node);
    if (known == nodes_.end()) return found;
    for (const auto& [message, delivery] : known->second.deliveries)
        if (delivery.is_schedulers && delivery.since.at > known->second.of_former) found.push_back(delivery);
    return found;
}

EventNumber Deliveries::handed_since(fakes::NodeId node, std::string_view durable, std::uint64_t sequence) const {
    const auto known = nodes_.find(node);
    if (known == nodes_.end()) return 0;
    const NameNumbers::Number number = durables_.find(durable);
    for (const auto& [message, delivery] : known->second.deliveries)
        if (std::get<1>(message) == number && std::get<2>(message) == sequence) return delivery.since.event;
    return 0;
}

bool Deliveries::is_in_hand(const Job& job, Time by) const {
    return std::ranges::any_of(nodes_, [&](const auto& node) {
        return std::ranges::any_of(node.second.deliveries, [&](const auto& one) {
            return one.second.is_schedulers && one.second.job == &job && one.second.since.at <= by;
        });
    });
}

void Deliveries::connection_broken(fakes::NodeId node, Time now, Time new_server) {
    Unanswered& its = nodes_[node];
    if (its.broken < new_server) its.of_former = now;  // until then what was on its way still came
    its.broken = now;
}

void Deliveries::stored(const fakes::Event& event) {
    // A stream that has lost its end gives out its numbers again.
    const Place place{streams_.number_of(event.stream), event.sequence};
    if (event.packet == nullptr)
        unusual_.insert_or_assign(place, MessageLife{.is_packet = false});
    else if (!unusual_.empty())
        unusual_.erase(place);
}

Unanswered::Delivery& Deliveries::delivered(const fakes::Event& event, const Job* job, Since now) {
    const std::uint64_t bytes = event.payload.size();
    Unanswered& node = nodes_[event.node];
    const auto delivery =
        node.deliveries.emplace(message_of(event), Unanswered::Delivery{
                                                       .bytes = bytes,
                                                       .sequence = event.sequence,
                                                       .stream = streams_.name_of(streams_.find(event.stream)),
                                                       .job = job,
                                                       .since = now,
                                                   });
    delivery->second.is_schedulers = event.name.starts_with(kSchedulersDurables);
    node.bytes += bytes;
    largest_ = std::max(largest_, bytes);
    if (event.packet != nullptr && event.number <= 1) return delivery->second;
    MessageLife& life = unusual_[{streams_.number_of(event.stream), event.sequence}];
    life.deliveries = std::max(life.deliveries, event.number);
    if (event.packet == nullptr) life.garbled = now.event;
    return delivery->second;
}

std::optional<Unanswered::Delivery> Deliveries::answered(const fakes::Event& event, const Job* job) {
    Unanswered& node = nodes_[event.node];
    // A stream that has lost its end gives the number of one message to another.
    auto [found, end] = node.deliveries.equal_range(message_of(event));
    const auto same = std::find_if(found, end, [job](const auto& each) { return each.second.job == job; });
    if (same != end) found = same;
    if (found == end) return std::nullopt;
    const Unanswered::Delivery delivery = found->second;
    node.bytes -= delivery.bytes;
    node.deliveries.erase(found);
    return delivery;
}

}  // namespace lockstep::sim
