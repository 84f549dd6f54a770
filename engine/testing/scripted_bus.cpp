#include "engine/testing/scripted_bus.h"

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"

namespace lockstep::engine::testing {

namespace {

class FakeDelivery final : public Delivery {
public:
    FakeDelivery(DeliverySpec spec, Fate fate) : spec_(std::move(spec)), fate_(std::move(fate)) {}
    ~FakeDelivery() override { fate_->dropped = true; }

    std::string_view subject() const override { return spec_.subject; }
    std::string_view payload() const override { return spec_.payload; }
    std::string_view stream() const override { return spec_.stream; }
    StreamSequence sequence() const override { return StreamSequence(spec_.sequence); }
    std::uint64_t delivery_count() const override { return spec_.count; }

    void ack() override { decide(DeliveryFate::Answer::ack); }
    void nak(Duration delay) override {
        if (fate_->answer == DeliveryFate::Answer::none) fate_->nak_delay = delay;
        decide(DeliveryFate::Answer::nak);
    }
    void term() override { decide(DeliveryFate::Answer::term); }
    void in_progress() override { ++fate_->in_progress; }

private:
    void decide(DeliveryFate::Answer answer) {
        if (fate_->answer == DeliveryFate::Answer::none) fate_->answer = answer;
    }

    DeliverySpec spec_;
    Fate fate_;
};

}  // namespace

std::unique_ptr<Delivery> make_delivery(DeliverySpec spec, Fate fate) {
    return std::make_unique<FakeDelivery>(std::move(spec), std::move(fate));
}

class ScriptedBus::Listening final : public Subscription {
public:
    Listening(ScriptedBus& bus, std::string subject, MessageSink& sink)
        : bus_(bus), entry_(bus.listeners_.emplace(std::move(subject), &sink)) {}
    ~Listening() override { bus_.listeners_.erase(entry_); }

private:
    ScriptedBus& bus_;
    std::multimap<std::string, MessageSink*>::iterator entry_;
};

class ScriptedBus::Consuming final : public Consumption {
public:
    Consuming(ScriptedBus& bus, std::string subject) : bus_(bus), subject_(std::move(subject)) {}
    ~Consuming() override {
        bus_.consumers_.erase(subject_);
        bus_.paused_.erase(subject_);
    }
    void pause() override { bus_.paused_.insert(subject_); }
    void resume() override { bus_.paused_.erase(subject_); }

private:
    ScriptedBus& bus_;
    std::string subject_;
};

PublishAck ScriptedBus::store(const Published& message) {
    last_sequence_ = last_sequence_.next();
    stored_.push_back({last_sequence_, message.message_id, message.payload, message.subject, clock_.now()});
    return {"CORDUM_JOBS", last_sequence_, false, state.id};
}

std::vector<ScriptedBus::Published> ScriptedBus::published_on(std::string_view subject) const {
    std::vector<Published> matching;
    for (const Published& message : published) {
        if (message.subject == subject) matching.push_back(message);
    }
    return matching;
}

Fate ScriptedBus::deliver(DeliverySpec spec) {
    auto fate = std::make_shared<DeliveryFate>();
    if (spec.sequence == 1) spec.sequence = ++last_delivered_;
    DeliverySink& sink = *consumers_.at(spec.subject);
    sink.on_delivery(make_delivery(std::move(spec), fate));
    return fate;
}

void ScriptedBus::tell(const std::string& subject, const cap::BusPacket& packet) {
    tell_bytes(subject, wire::serialise(packet));
}

void ScriptedBus::tell_bytes(const std::string& subject, const std::string& payload) {
    const auto [first, last] = listeners_.equal_range(subject);
    for (auto listener = first; listener != last; ++listener) listener->second->on_message(subject, payload);
}

Task<Outcome<PublishAck>> ScriptedBus::publish(std::string subject, std::string payload, std::string message_id,
                                               MonoTime) {
    Published message{std::move(subject), std::move(payload), std::move(message_id), clock_.monotonic()};
    published.push_back(message);
    if (latency > Duration{0}) co_await clock_.sleep(latency);
    if (on_publish) co_return on_publish(message);
    co_return store(message);
}

Task<Outcome<Done>> ScriptedBus::publish_core(std::string subject, std::string payload) {
    broadcast.push_back({std::move(subject), std::move(payload), {}, clock_.monotonic()});
    co_return Done{};
}

Task<Outcome<std::optional<StoredMessage>>> ScriptedBus::read_stream(std::string, std::string subject,
                                                                     StreamSequence from_sequence, MonoTime) {
    if (on_read) co_return on_read(subject, from_sequence);
    for (const StoredMessage& stored : stored_) {
        if ((subject.empty() || stored.subject == subject) && stored.sequence >= from_sequence)
            co_return std::optional<StoredMessage>(stored);
    }
    co_return std::optional<StoredMessage>();
}

Task<Outcome<std::optional<StoredMessage>>> ScriptedBus::read_message(std::string, StreamSequence sequence, MonoTime) {
    if (on_read_message) co_return on_read_message(sequence);
    for (const StoredMessage& stored : stored_) {
        if (stored.sequence == sequence) co_return std::optional<StoredMessage>(stored);
    }
    co_return std::optional<StoredMessage>();
}

Task<Outcome<StreamState>> ScriptedBus::stream_state(std::string, MonoTime) {
    if (!stream_error.empty()) co_return NotApplied{{FailureCause::refused, stream_error}};
    const StreamSequence first = stored_.empty() ? last_sequence_.next() : stored_.front().sequence;
    co_return StreamState{first, last_sequence_, stream_created, stream_limited, stream_clustered};
}

Task<Outcome<std::optional<ConsumerState>>> ScriptedBus::consumer_state(std::string, std::string durable, MonoTime) {
    if (!consumer_state_error.empty()) co_return NotApplied{{FailureCause::refused, consumer_state_error}};
    const auto found = consumer_states.find(durable);
    const bool there = found != consumer_states.end() || durables_.contains(durable);
    if (!there || missing_durables.contains(durable)) co_return std::optional<ConsumerState>();
    co_return std::optional<ConsumerState>(found == consumer_states.end() ? ConsumerState{} : found->second);
}

Task<Outcome<std::unique_ptr<Consumption>>> ScriptedBus::consume(ConsumerSpec spec, DeliverySink& sink, MonoTime) {
    if (!consumer_error.empty()) co_return NotApplied{{FailureCause::refused, consumer_error}};
    std::string& owner = consumer_states[spec.durable].deployment;
    if (!owner.empty() && !spec.deployment.empty() && owner != spec.deployment)
        co_return NotApplied{{FailureCause::refused, "it belongs to deployment " + owner}};
    if (owner.empty()) owner = spec.deployment;
    consumers_[spec.subject] = &sink;
    durables_.insert(spec.durable);
    co_return std::unique_ptr<Consumption>(std::make_unique<Consuming>(*this, spec.subject));
}

std::unique_ptr<Subscription> ScriptedBus::subscribe(std::string subject, std::string queue, MessageSink& sink) {
    queue_groups.insert_or_assign(subject, std::move(queue));
    return std::make_unique<Listening>(*this, std::move(subject), sink);
}

}  // namespace lockstep::engine::testing
