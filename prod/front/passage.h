// Takes the messages of one durable to a stream somewhere else.
//
// 1. A message is acknowledged where it comes from once the stream that it goes to has acknowledged it. In every other case, *unknown*
//    among them, it is handed back and comes again after a pause; it is given up only where that stream will never take it, for its
//    size, and a dead letter tells of it.
// 2. So it may arrive twice. Its message id has the second one dropped within the duplicate window of the stream (2 min); beyond that
//    whoever reads the stream knows a repetition, as from any publisher.
// 3. At most `ConsumerSpec::max_ack_pending` are in hand, those that wait for their next try included.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/ports/bus.h"
#include "engine/ports/clock.h"
#include "engine/ports/log.h"
#include "engine/runtime/scope.h"

namespace lockstep::prod {

/// What is published, and who is told of what came of it.
struct Parcel {
    engine::Bus* to = nullptr;  // outlives the passage
    std::string subject;
    std::string payload;
    std::string message_id;
};

/// The id of a message that goes from one stream into another: the same for each copy of that very message, and for no other. `place`
/// is what the stream is called, and what it holds under the number is part of the id: a stream that was lost counts from 1 again.
[[nodiscard]] std::string passage_id(std::string_view place, engine::StreamSequence sequence, std::string_view payload);

class Passage final : public engine::DeliverySink {
public:
    struct Ports {
        engine::Executor& executor;
        const engine::Clock& clock;
        engine::Log& log;
    };
    /// All outlive the passage.
    struct Handlers {
        /// Nothing: that cannot be said now, ask again later.
        std::function<engine::Task<std::optional<Parcel>>(engine::Delivery&)> address;
        /// `repeated`: the stream had it already.
        std::function<void(bool repeated)> taken;
        std::function<void()> refused;
        /// Bytes of the largest message that the other stream takes, beside the limit of its server; 0: any, or not known.
        std::function<engine::Task<std::uint64_t>()> largest;
        /// Tells of a message that will never be taken. False: that has not succeeded.
        std::function<engine::Task<bool>(const engine::Delivery&, std::string why)> set_aside;
    };

    Passage(const Ports& ports, std::string name, Handlers handlers);

    /// Binds to the durable, from which messages come from then on. Once it has succeeded it does nothing.
    [[nodiscard]] engine::Task<engine::Outcome<engine::Done>> open(engine::Bus& from, engine::ConsumerSpec spec);
    void pause();
    void resume();
    /// Asks for no more, and ends once nothing is in hand: every message has been acknowledged or handed back.
    [[nodiscard]] engine::Task<void> finish();

private:
    void on_delivery(std::unique_ptr<engine::Delivery> delivery) override;
    [[nodiscard]] engine::Task<void> carry(std::unique_ptr<engine::Delivery> delivery);
    /// Of a message that is too large for the other stream.
    [[nodiscard]] engine::Task<void> set_aside(std::unique_ptr<engine::Delivery> delivery, std::uint64_t room);
    /// Bytes of the largest message that is taken there, as far as it is known.
    [[nodiscard]] std::uint64_t room_at(const engine::Bus& to) const;

    Ports ports_;
    const std::string name_;  // for the log
    const Handlers handlers_;
    std::unique_ptr<engine::Consumption> from_;
    bool paused_ = false;
    std::uint64_t largest_ = 0;  // as the other stream has said when it last refused a message; 0: any
    engine::Scope in_hand_;
};

}  // namespace lockstep::prod
