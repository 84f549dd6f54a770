#include "engine/bus/processed_guard.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/runtime/invariant.h"
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

std::optional<MessageMarks> ProcessedGuard::marks_of(const Delivery& delivery) const {
    if (!active_ || delivery.delivery_count() == 0) return std::nullopt;
    MessageMarks marks;
    marks.processed = processed_key(delivery);
    marks.in_flight = in_flight_key(delivery);
    marks.content = content_mark(delivery);
    marks.processed_life = std::max(context_.tunables.bus_processed_ttl, 2 * context_.tunables.bus_ack_wait);
    marks.in_flight_life = context_.tunables.bus_inflight_ttl;
    INVARIANT(marks.processed_life >= 2 * context_.tunables.bus_ack_wait,
              "mark {} lives {} ns, and the ack wait is {} ns", marks.processed, marks.processed_life.count(),
              context_.tunables.bus_ack_wait.count());
    return marks;
}

Task<ProcessedGuard::Finding> ProcessedGuard::enter(MessageMarks& marks) {
    PRECONDITION(marks.standing == MessageMarks::Standing::unasked, "mark {} is looked for again", marks.processed);
    marks.standing = MessageMarks::Standing::in_hand;
    const auto entered = co_await context_.ports.redis.script(
        scripts_.bus_guard_enter, {marks.processed, marks.in_flight}, {marks.content, marks.lives()},
        context_.ports.clock.in(context_.tunables.store_op_timeout));
    if (!entered.applied()) co_return go_on_without() ? Finding::fresh : Finding::hand_back;
    warned_ = false;
    if (entered.value().integer_or(0) != 1) co_return Finding::fresh;
    marks.standing = MessageMarks::Standing::handled_before;
    co_return Finding::processed;
}

Task<bool> ProcessedGuard::mark_processed(MessageMarks& marks) {
    PRECONDITION(marks.standing != MessageMarks::Standing::handled_before, "mark {} has been there before",
                 marks.processed);
    if (marks.standing == MessageMarks::Standing::handled) co_return true;
    std::vector<RedisCommand> commands{{"SET", marks.processed, marks.content, "PX", millis(marks.processed_life)},
                                       {"DEL", marks.in_flight}};
    const auto marked = co_await context_.ports.redis.pipeline(
        std::move(commands), context_.ports.clock.in(context_.tunables.store_op_timeout));
    if (!marked.applied() || marked.value().front().error() != nullptr) co_return go_on_without();
    warned_ = false;
    marks.standing = MessageMarks::Standing::handled;
    co_return true;
}

Task<void> ProcessedGuard::leave(const MessageMarks& marks) {
    if (marks.standing != MessageMarks::Standing::in_hand) co_return;
    RedisCommand clear{"DEL", marks.in_flight};
    const auto cleared = co_await context_.ports.redis.command(
        std::move(clear), context_.ports.clock.in(context_.tunables.store_op_timeout));
    if (!cleared.applied()) context_.ports.log.reached("in_flight_mark_left_to_expire");
}

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
