#include "engine/bus/message_pump.h"

#include <fmt/core.h>

#include <optional>

#include "engine/runtime/timeout.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"

namespace lockstep::engine {

namespace {

constexpr std::uint64_t kUndecodableTries = 3;
constexpr Duration kUndecodableDelay = std::chrono::seconds{5};
constexpr Duration kBurialDelay = std::chrono::seconds{5};

}  // namespace

MessagePump::MessagePump(Context& context, DeadLetters& dead_letters, PacketHandler& handler)
    : context_(context),
      dead_letters_(dead_letters),
      handler_(handler),
      slots_(static_cast<std::size_t>(context.tunables.max_in_flight)),
      handlers_(context.ports.executor) {}

void MessagePump::on_delivery(std::unique_ptr<Delivery> delivery) {
    if (context_.stopping) {
        delivery->nak(Duration{0});
        return;
    }
    handlers_.spawn(process(std::move(delivery)));
}

Task<void> MessagePump::process(std::unique_ptr<Delivery> delivery) {
    /// Membership in `in_hand_`, left however this coroutine ends.
    struct InHand {
        MessagePump& pump;
        std::uint64_t number;
        InHand(MessagePump& p, Delivery& d) : pump(p), number(++p.last_number_) {
            pump.in_hand_.emplace(number, &d);
            pump.context_.ports.metrics.set(Metric::active_handlers, static_cast<double>(pump.in_hand_.size()));
        }
        ~InHand() {
            pump.in_hand_.erase(number);
            pump.context_.ports.metrics.set(Metric::active_handlers, static_cast<double>(pump.in_hand_.size()));
        }
    } const in_hand(*this, *delivery);

    const auto slot = co_await slots_.acquire();
    if (context_.stopping) {
        delivery->nak(Duration{0});
        co_return;
    }
    const std::uint64_t tries = delivery->delivery_count();
    const auto limit = static_cast<std::uint64_t>(context_.tunables.bus_max_deliver);
    if (tries >= limit) {
        co_await bury(*delivery, fmt::format("delivered {} times without success", tries));
        co_return;
    }
    auto packet = wire::decode(delivery->payload());
    if (!packet) {
        context_.ports.log.event(LogLevel::error, "message not decodable",
                                 {{"subject", delivery->subject()}, {"sequence", delivery->sequence()}, {"tries", tries}});
        if (tries <= kUndecodableTries) {
            delivery->nak(kUndecodableDelay);
        } else {
            co_await bury(*delivery, fmt::format("not decodable: {}", packet.error().detail));
        }
        co_return;
    }
    const Verdict verdict = co_await handler_.handle(std::move(*packet));
    switch (verdict.kind) {
        case Verdict::Kind::done: delivery->ack(); break;
        case Verdict::Kind::hand_back: delivery->nak(verdict.delay); break;
    }
}

Task<void> MessagePump::bury(Delivery& delivery, std::string reason) {
    DeadLetter letter{fmt::format("poison:{}:{}", delivery.stream(), delivery.sequence()), std::string(delivery.subject()),
                      cap::JOB_STATUS_FAILED, std::move(reason), "poison_message"};
    const auto written = co_await context_.store.put_dead_letter(letter);
    if (!written.applied()) {
        // The letter comes first: a message terminated without one would be gone without a trace.
        context_.ports.log.reached("burial_postponed");
        delivery.nak(kBurialDelay);
        co_return;
    }
    delivery.term();
    co_await dead_letters_.announce(std::move(letter));
}

Task<void> MessagePump::keep_alive() {
    while (true) {
        co_await context_.ports.clock.sleep(context_.tunables.bus_ack_wait / 3);
        for (const auto& [number, delivery] : in_hand_) delivery->in_progress();
    }
}

Task<void> MessagePump::drain(MonoTime deadline) {
    const auto finished = co_await with_deadline(context_.ports.executor, deadline, [](Scope& scope) -> Task<bool> {
        co_await scope.join();
        co_return true;
    }(handlers_));
    if (!finished) {
        context_.ports.log.event(LogLevel::warn, "handlers stopped at the end of the grace period",
                                 {{"handlers", handlers_.size()}});
        handlers_.cancel();
    }
}

}  // namespace lockstep::engine
