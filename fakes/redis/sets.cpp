#include "fakes/redis/handlers.h"

// Commands on sets.

namespace lockstep::fakes::redis::handlers {

RedisValue sadd(Call& call) {
    const auto found = lookup<Set>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    Keyspace::Node& set = existing_or_new(call.keys, found, call.key());
    std::int64_t added = 0;
    for (const std::string_view member : call.args.subspan(2)) added += call.keys.set_add(set, member) ? 1 : 0;
    return integer(added);
}

RedisValue srem(Call& call) {
    const auto found = lookup<Set>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    std::int64_t removed = 0;
    if (!found) return integer(removed);
    for (const std::string_view member : call.args.subspan(2)) {
        if (!found.value->contains(member)) continue;
        ++removed;
        if (call.keys.set_remove(*found.node, member)) break;
    }
    return integer(removed);
}

RedisValue scard(Call& call) {
    const auto found = lookup<Set>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    return count_of(found ? found.value->size() : 0);
}

RedisValue smembers(Call& call) {
    const auto found = lookup<Set>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    RedisValue::Array members;
    if (!found) return members;
    members.reserve(found.value->size());
    for (const std::string& member : *found.value) members.push_back(bulk(member));
    return members;
}

RedisValue sismember(Call& call) {
    const auto found = lookup<Set>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    return integer(found && found.value->contains(call.args[2]) ? 1 : 0);
}

}  // namespace lockstep::fakes::redis::handlers
