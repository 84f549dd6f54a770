#include "fakes/redis/database.h"
#include "fakes/redis/handlers.h"

// Commands on lists.

namespace lockstep::fakes::redis::handlers {

namespace {

enum class End : std::uint8_t { head, tail };

RedisValue push(Call& call, End end) {
    const auto found = lookup<List>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    Keyspace::Node& node = existing_or_new(call.keys, found, call.key());
    const List& list = std::get<List>(node.second.value);
    for (const std::string_view value : call.args.subspan(2)) {
        call.keys.list_insert(node, end == End::head ? 0 : list.size(), value);
    }
    return count_of(list.size());
}

RedisValue pop(Call& call, End end) {
    if (call.args.size() > 3) return wrong_arity(end == End::head ? "lpop" : "rpop");
    const bool several = call.args.size() == 3;
    std::int64_t count = 1;
    if (several) {
        const auto parsed = parse_integer(call.args[2]);
        if (!parsed || *parsed < 0) return error(ErrorKind::must_be_positive);
        count = *parsed;
    }
    const auto found = lookup<List>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    if (!found) return nil();
    RedisValue::Array popped;
    bool gone = false;
    while (count-- > 0 && !gone) {
        const std::size_t index = end == End::head ? 0 : found.value->size() - 1;
        popped.push_back(bulk((*found.value)[index]));
        gone = call.keys.list_remove(*found.node, index);
    }
    return several ? RedisValue(std::move(popped)) : std::move(popped.front());
}

}  // namespace

RedisValue lpush(Call& call) { return push(call, End::head); }

RedisValue rpush(Call& call) { return push(call, End::tail); }

RedisValue lpop(Call& call) { return pop(call, End::head); }

RedisValue rpop(Call& call) { return pop(call, End::tail); }

RedisValue llen(Call& call) {
    const auto found = lookup<List>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    return count_of(found ? found.value->size() : 0);
}

RedisValue lrange(Call& call) {
    const auto from = parse_integer(call.args[2]);
    const auto to = parse_integer(call.args[3]);
    if (!from || !to) return not_an_integer();
    const auto found = lookup<List>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    RedisValue::Array elements;
    if (!found) return elements;
    const auto [first, last] = clamp_range(*from, *to, found.value->size());
    for (std::int64_t i = first; i <= last; ++i) elements.push_back(bulk((*found.value)[static_cast<std::size_t>(i)]));
    return elements;
}

RedisValue lindex(Call& call) {
    const auto found = lookup<List>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    if (!found) return nil();
    const auto parsed = parse_integer(call.args[2]);
    if (!parsed) return not_an_integer();
    const auto size = static_cast<std::int64_t>(found.value->size());
    const std::int64_t index = *parsed < 0 ? *parsed + size : *parsed;
    return index >= 0 && index < size ? bulk((*found.value)[static_cast<std::size_t>(index)]) : nil();
}

RedisValue lrem(Call& call) {
    const auto limit = parse_integer(call.args[2]);
    if (!limit) return not_an_integer();
    const auto found = lookup<List>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    if (!found) return integer(0);
    const bool from_tail = *limit < 0;
    const std::int64_t most = *limit == 0 ? INT64_MAX : (from_tail ? -*limit : *limit);
    std::int64_t removed = 0;
    std::size_t left = found.value->size();  // elements not yet looked at
    std::size_t index = from_tail ? left - 1 : 0;
    while (left > 0 && removed < most) {
        --left;
        if ((*found.value)[index] != call.args[3]) {
            index = from_tail ? index - 1 : index + 1;
            continue;
        }
        ++removed;
        if (call.keys.list_remove(*found.node, index)) break;
        if (from_tail) --index;
    }
    return integer(removed);
}

RedisValue ltrim(Call& call) {
    const auto from = parse_integer(call.args[2]);
    const auto to = parse_integer(call.args[3]);
    if (!from || !to) return not_an_integer();
    const auto found = lookup<List>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    if (!found) return ok();
    call.database.watches().touch(call.key());  // even when there is nothing to trim
    auto [first, last] = clamp_range(*from, *to, found.value->size());
    if (first > last) first = last = -1;  // nothing is kept
    const auto keep = static_cast<std::size_t>(last - first + (last < 0 ? 0 : 1));
    const auto skip = static_cast<std::size_t>(std::max<std::int64_t>(first, 0));
    while (found.value->size() > skip + keep) {
        if (call.keys.list_remove(*found.node, found.value->size() - 1)) return ok();
    }
    for (std::size_t i = 0; i < skip; ++i) {
        if (call.keys.list_remove(*found.node, 0)) return ok();
    }
    return ok();
}

}  // namespace lockstep::fakes::redis::handlers
