#include <algorithm>
#include <limits>

#include "fakes/redis/handlers.h"

// Commands on strings.

namespace lockstep::fakes::redis::handlers {

namespace {

constexpr std::int64_t kLargestNumber = std::numeric_limits<std::int64_t>::max();

RedisValue invalid_expiry(const Call& call) {
    std::string name(call.args[0]);
    for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return error(ErrorKind::invalid_expire, name);
}

/// How SET and its kin spell an expiry.
struct ExpiryOption {
    std::string_view text;
    bool seconds = false;
    bool absolute = false;

    [[nodiscard]] bool present() const { return text.data() != nullptr; }
};

/// Milliseconds since the epoch, or the error reply.
struct Expiry {
    std::int64_t at = kNever;
    RedisValue error;
};

Expiry resolve(const Call& call, const ExpiryOption& option) {
    const auto value = parse_integer(option.text);
    if (!value) return {0, not_an_integer()};
    if (*value <= 0 || (option.seconds && *value > kLargestNumber / 1000)) return {0, invalid_expiry(call)};
    std::int64_t at = option.seconds ? *value * 1000 : *value;
    if (!option.absolute) {
        if (at > kLargestNumber - call.now_ms()) return {0, invalid_expiry(call)};
        at += call.now_ms();
    }
    return {at, {}};
}

struct SetOptions {
    bool only_new = false;
    bool only_existing = false;
    bool keep_ttl = false;
    bool give_old = false;
    ExpiryOption expiry;
    bool valid = true;
};

constexpr struct {
    std::string_view word;
    bool seconds;
    bool absolute;
} kExpiryWords[] = {{"EX", true, false}, {"PX", false, false}, {"EXAT", true, true}, {"PXAT", false, true}};

/// Takes `word` as one of the four ways to give an expiry; false when it is none, or a second one of another kind.
bool take_expiry(std::string_view word, std::string_view value, SetOptions& options) {
    for (const auto& known : kExpiryWords) {
        if (!same_word(word, known.word)) continue;
        const ExpiryOption& given = options.expiry;
        const bool other_kind = given.present() && (given.seconds != known.seconds || given.absolute != known.absolute);
        if (other_kind || options.keep_ttl) return false;
        options.expiry = {value, known.seconds, known.absolute};
        return true;
    }
    return false;
}

SetOptions parse_set_options(Args options) {
    SetOptions parsed;
    for (std::size_t i = 0; i < options.size(); ++i) {
        const std::string_view word = options[i];
        if (same_word(word, "NX") && !parsed.only_existing) {
            parsed.only_new = true;
        } else if (same_word(word, "XX") && !parsed.only_new) {
            parsed.only_existing = true;
        } else if (same_word(word, "GET")) {
            parsed.give_old = true;
        } else if (same_word(word, "KEEPTTL") && !parsed.expiry.present()) {
            parsed.keep_ttl = true;
        } else if (i + 1 < options.size() && take_expiry(word, options[i + 1], parsed)) {
            ++i;
        } else {
            parsed.valid = false;
            return parsed;
        }
    }
    return parsed;
}

RedisValue set_with_expiry(Call& call, bool seconds) {
    const Expiry expiry = resolve(call, {call.args[2], seconds, false});
    if (expiry.error.error() != nullptr) return expiry.error;
    call.keys.set_string(call.key(), std::string(call.args[3]), expiry.at);
    return ok();
}

RedisValue add(Call& call, std::int64_t by) {
    const auto found = lookup<std::string>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    const auto current = found ? parse_integer(*found.value) : std::optional<std::int64_t>(0);
    if (!current) return not_an_integer();
    std::int64_t sum = 0;
    if (__builtin_add_overflow(*current, by, &sum)) return error(ErrorKind::overflow);
    call.keys.set_string(call.key(), std::to_string(sum), found ? found.node->second.expires_at : kNever);
    return integer(sum);
}

}  // namespace

RedisValue get(Call& call) {
    const auto found = lookup<std::string>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    return found ? bulk(*found.value) : nil();
}

RedisValue set(Call& call) {
    const SetOptions options = parse_set_options(call.args.subspan(3));
    if (!options.valid) return syntax_error();
    Expiry expiry;
    if (options.expiry.present()) expiry = resolve(call, options.expiry);
    if (expiry.error.error() != nullptr) return expiry.error;

    const Keyspace::Node* existing = call.keys.find(call.key());
    RedisValue old;
    if (options.give_old) {
        old = get(call);
        if (old.error() != nullptr) return old;
    }
    const bool exists = existing != nullptr;
    if ((options.only_new && exists) || (options.only_existing && !exists)) return old;
    if (options.keep_ttl && exists) expiry.at = existing->second.expires_at;
    call.keys.set_string(call.key(), std::string(call.args[2]), expiry.at);
    call.keys.expire_due(call.now_ms());  // an instant in the past is allowed
    return options.give_old ? old : ok();
}

RedisValue setnx(Call& call) {
    if (call.keys.find(call.key()) != nullptr) return integer(0);
    call.keys.set_string(call.key(), std::string(call.args[2]), kNever);
    return integer(1);
}

RedisValue setex(Call& call) { return set_with_expiry(call, true); }

RedisValue psetex(Call& call) { return set_with_expiry(call, false); }

RedisValue mget(Call& call) {
    RedisValue::Array values;
    for (const std::string_view key : call.args.subspan(1)) {
        const auto found = lookup<std::string>(call.keys, key);
        values.push_back(found ? bulk(*found.value) : nil());
    }
    return values;
}

RedisValue getdel(Call& call) {
    const auto found = lookup<std::string>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    if (!found) return nil();
    RedisValue value = bulk(*found.value);
    call.keys.remove(*found.node);
    return value;
}

RedisValue append(Call& call) {
    const auto found = lookup<std::string>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    std::string text = found ? *found.value : std::string();
    text += call.args[2];
    const std::size_t length = text.size();
    call.keys.set_string(call.key(), std::move(text), found ? found.node->second.expires_at : kNever);
    return count_of(length);
}

RedisValue strlen(Call& call) {
    const auto found = lookup<std::string>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    return count_of(found ? found.value->size() : 0);
}

RedisValue getrange(Call& call) {
    const auto first = parse_integer(call.args[2]);
    const auto last = parse_integer(call.args[3]);
    if (!first || !last) return not_an_integer();
    const auto found = lookup<std::string>(call.keys, call.key());
    if (found.wrong) return wrong_type();
    if (!found) return bulk("");
    // Unlike the ranges of lists: two places before the beginning that stand in the wrong order are nothing.
    if (*first < 0 && *last < 0 && *first > *last) return bulk("");
    const auto size = static_cast<std::int64_t>(found.value->size());
    const auto place = [size](std::int64_t at) { return std::max<std::int64_t>(at < 0 ? at + size : at, 0); };
    const std::int64_t from = place(*first);
    const std::int64_t to = std::min(place(*last), size - 1);
    if (from > to) return bulk("");
    return bulk(
        std::string_view(*found.value).substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from + 1)));
}

RedisValue incr(Call& call) { return add(call, 1); }

RedisValue decr(Call& call) { return add(call, -1); }

RedisValue incrby(Call& call) {
    const auto by = parse_integer(call.args[2]);
    return by ? add(call, *by) : not_an_integer();
}

RedisValue decrby(Call& call) {
    const auto by = parse_integer(call.args[2]);
    if (!by) return not_an_integer();
    if (*by == std::numeric_limits<std::int64_t>::min()) return error(ErrorKind::decrement_overflow);
    return add(call, -*by);
}

}  // namespace lockstep::fakes::redis::handlers
