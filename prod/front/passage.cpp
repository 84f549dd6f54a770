#include "prod/front/passage.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "engine/wire/sha256.h"

namespace lockstep::prod {

namespace {

constexpr engine::Duration kOpenTimeout = std::chrono::seconds(10);
constexpr engine::Duration kPublishTimeout = std::chrono::seconds(5);
/// Until a message comes again: doubled with each delivery. Why 30 s: a cell that comes back gets what has waited soon after.
constexpr engine::Duration kPauseMin = std::chrono::seconds(1);
constexpr engine::Duration kPauseMax = std::chrono::seconds(30);

/// What a header takes of a server's `max_payload` beside the message id that it carries.
constexpr std::uint64_t kHeaderBytes = 64;

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
    const std::uint64_t size = parcel->payload.size();
    // The stream's limit may have been raised since.
    if (size > room_at(*parcel->to) && largest_ > 0) largest_ = co_await handlers_.largest();
    const std::uint64_t room = room_at(*parcel->to);
    if (size > room) {
        co_await set_aside(std::move(delivery), room);
        co_return;
    }
    // A message that its own server just took would be too large with an id. Nobody but the stream knows a repetition by it.
    if (size + parcel->message_id.size() + kHeaderBytes > room) parcel->message_id.clear();
    const engine::Bus& to = *parcel->to;
    const auto sent = co_await parcel->to->publish(std::move(parcel->subject), std::move(parcel->payload),
                                                   std::move(parcel->message_id), ports_.clock.in(kPublishTimeout));
    if (sent.applied()) {
        delivery->ack();
        handlers_.taken(sent.value().duplicate);
        co_return;
    }
    handlers_.refused();
    if (sent.failure().cause == engine::FailureCause::refused) {
        largest_ = co_await handlers_.largest();
        if (size > room_at(to)) {
            co_await set_aside(std::move(delivery), room_at(to));
            co_return;
        }
    }
    delivery->nak(pause);
    ports_.log.event(engine::LogLevel::warn, "not acknowledged, tried again later",
                     {{"passage", name_},
                      {"sequence", delivery->sequence().value()},
                      {"delivery", delivery->delivery_count()},
                      {"error", sent.failure().detail}});
}

engine::Task<void> Passage::set_aside(std::unique_ptr<engine::Delivery> delivery, std::uint64_t room) {
    std::string why =
        fmt::format("it has {} bytes, and {} are the most that is taken there (max_payload, max_msg_size)",
                    delivery->payload().size(), room);
    ports_.log.event(engine::LogLevel::error, "too large for the other stream, set aside with a dead letter",
                     {{"passage", name_}, {"sequence", delivery->sequence().value()}, {"error", why}});
    const bool told = co_await handlers_.set_aside(*delivery, std::move(why));
    if (told)
        delivery->term();
    else
        delivery->nak(pause_after(delivery->delivery_count()));
}

std::uint64_t Passage::room_at(const engine::Bus& to) const {
    const std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t server = to.connection().max_payload;
    return std::min(server == 0 ? any : server, largest_ == 0 ? any : largest_);
}

}  // namespace lockstep::prod
