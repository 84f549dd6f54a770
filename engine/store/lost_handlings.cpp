#include "engine/store/lost_handlings.h"

#include <fmt/core.h>

#include <utility>

#include "engine/wire/messages.h"

namespace lockstep::engine {

Task<HandlingStart> start_handling(const Context& context, Lease& lease, Room::Place& place, LostHandlings lost) {
    if (lost.alone >= kLostAloneUntilAside) {
        context.ports.log.reached("handling_set_aside");
        co_return HandlingStart::set_aside;
    }
    if (lost.beside_others < kLostUntilAlone) co_return HandlingStart::goes_on;
    co_await context.room->be_alone(place);
    if (context.stopping || !lease.usable()) co_return HandlingStart::not_now;
    const bool marked = co_await lease.goes_on_alone();
    if (!marked) co_return HandlingStart::not_now;
    context.ports.log.reached("handled_alone");
    context.ports.log.event(LogLevel::warn, "handled alone: handling it did not come back, again and again",
                            {{"lock", lease.key()}, {"lost", lost.beside_others}, {"lost_alone", lost.alone}});
    co_return HandlingStart::goes_on;
}

DeadLetter letter_of_lost(std::string id, std::string topic) {
    return {
        std::move(id), std::move(topic), cap::JOB_STATUS_FAILED,
        fmt::format("whoever handled it did not come back: at least {} times in a row beside other work, and {} times "
                    "with nothing else in hand",
                    kLostUntilAlone, kLostAloneUntilAside),
        std::string(kHandlingLost)};
}

}  // namespace lockstep::engine
