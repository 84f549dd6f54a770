// Messages of which few deliveries are left, and the nodes that have them in flight.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "sim/model/job_keys.h"
#include "sim/model/names.h"

namespace lockstep::sim {

/// The latest delivery of such a message by a consumer of schedulers.
struct LateDelivery {
    fakes::NodeId node;
    std::int64_t number = 0;
    Since since;
    bool in_flight = false;
    bool unclear = false;       // it was in flight at several nodes at once, or arrived as something else
    bool acknowledged = false;  // and the server has not received that
};

class LateDeliveries {
public:
    /// Deliveries from number `first` on are followed; the last one of a message is number `last`. 0: the replicas differ in that, and
    /// none is followed.
    void follow(std::int64_t first, std::int64_t last) {
        first_ = first;
        last_ = last;
    }
    void delivered(const fakes::Event& event, Since now) {
        if (last_ == 0) return;
        if (event.number >= last_) last_out_.insert(key_of(event));
        if (event.number < first_ || !event.name.starts_with(kSchedulersDurables)) return;
        LateDelivery& message = late_[key_of(event)];
        message.unclear |= message.in_flight || event.packet == nullptr;
        message.node = event.node;
        message.number = event.number;
        message.since = now;
        message.in_flight = true;
    }
    /// A node answers, which the server is still to receive. Nothing: the message is not followed, or was answered before.
    [[nodiscard]] std::optional<LateDelivery> answered(const fakes::Event& event) {
        const auto found = late_.empty() ? late_.end() : late_.find(key_of(event));
        if (found == late_.end()) return {};
        LateDelivery& message = found->second;
        message.acknowledged |= event.kind == fakes::EventKind::ack;
        if (!std::exchange(message.in_flight, false)) return {};
        message.unclear |= message.node != event.node;
        return message;
    }
    /// The server has received an ack or a term.
    void settled(const fakes::Event& event) {
        if (!last_out_.empty()) last_out_.erase(key_of(event));
        const auto found = late_.empty() ? late_.end() : late_.find(key_of(event));
        if (found != late_.end()) found->second.acknowledged = false;
    }
    /// The server delivers it no more. Returns the number of the last delivery to a scheduler; 0: not known, or acknowledged.
    std::int64_t exhausted(const fakes::Event& event) {
        last_out_.erase(key_of(event));
        const auto found = late_.find(key_of(event));
        return found == late_.end() || found->second.acknowledged ? 0 : found->second.number;
    }
    /// The stream does not deliver what it has lost again, and does not report that.
    void all_lost() {
        last_out_.clear();
        late_.clear();
    }
    /// The last delivery has been made, to any consumer, and is not settled.
    [[nodiscard]] bool is_last(const fakes::Event& event) {
        return !last_out_.empty() && last_out_.contains(key_of(event));
    }
    [[nodiscard]] bool any_is_last() const { return !last_out_.empty(); }

private:
    using Message = std::tuple<NameNumbers::Number, NameNumbers::Number, std::uint64_t>;  // stream, durable, sequence
    [[nodiscard]] Message key_of(const fakes::Event& event) {
        return {names_.number_of(event.stream), names_.number_of(event.name), event.sequence};
    }

    std::int64_t first_ = 0, last_ = 0;
    NameNumbers names_;
    std::map<Message, LateDelivery> late_;
    std::set<Message> last_out_;
};

}  // namespace lockstep::sim
