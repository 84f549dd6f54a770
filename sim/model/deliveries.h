// What consumers have handed to the nodes and these have not answered, and how the messages came.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "fakes/event.h"
#include "sim/model/names.h"
#include "sim/model/weather.h"

namespace lockstep::sim {

struct Job;

/// Of one node, until it answers or goes down. What was handed to it twice counts twice.
struct Unanswered {
    using Message = std::tuple<NameNumbers::Number, NameNumbers::Number, std::uint64_t>;  // stream, durable, sequence
    struct Delivery {
        std::uint64_t bytes = 0;
        std::uint64_t sequence = 0;
        std::string_view stream;
        const Job* job = nullptr;
        Since since;
        bool is_schedulers = false;  // by a durable of the schedulers
        // Of a submission, as it was delivered:
        const Job* asks_for = nullptr;  // null: none
        bool is_valid = false;
        bool is_borderline = false;  // it says something that the rules of requests are about
        EventNumber first = 0;       // when the message was first delivered
    };
    std::multimap<Message, Delivery> deliveries;
    std::uint64_t bytes = 0;
    Time broken = kBeforeAll;     // when its connection last was
    Time of_former = kBeforeAll;  // by then another server had delivered whatever it has
};

/// A message of a durable of the schedulers, which are all of one stream.
struct SchedulersMessage {
    bool is_result = false;
    std::uint64_t sequence = 0;
    friend auto operator<=>(const SchedulersMessage&, const SchedulersMessage&) = default;
};
[[nodiscard]] std::optional<SchedulersMessage> schedulers_message(const fakes::Event& event);

/// How a message of a stream has come.
struct MessageLife {
    bool is_packet = true;        // as the stream holds it
    EventNumber garbled = 0;      // its last delivery that was no packet; 0: none
    std::int64_t deliveries = 0;  // the most that one consumer has made of it
};

class Deliveries {
public:
    /// Its address is stable until the node goes down.
    [[nodiscard]] const Unanswered& of(fakes::NodeId node) { return nodes_[node]; }
    [[nodiscard]] MessageLife life_of(const fakes::Event& event) const;
    /// Bytes of the largest message that was delivered so far.
    [[nodiscard]] std::uint64_t largest() const { return largest_; }

    /// When the node was first handed this message of the durable, of what it has not answered; 0: it has none.
    [[nodiscard]] EventNumber handed_since(fakes::NodeId node, std::string_view durable, std::uint64_t sequence) const;
    /// A scheduler that lives was handed a message about the job by then, and has not answered it.
    [[nodiscard]] bool is_in_hand(const Job& job, Time by) const;
    /// By durables of the schedulers, and not answered; without those of another server than the present one.
    [[nodiscard]] std::vector<Unanswered::Delivery> of_schedulers(fakes::NodeId node) const;

    void stored(const fakes::Event& event);
    Unanswered::Delivery& delivered(const fakes::Event& event, const Job* job, Since now);
    /// Nothing: it is not known.
    std::optional<Unanswered::Delivery> answered(const fakes::Event& event, const Job* job);
    /// That of the node to NATS, whose server last gave way to another process then.
    void connection_broken(fakes::NodeId node, Time now, Time new_server);
    void node_down(fakes::NodeId node) { nodes_.erase(node); }

private:
    using Place = std::pair<NameNumbers::Number, std::uint64_t>;  // stream and sequence

    [[nodiscard]] Unanswered::Message message_of(const fakes::Event& event) {
        return {streams_.number_of(event.stream), durables_.number_of(event.name), event.sequence};
    }

    NameNumbers streams_, durables_;
    std::map<fakes::NodeId, Unanswered> nodes_;
    std::map<Place, MessageLife> unusual_;  // no packets, or once no packets on their way, or delivered again
    std::uint64_t largest_ = 0;
};

}  // namespace lockstep::sim
