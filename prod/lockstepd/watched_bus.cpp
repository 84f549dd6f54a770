#include "prod/lockstepd/watched_bus.h"

#include <algorithm>

namespace lockstep::prod {

/// Leaves the hand with the first answer, or when it is dropped without one.
class WatchedBus::Watched final : public engine::Delivery {
public:
    Watched(std::unique_ptr<engine::Delivery> delivery, std::shared_ptr<Hand> hand, engine::MonoTime now)
        : delivery_(std::move(delivery)), hand_(std::move(hand)), place_(hand_->insert(hand_->end(), {this, now})) {}
    ~Watched() override { leave(); }

    [[nodiscard]] std::string_view subject() const override { return delivery_->subject(); }
    [[nodiscard]] std::string_view payload() const override { return delivery_->payload(); }
    [[nodiscard]] std::string_view stream() const override { return delivery_->stream(); }
    [[nodiscard]] engine::StreamSequence sequence() const override { return delivery_->sequence(); }
    [[nodiscard]] std::uint64_t delivery_count() const override { return delivery_->delivery_count(); }
    void ack() override {
        leave();
        delivery_->ack();
    }
    void nak(engine::Duration delay) override {
        leave();
        delivery_->nak(delay);
    }
    void term() override {
        leave();
        delivery_->term();
    }
    void in_progress() override { delivery_->in_progress(); }

private:
    void leave() {
        if (hand_) hand_->erase(place_);
        hand_.reset();
    }

    const std::unique_ptr<engine::Delivery> delivery_;
    std::shared_ptr<Hand> hand_;  // null once it has left
    Hand::iterator place_;
};

class WatchedBus::Sink final : public engine::DeliverySink {
public:
    Sink(engine::DeliverySink& to, const engine::Clock& clock, std::shared_ptr<Hand> hand)
        : to_(to), clock_(clock), hand_(std::move(hand)) {}
    void on_delivery(std::unique_ptr<engine::Delivery> delivery) override {
        to_.on_delivery(std::make_unique<Watched>(std::move(delivery), hand_, clock_.monotonic()));
    }

private:
    engine::DeliverySink& to_;
    const engine::Clock& clock_;
    std::shared_ptr<Hand> hand_;
};

/// The binding goes before the sink that it delivers to.
class WatchedBus::WatchedConsumption final : public engine::Consumption {
public:
    WatchedConsumption(std::unique_ptr<Sink> sink, std::unique_ptr<engine::Consumption> binding)
        : sink_(std::move(sink)), binding_(std::move(binding)) {}
    void pause() override { binding_->pause(); }
    void resume() override { binding_->resume(); }

private:
    const std::unique_ptr<Sink> sink_;
    const std::unique_ptr<engine::Consumption> binding_;
};

engine::Task<engine::Outcome<std::unique_ptr<engine::Consumption>>> WatchedBus::consume(engine::ConsumerSpec spec,
                                                                                        engine::DeliverySink& sink,
                                                                                        engine::MonoTime deadline) {
    using Bound = std::unique_ptr<engine::Consumption>;
    Durable durable{spec.stream, spec.durable};
    auto watching = std::make_unique<Sink>(sink, clock_, hand_);
    auto bound = co_await bus_.consume(std::move(spec), *watching, deadline);
    if (!bound.applied()) co_return bound;
    const bool known = std::ranges::any_of(durables_, [&](const Durable& one) { return one.name == durable.name; });
    if (!known) durables_.push_back(std::move(durable));
    Bound watched = std::make_unique<WatchedConsumption>(std::move(watching), std::move(bound.value()));
    co_return watched;
}

}  // namespace lockstep::prod
