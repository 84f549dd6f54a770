#include "prod/lockstepd/status_report.h"

#include "engine/config/tunables.h"
#include "engine/wire/packet.h"

namespace lockstep::prod {

namespace {

using engine::LogLevel;

constexpr auto kAskPatience = std::chrono::seconds(2);

/// Empty for a message that speaks of no job, or that cannot be read.
std::string job_of(std::string_view payload) {
    const auto packet = engine::wire::decode(payload);
    if (!packet) return {};
    if (packet->has_job_request()) return packet->job_request().job_id();
    return packet->has_job_result() ? packet->job_result().job_id() : std::string();
}

/// To the millisecond: more is of no use to people.
std::string age(engine::Duration duration) {
    return engine::format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(duration));
}

void tell_in_hand(SpdlogLog& log, const engine::Clock& clock, const WatchedBus::Hand& hand) {
    std::size_t told = 0;
    for (const auto& [delivery, since] : hand) {
        if (told++ == kMessagesTold) {
            log.always(LogLevel::info, "in hand, more", {{"messages", hand.size() - kMessagesTold}});
            return;
        }
        log.always(LogLevel::info, "in hand",
                   {{"job", job_of(delivery->payload())},
                    {"subject", delivery->subject()},
                    {"sequence", delivery->sequence()},
                    {"delivery", delivery->delivery_count()},
                    {"for", age(clock.monotonic() - since)}});
    }
}

}  // namespace

void tell_what_runs(SpdlogLog& log, const engine::Clock& clock, const Running& running) {
    const bool redis = running.redis != nullptr && running.redis->connected();
    const auto nats = running.bus != nullptr ? running.bus->connection() : engine::BusConnection{};
    log.always(LogLevel::info, "what runs",
               {{"ready", running.not_ready.empty()},
                {"reason", running.not_ready},
                {"scheduler_handlers", running.scheduler_handlers},
                {"workflow_handlers", running.workflow_handlers},
                {"in_hand", running.bus != nullptr ? running.bus->in_hand().size() : 0},
                {"workers", running.workers}});
    log.always(LogLevel::info, "what it depends on",
               {{"redis", redis ? "connected" : "away"},
                {"redis_error", running.redis != nullptr ? running.redis->last_error() : ""},
                {"nats", nats.connected ? "connected" : "away"},
                {"nats_connection", nats.id},
                {"kernel", running.kernel.empty() ? "none" : running.kernel}});
    if (running.bus != nullptr) tell_in_hand(log, clock, running.bus->in_hand());
}

engine::Task<void> tell_queues(SpdlogLog& log, const engine::Clock& clock, WatchedBus& bus) {
    const std::vector<WatchedBus::Durable> durables = bus.durables();
    for (const auto& [stream, name] : durables) {
        const auto state = co_await bus.consumer_state(stream, name, clock.in(kAskPatience));
        if (!state.applied())
            log.always(LogLevel::info, "queue", {{"durable", name}, {"error", state.failure().detail}});
        else if (state.value())
            log.always(
                LogLevel::info, "queue",
                {{"durable", name}, {"waiting", state.value()->waiting}, {"in_hand_of_all", state.value()->in_hand}});
    }
}

}  // namespace lockstep::prod
