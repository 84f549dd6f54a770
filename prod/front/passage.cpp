#include "prod/front/passage.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/wire/sha256.h"

namespace lockstep::prod {

namespace {

constexpr engine::Duration kOpenTimeout = std::chrono::seconds(10);
constexpr engine::Duration kPublishTimeout = std::chrono::seconds(5);
/// Until a message comes again: doubled with each delivery. Why 30 s: a cell that comes back gets what has waited soon after.
constexpr engine::Duration kPauseMin = std::chrono::seconds(1);
constexpr engine::Duration kPauseMax = std::chrono::seconds(30);

/// What the message id takes of a server's `max_payload`, at most.
constexpr std::uint64_t kHeaderMax = 512;

engine::Duration pause_after(std::uint64_t deliveries) {
    const auto doublings = std::clamp<std::uint64_t>(deliveries, 1, 6) - 1;
    return std::min(kPauseMax, kPauseMin * (1 << doublings));
}

}  // namespace

std::string passage_id(std::string_view place, engine::StreamSequence sequence, std::string_view payload) {
    return fmt::format("{}:{}:{}", place, sequence.value(), engine::wire::sha256_hex(payload).substr(0, 16));
}

Passage::Passage(const Ports& ports, std::string name, Handlers handlers)
    : ports_(ports), name_(std::move(name)), handlers_(std::move(handlers)), in_hand_(ports.executor) {}

engine::Task<engine::Outcome<engine::Done>> Passage::open(engine::Bus& from, engine::ConsumerSpec spec) {
    if (from_) co_return engine::Done{};
    auto bound = co_await from.consume(std::move(spec), *this, ports_.clock.in(kOpenTimeout));
    if (!bound.applied()) co_return bound.failure_as<engine::Done>();
    from_ = std::move(bound.value());
    if (paused_) from_->pause();
    co_return engine::Done{};
}

void Passage::pause() {
    if (!std::exchange(paused_, true) && from_) from_->pause();
}

void Passage::resume() {
    if (std::exchange(paused_, false) && from_) from_->resume();
}

engine::Task<void> Passage::finish() {
    pause();
    co_await in_hand_.join();
}

void Passage::on_delivery(std::unique_ptr<engine::Delivery> delivery) { in_hand_.spawn(carry(std::move(delivery))); }

engine::Task<void> Passage::carry(std::unique_ptr<engine::Delivery> delivery) {
    const engine::Duration pause = pause_after(delivery->delivery_count());
    auto parcel = co_await handlers_.address(*delivery);
    if (!parcel) {
        delivery->nak(pause);
        co_return;
    }
    // A message that its own server just took would be too large with an id. Nobody but the stream knows a repetition by it.
    const std::uint64_t room = parcel->to->connection().max_payload;
    if (parcel->payload.size() + kHeaderMax > room) parcel->message_id.clear();
    const auto sent = co_await parcel->to->publish(std::move(parcel->subject), std::move(parcel->payload),
                                                   std::move(parcel->message_id), ports_.clock.in(kPublishTimeout));
    if (sent.applied()) {
        delivery->ack();
        handlers_.taken(sent.value().duplicate);
        co_return;
    }
    delivery->nak(pause);
    handlers_.refused();
    ports_.log.event(engine::LogLevel::warn, "not acknowledged, tried again later",
                     {{"passage", name_},
                      {"sequence", delivery->sequence().value()},
                      {"delivery", delivery->delivery_count()},
                      {"error", sent.failure().detail}});
}

}  // namespace lockstep::prod
