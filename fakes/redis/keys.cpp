#include <limits>

#include "fakes/redis/handlers.h"

// Commands on keys of any type: existence, expiry, listing.

namespace lockstep::fakes::redis::handlers {

namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

struct ExpireOptions {
    bool nx = false, xx = false, gt = false, lt = false;
};

/// The error reply, or nil when the options can be used together.
RedisValue parse_expire_options(Args words, ExpireOptions& options) {
    for (const std::string_view word : words) {
        if (same_word(word, "NX")) {
            options.nx = true;
        } else if (same_word(word, "XX")) {
            options.xx = true;
        } else if (same_word(word, "GT")) {
            options.gt = true;
        } else if (same_word(word, "LT")) {
            options.lt = true;
        } else {
            return error(ErrorKind::unsupported_option, word);
        }
    }
    if (options.nx && (options.xx || options.gt || options.lt)) {
        return error(ErrorKind::expire_nx_and_others);
    }
    if (options.gt && options.lt) return error(ErrorKind::expire_gt_and_lt);
    return nil();
}

bool allowed(const ExpireOptions& options, std::int64_t current, std::int64_t wanted) {
    if (options.nx && current != kNever) return false;
    if (options.xx && current == kNever) return false;
    // A key that never expires counts as having an infinite TTL.
    if (options.gt && (current == kNever || wanted <= current)) return false;
    if (options.lt && current != kNever && wanted >= current) return false;
    return true;
}

RedisValue expire_key(Call& call, std::string_view name, bool seconds, bool relative) {
    ExpireOptions options;
    RedisValue refusal = parse_expire_options(call.args.subspan(3), options);
    if (refusal.error() != nullptr) return refusal;
    const auto value = parse_integer(call.args[2]);
    if (!value) return not_an_integer();
    const RedisValue invalid = error(ErrorKind::invalid_expire, name);
    std::int64_t at = *value;
    if (seconds) {
        if (at > kLargest / 1000 || at < kSmallest / 1000) return invalid;
        at *= 1000;
    }
    if (relative) {
        if (at > kLargest - call.now_ms()) return invalid;
        at += call.now_ms();
    }
    Keyspace::Node* node = call.keys.find(call.key());
    if (node == nullptr || !allowed(options, node->second.expires_at, at)) return integer(0);
    if (at <= call.now_ms()) {
        call.keys.remove(*node);
    } else {
        call.keys.set_expiry(*node, at);
    }
    return integer(1);
}

RedisValue time_to_live(Call& call, std::int64_t unit_ms) {
    const Keyspace::Node* node = call.keys.find(call.key());
    if (node == nullptr) return integer(-2);
    if (node->second.expires_at == kNever) return integer(-1);
    const std::int64_t left = std::max<std::int64_t>(node->second.expires_at - call.now_ms(), 0);
    return integer((left + unit_ms / 2) / unit_ms);
}

}  // namespace

RedisValue del(Call& call) {
    std::int64_t removed = 0;
    for (const std::string_view key : call.args.subspan(1)) {
        Keyspace::Node* node = call.keys.find(key);
        if (node == nullptr) continue;
        call.keys.remove(*node);
        ++removed;
    }
    return integer(removed);
}

RedisValue exists(Call& call) {
    std::int64_t present = 0;
    for (const std::string_view key : call.args.subspan(1)) present += call.keys.find(key) != nullptr ? 1 : 0;
    return integer(present);
}

RedisValue type(Call& call) {
    const Keyspace::Node* node = call.keys.find(call.key());
    return RedisValue::Status{node != nullptr ? std::string(type_name(node->second.value)) : "none"};
}

RedisValue expire(Call& call) { return expire_key(call, "expire", true, true); }

RedisValue pexpire(Call& call) { return expire_key(call, "pexpire", false, true); }

RedisValue expireat(Call& call) { return expire_key(call, "expireat", true, false); }

RedisValue pexpireat(Call& call) { return expire_key(call, "pexpireat", false, false); }

RedisValue ttl(Call& call) { return time_to_live(call, 1000); }

RedisValue pttl(Call& call) { return time_to_live(call, 1); }

RedisValue persist(Call& call) {
    Keyspace::Node* node = call.keys.find(call.key());
    if (node == nullptr || node->second.expires_at == kNever) return integer(0);
    call.keys.set_expiry(*node, kNever);
    return integer(1);
}

RedisValue keys(Call& call) {
    RedisValue::Array matching;
    for (const std::string_view key : call.keys.keys()) {
        if (glob_matches(call.args[1], key)) matching.push_back(bulk(key));
    }
    return matching;
}

RedisValue scan(Call& call) {
    const auto cursor = parse_integer(call.args[1]);
    if (!cursor || *cursor < 0) return error(ErrorKind::invalid_cursor);
    std::size_t count = 10;
    std::string_view pattern;
    std::string_view wanted_type;
    const Args options = call.args.subspan(2);
    for (std::size_t i = 0; i < options.size(); i += 2) {
        const bool has_value = i + 1 < options.size();
        if (same_word(options[i], "COUNT") && has_value) {
            const auto value = parse_integer(options[i + 1]);
            if (!value) return not_an_integer();
            if (*value < 1) return syntax_error();
            count = static_cast<std::size_t>(*value);
        } else if (same_word(options[i], "MATCH") && has_value) {
            pattern = options[i + 1];
        } else if (same_word(options[i], "TYPE") && has_value) {
            wanted_type = options[i + 1];
        } else {
            return syntax_error();
        }
    }
    const auto [page, next] = call.keys.scan(static_cast<std::uint64_t>(*cursor), count);
    RedisValue::Array matching;
    for (const std::string_view key : page) {
        if (pattern.data() != nullptr && !glob_matches(pattern, key)) continue;
        if (wanted_type.data() != nullptr && !same_word(type_name(call.keys.find(key)->second.value), wanted_type)) {
            continue;
        }
        matching.push_back(bulk(key));
    }
    RedisValue::Array reply;
    reply.push_back(bulk(std::to_string(next)));
    reply.push_back(std::move(matching));
    return reply;
}

RedisValue dbsize(Call& call) { return count_of(call.keys.size()); }

RedisValue flush(Call& call) {
    const Args words = call.args.subspan(1);
    const bool valid =
        words.empty() || (words.size() == 1 && (same_word(words[0], "SYNC") || same_word(words[0], "ASYNC")));
    if (!valid) return syntax_error();
    call.keys.clear();
    return ok();
}

}  // namespace lockstep::fakes::redis::handlers
