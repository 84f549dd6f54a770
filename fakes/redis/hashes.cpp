#include "fakes/redis/handlers.h"

// Commands on hashes.

namespace lockstep::fakes::redis::handlers {

namespace {

/// Sets the field and value pairs from argument 2 on; the number of new fields, or the error reply.
RedisValue set_fields(Call& call, std::string_view name) {
    if (call.args.size() % 2 != 0) return wrong_arity(name);
    const auto found = lookup<Hash>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    Keyspace::Node& hash = existing_or_new(call.keys, found, call.key());
    std::int64_t created = 0;
    for (std::size_t i = 2; i < call.args.size(); i += 2) {
        created += call.keys.hash_set(hash, call.args[i], call.args[i + 1]) ? 1 : 0;
    }
    return integer(created);
}

RedisValue field_value(const Hash& hash, std::string_view field) {
    const auto found = hash.find(field);
    return found != hash.end() ? bulk(found->second) : nil();
}

}  // namespace

RedisValue hset(Call& call) { return set_fields(call, "hset"); }

RedisValue hmset(Call& call) {
    RedisValue created = set_fields(call, "hmset");
    return created.error() != nullptr ? created : ok();
}

RedisValue hsetnx(Call& call) {
    const auto found = lookup<Hash>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    if (found && found.value->contains(call.args[2])) return integer(0);
    call.keys.hash_set(existing_or_new(call.keys, found, call.key()), call.args[2], call.args[3]);
    return integer(1);
}

RedisValue hget(Call& call) {
    const auto found = lookup<Hash>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    return found ? field_value(*found.value, call.args[2]) : nil();
}

RedisValue hmget(Call& call) {
    const auto found = lookup<Hash>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    RedisValue::Array values;
    values.reserve(call.args.size() - 2);
    for (const std::string_view field : call.args.subspan(2)) {
        values.push_back(found ? field_value(*found.value, field) : nil());
    }
    return values;
}

RedisValue hgetall(Call& call) {
    const auto found = lookup<Hash>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    RedisValue::Array pairs;
    if (!found) return pairs;
    pairs.reserve(2 * found.value->size());
    for (const auto& [field, value] : *found.value) {
        pairs.push_back(bulk(field));
        pairs.push_back(bulk(value));
    }
    return pairs;
}

RedisValue hdel(Call& call) {
    const auto found = lookup<Hash>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    std::int64_t removed = 0;
    if (!found) return integer(removed);
    for (const std::string_view field : call.args.subspan(2)) {
        if (!found.value->contains(field)) continue;
        ++removed;
        if (call.keys.hash_remove(*found.node, field)) break;
    }
    return integer(removed);
}

RedisValue hexists(Call& call) {
    const auto found = lookup<Hash>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    return integer(found && found.value->contains(call.args[2]) ? 1 : 0);
}

RedisValue hlen(Call& call) {
    const auto found = lookup<Hash>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    return count_of(found ? found.value->size() : 0);
}

RedisValue hincrby(Call& call) {
    const auto by = parse_integer(call.args[3]);
    if (!by) return not_an_integer();
    const auto found = lookup<Hash>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    std::int64_t current = 0;
    if (found) {
        const auto field = found.value->find(call.args[2]);
        if (field != found.value->end()) {
            const auto number = parse_integer(field->second);
            if (!number) return error(ErrorKind::hash_value_not_integer);
            current = *number;
        }
    }
    std::int64_t sum = 0;
    if (__builtin_add_overflow(current, *by, &sum)) return error(ErrorKind::overflow);
    call.keys.hash_set(existing_or_new(call.keys, found, call.key()), call.args[2], std::to_string(sum));
    return integer(sum);
}

}  // namespace lockstep::fakes::redis::handlers
