#include "engine/bus/processed_guard.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/runtime/millis.h"
#include "engine/wire/sha256.h"

namespace lockstep::engine {

namespace {

/// Half of a SHA-256 is plenty to tell apart two messages that were given the same sequence number.
std::string content_mark(const Delivery& delivery) { return wire::sha256_hex(delivery.payload()).substr(0, 32); }

}  // namespace

ProcessedGuard::ProcessedGuard(const Context& context, const StoreScripts& scripts, std::string durable)
    : context_(context),
      scripts_(scripts),
      durable_(std::move(durable)),
      active_(!durable_.empty() && context.mechanisms.on(Mechanism::processed_guard)) {}

Task<ProcessedGuard::Finding> ProcessedGuard::enter(const Delivery& delivery) {
    if (!guards(delivery)) co_return Finding::fresh;
    const auto entered = co_await context_.ports.redis.script(
        scripts_.bus_guard_enter, {processed_key(delivery), in_flight_key(delivery)},
        {millis(context_.tunables.bus_inflight_ttl), content_mark(delivery)},
        context_.ports.clock.in(context_.tunables.store_op_timeout));
    if (!entered.applied()) co_return go_on_without() ? Finding::fresh : Finding::hand_back;
    warned_ = false;
    co_return entered.value().integer_or(0) == 1 ? Finding::processed : Finding::fresh;
}

Task<bool> ProcessedGuard::mark_processed(const Delivery& delivery) {
    if (!guards(delivery)) co_return true;
    const Duration ttl = std::max(context_.tunables.bus_processed_ttl, 2 * context_.tunables.bus_ack_wait);
    std::vector<RedisCommand> commands{{"SET", processed_key(delivery), content_mark(delivery), "PX", millis(ttl)},
                                       {"DEL", in_flight_key(delivery)}};
    const auto marked = co_await context_.ports.redis.pipeline(
        std::move(commands), context_.ports.clock.in(context_.tunables.store_op_timeout));
    if (marked.applied() && marked.value().front().error() == nullptr) co_return true;
    co_return go_on_without();
}

Task<void> ProcessedGuard::leave(const Delivery& delivery) {
    if (!guards(delivery)) co_return;
    RedisCommand clear{"DEL", in_flight_key(delivery)};
    const auto cleared = co_await context_.ports.redis.command(
        std::move(clear), context_.ports.clock.in(context_.tunables.store_op_timeout));
    if (!cleared.applied()) context_.ports.log.reached("in_flight_mark_left_to_expire");
}

bool ProcessedGuard::guards(const Delivery& delivery) const { return active_ && delivery.delivery_count() > 0; }

std::string ProcessedGuard::processed_key(const Delivery& delivery) const {
    const std::string of_stream = fmt::format("cordum:bus:processed:{}:{}", delivery.stream(), delivery.sequence());
    return context_.tunables.bus_guard_key_scope == "stream" ? of_stream : of_stream + ":" + durable_;
}

std::string ProcessedGuard::in_flight_key(const Delivery& delivery) {
    return fmt::format("cordum:bus:inflight:{}:{}", delivery.stream(), delivery.sequence());
}

bool ProcessedGuard::go_on_without() {
    context_.ports.log.reached("bus_guard_without_redis");
    if (context_.tunables.bus_guard_on_error == "nak") return false;
    if (!warned_)
        context_.ports.log.event(LogLevel::warn, "bus guard skipped: Redis does not answer", {{"durable", durable_}});
    warned_ = true;
    return true;
}

}  // namespace lockstep::engine
