// A bus for tests of the actors: what is published is kept, decoded; what a subscriber gets, the test hands it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/ports/bus.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"

namespace lockstep::fakes::testing {

class TestBus final : public engine::Bus {
public:
    struct Published {
        std::string subject;
        std::string message_id;
        bool core = false;
        cap::BusPacket packet;
    };
    std::vector<Published> published;
    /// What the next publishes come to, JetStream and core; left alone, they are applied. Unknown ones are kept too.
    std::function<engine::OutcomeKind(const std::string& subject)> outcome;

    [[nodiscard]] std::vector<Published> on(std::string_view subject) const {
        std::vector<Published> found;
        for (const Published& message : published) {
            if (message.subject == subject) found.push_back(message);
        }
        return found;
    }
    void deliver_bytes(const std::string& subject, std::string_view payload) {
        for (const auto& entry : subscribers_) {
            if (entry->subject == subject) entry->sink.on_message(subject, payload);
        }
    }
    template <class Payload>
    void deliver(const std::string& subject, Payload payload) {
        deliver_bytes(subject,
                      engine::wire::serialise(engine::wire::make_packet(std::move(payload), "trace", "test", {})));
    }
    [[nodiscard]] std::vector<std::string> subscriptions() const {
        std::vector<std::string> names;
        for (const auto& entry : subscribers_) names.push_back(entry->subject + "|" + entry->queue);
        return names;
    }

    engine::Task<engine::Outcome<engine::PublishAck>> publish(std::string subject, std::string payload,
                                                              std::string message_id, engine::MonoTime) override {
        engine::PublishAck ack;
        ack.sequence = engine::StreamSequence(published.size() + 1);
        co_return take(std::move(subject), payload, std::move(message_id), false, std::move(ack));
    }
    engine::Task<engine::Outcome<engine::Done>> publish_core(std::string subject, std::string payload) override {
        co_return take(std::move(subject), payload, "", true, engine::Done{});
    }
    engine::Task<engine::Outcome<std::optional<engine::StoredMessage>>> read_stream(std::string, std::string,
                                                                                    engine::StreamSequence,
                                                                                    engine::MonoTime) override {
        co_return std::optional<engine::StoredMessage>{};
    }
    engine::Task<engine::Outcome<std::optional<engine::StoredMessage>>> read_message(std::string,
                                                                                     engine::StreamSequence,
                                                                                     engine::MonoTime) override {
        co_return std::optional<engine::StoredMessage>{};
    }
    engine::Task<engine::Outcome<engine::StreamState>> stream_state(std::string, engine::MonoTime) override {
        co_return engine::StreamState{};
    }
    engine::Task<engine::Outcome<std::optional<engine::ConsumerState>>> consumer_state(std::string, std::string,
                                                                                       engine::MonoTime) override {
        co_return std::optional<engine::ConsumerState>{};
    }
    engine::Task<engine::Outcome<std::unique_ptr<engine::Consumption>>> consume(engine::ConsumerSpec,
                                                                                engine::DeliverySink&,
                                                                                engine::MonoTime) override {
        co_return engine::NotApplied{};
    }
    std::unique_ptr<engine::Subscription> subscribe(std::string subject, std::string queue,
                                                    engine::MessageSink& sink) override {
        return std::make_unique<Subscriber>(*this, std::move(subject), std::move(queue), sink);
    }
    [[nodiscard]] engine::BusConnection connection() const override { return {true, 1}; }

private:
    struct Subscriber final : engine::Subscription {
        Subscriber(TestBus& owner, std::string subject_, std::string queue_, engine::MessageSink& sink_)
            : bus(owner), subject(std::move(subject_)), queue(std::move(queue_)), sink(sink_) {
            bus.subscribers_.push_back(this);
        }
        ~Subscriber() override { std::erase(bus.subscribers_, this); }

        TestBus& bus;
        std::string subject;
        std::string queue;
        engine::MessageSink& sink;
    };

    template <class T>
    engine::Outcome<T> take(std::string subject, std::string_view payload, std::string message_id, bool core, T value) {
        const auto kind = outcome ? outcome(subject) : engine::OutcomeKind::applied;
        if (kind == engine::OutcomeKind::not_applied) return engine::NotApplied{};
        auto packet = engine::wire::decode(payload);
        published.push_back({std::move(subject), std::move(message_id), core, packet.value_or(cap::BusPacket())});
        if (kind == engine::OutcomeKind::unknown) return engine::Unknown{};
        return value;
    }

    std::vector<Subscriber*> subscribers_;
};

}  // namespace lockstep::fakes::testing
