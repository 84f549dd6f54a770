#include "engine/store/delivery_marks.h"

#include <fmt/core.h>

#include <charconv>
#include <utility>

#include "engine/store/keys.h"

namespace lockstep::engine {

namespace {

StreamSequence sequence_in(std::string_view text) {
    std::uint64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    return StreamSequence(read.ec == std::errc{} ? number : 0);
}

}  // namespace

Task<Outcome<std::optional<DeliveryMark>>> DeliveryMarks::of(std::string durable) {
    const auto reply = co_await redis_.command(
        {"HMGET", keys::delivery_mark(durable), "leader", "accounted", "passed_by"}, deadline());
    if (!reply.applied()) co_return reply.failure_as<std::optional<DeliveryMark>>();
    const RedisValue& fields = reply.value();
    if (fields.at(0).is_nil()) co_return std::optional<DeliveryMark>();
    co_return std::optional(DeliveryMark{std::string(fields.at(0).text()), sequence_in(fields.at(1).text()),
                                         sequence_in(fields.at(2).text())});
}

Task<Outcome<Done>> DeliveryMarks::keep(std::string durable, DeliveryMark mark) {
    const auto reply = co_await redis_.command(
        {"HSET", keys::delivery_mark(durable), "leader", std::move(mark.leader), "accounted",
         fmt::format("{}", mark.accounted.value()), "passed_by", fmt::format("{}", mark.passed_by.value())},
        deadline());
    if (!reply.applied()) co_return reply.failure_as<Done>();
    co_return Done{};
}

}  // namespace lockstep::engine
