// The bus of the engines, and what they have in hand of it: for an operator who asks what a replica is at (SIGUSR1).
//
// A message is in hand from its delivery until it is acknowledged, handed back or dropped. The loop's thread only.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/ports/bus.h"
#include "engine/ports/clock.h"

namespace lockstep::prod {

class WatchedBus final : public engine::Bus {
public:
    struct InHand {
        const engine::Delivery* delivery;
        engine::MonoTime since;
    };
    /// The oldest first.
    using Hand = std::list<InHand>;
    struct Durable {
        std::string stream;
        std::string name;
    };

    /// Both outlive it, and everything that it has delivered.
    WatchedBus(engine::Bus& bus, const engine::Clock& clock) : bus_(bus), clock_(clock) {}

    /// Valid until the next step of the loop.
    [[nodiscard]] const Hand& in_hand() const { return *hand_; }
    /// Those that have been bound to.
    [[nodiscard]] const std::vector<Durable>& durables() const { return durables_; }

    [[nodiscard]] engine::Task<engine::Outcome<engine::PublishAck>> publish(std::string subject, std::string payload,
                                                                            std::string message_id,
                                                                            engine::MonoTime deadline) override {
        return bus_.publish(std::move(subject), std::move(payload), std::move(message_id), deadline);
    }
    [[nodiscard]] engine::Task<engine::Outcome<engine::Done>> publish_core(std::string subject,
                                                                           std::string payload) override {
        return bus_.publish_core(std::move(subject), std::move(payload));
    }
    [[nodiscard]] engine::Task<engine::Outcome<std::optional<engine::StoredMessage>>> read_stream(
        std::string stream, std::string subject, engine::StreamSequence from_sequence,
        engine::MonoTime deadline) override {
        return bus_.read_stream(std::move(stream), std::move(subject), from_sequence, deadline);
    }
    [[nodiscard]] engine::Task<engine::Outcome<std::optional<engine::StoredMessage>>> read_message(
        std::string stream, engine::StreamSequence sequence, engine::MonoTime deadline) override {
        return bus_.read_message(std::move(stream), sequence, deadline);
    }
    [[nodiscard]] engine::Task<engine::Outcome<engine::StreamState>> stream_state(std::string stream,
                                                                                  engine::MonoTime deadline) override {
        return bus_.stream_state(std::move(stream), deadline);
    }
    [[nodiscard]] engine::Task<engine::Outcome<std::optional<engine::ConsumerState>>> consumer_state(
        std::string stream, std::string durable, engine::MonoTime deadline) override {
        return bus_.consumer_state(std::move(stream), std::move(durable), deadline);
    }
    [[nodiscard]] engine::Task<engine::Outcome<std::unique_ptr<engine::Consumption>>> consume(
        engine::ConsumerSpec spec, engine::DeliverySink& sink, engine::MonoTime deadline) override;
    [[nodiscard]] std::unique_ptr<engine::Subscription> subscribe(std::string subject, std::string queue,
                                                                  engine::MessageSink& sink) override {
        return bus_.subscribe(std::move(subject), std::move(queue), sink);
    }
    [[nodiscard]] engine::BusConnection connection() const override { return bus_.connection(); }

private:
    class Sink;
    class Watched;
    class WatchedConsumption;

    engine::Bus& bus_;
    const engine::Clock& clock_;
    std::shared_ptr<Hand> hand_ = std::make_shared<Hand>();
    std::vector<Durable> durables_;
};

}  // namespace lockstep::prod
