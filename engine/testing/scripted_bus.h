// A bus whose answers a test writes by hand. Left alone it stores what is published and acknowledges it; nothing is
// delivered but what the test hands in.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/ports/bus.h"
#include "engine/testing/virtual_loop.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine::testing {

/// What became of one delivery. The first of ack, nak and term counts.
struct DeliveryFate {
    enum class Answer : std::uint8_t { none, ack, nak, term };
    Answer answer = Answer::none;
    Duration nak_delay{};
    int in_progress = 0;
    bool dropped = false;  // destroyed; without an answer the server delivers it again

    [[nodiscard]] bool acked() const { return answer == Answer::ack; }
    [[nodiscard]] bool handed_back(Duration delay) const { return answer == Answer::nak && nak_delay == delay; }
};
using Fate = std::shared_ptr<DeliveryFate>;

struct DeliverySpec {
    std::string subject;
    std::string payload;
    std::uint64_t count = 1;
    std::uint64_t sequence = 1;
    std::string stream = "CORDUM_SYS";
};
[[nodiscard]] std::unique_ptr<Delivery> make_delivery(DeliverySpec spec, Fate fate);

class ScriptedBus final : public Bus {
public:
    struct Published {
        std::string subject;
        std::string payload;
        std::string message_id;  // empty for a core publish
        MonoTime when;
    };

    /// The clock outlives the port.
    explicit ScriptedBus(const VirtualClock& clock) : clock_(clock) {}

    /// Decides one stream publish instead of storing it. It may call `store` itself.
    std::function<Outcome<PublishAck>(const Published&)> on_publish;
    /// Decides one look into the stream.
    std::function<Outcome<std::optional<StoredMessage>>(const std::string& subject, StreamSequence from)> on_read;
    /// Decides one look at a message by its number, and is asked instead of what has been stored.
    std::function<Outcome<std::optional<StoredMessage>>(StreamSequence sequence)> on_read_message;
    Duration latency{};
    BusConnection state{true, 1, "server-1", 1'048'576};
    bool stream_limited = false;
    bool stream_clustered = false;
    std::string stream_error;    // what `stream_state` is refused with, when not empty
    std::string consumer_error;  // the same for `consume`
    WallTime stream_created{};
    /// What durables say of themselves. One that is bound and not named here has nothing to do.
    std::map<std::string, ConsumerState> consumer_states;
    std::set<std::string> missing_durables;
    std::string consumer_state_error;  // what asking them is refused with, when not empty

    std::vector<Published> published;  // to streams
    std::vector<Published> broadcast;  // on core NATS

    /// Puts a message into the stream and acknowledges it.
    PublishAck store(const Published& message);
    /// What it says of its last message, whatever it holds.
    void claim_last(StreamSequence last) { last_sequence_ = last; }
    [[nodiscard]] std::vector<Published> published_on(std::string_view subject) const;
    /// The queue group of the latest core subscription to each subject.
    std::map<std::string, std::string> queue_groups;
    [[nodiscard]] bool paused(const std::string& subject) const { return paused_.contains(subject); }
    [[nodiscard]] std::size_t listeners(const std::string& subject) const { return listeners_.count(subject); }

    /// Hands a message to the consumer of its subject, under the next sequence unless the test names one above 1.
    /// REQUIRES: there is one.
    Fate deliver(DeliverySpec spec);
    /// Hands a message to every core subscriber of its subject.
    void tell(const std::string& subject, const cap::BusPacket& packet);
    void tell_bytes(const std::string& subject, const std::string& payload);

    Task<Outcome<PublishAck>> publish(std::string subject, std::string payload, std::string message_id,
                                      MonoTime deadline) override;
    Task<Outcome<Done>> publish_core(std::string subject, std::string payload) override;
    Task<Outcome<std::optional<StoredMessage>>> read_stream(std::string stream, std::string subject,
                                                            StreamSequence from_sequence, MonoTime deadline) override;
    Task<Outcome<std::optional<StoredMessage>>> read_message(std::string stream, StreamSequence sequence,
                                                             MonoTime deadline) override;
    Task<Outcome<StreamState>> stream_state(std::string stream, MonoTime deadline) override;
    Task<Outcome<std::optional<ConsumerState>>> consumer_state(std::string stream, std::string durable,
                                                               MonoTime deadline) override;
    Task<Outcome<std::unique_ptr<Consumption>>> consume(ConsumerSpec spec, DeliverySink& sink,
                                                        MonoTime deadline) override;
    std::unique_ptr<Subscription> subscribe(std::string subject, std::string queue, MessageSink& sink) override;
    BusConnection connection() const override { return state; }

private:
    class Listening;
    class Consuming;
    const VirtualClock& clock_;
    std::vector<StoredMessage> stored_;
    StreamSequence last_sequence_{100};
    std::uint64_t last_delivered_ = 0;
    std::map<std::string, DeliverySink*> consumers_;
    std::set<std::string> durables_;  // bound at some time
    std::set<std::string> paused_;    // subjects whose consumer asks for nothing
    std::multimap<std::string, MessageSink*> listeners_;
};

}  // namespace lockstep::engine::testing
