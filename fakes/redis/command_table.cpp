#include <algorithm>
#include <array>
#include <unordered_map>

#include "fakes/redis/command.h"
#include "fakes/redis/handlers.h"

namespace lockstep::fakes::redis {

namespace {

namespace h = handlers;

constexpr unsigned kGrow = kWrite | kDenyOom;
constexpr unsigned kControl = kNoScript | kLoading | kTransaction;

// Arity and flags as COMMAND INFO of redis 7.0.15 tells them.
constexpr Command kTable[] = {
    // name, arity, flags, first key, handler
    {"get", 2, kRead, 1, h::get},
    {"set", -3, kGrow, 1, h::set},
    {"setnx", 3, kGrow, 1, h::setnx},
    {"setex", 4, kGrow, 1, h::setex},
    {"psetex", 4, kGrow, 1, h::psetex},
    {"mget", -2, kRead, 1, h::mget},
    {"getdel", 2, kWrite, 1, h::getdel},
    {"append", 3, kGrow, 1, h::append},
    {"strlen", 2, kRead, 1, h::strlen},
    {"getrange", 4, kRead, 1, h::getrange},
    {"incr", 2, kGrow, 1, h::incr},
    {"decr", 2, kGrow, 1, h::decr},
    {"incrby", 3, kGrow, 1, h::incrby},
    {"decrby", 3, kGrow, 1, h::decrby},

    {"del", -2, kWrite, 1, h::del},
    {"unlink", -2, kWrite, 1, h::del},
    {"exists", -2, kRead, 1, h::exists},
    {"type", 2, kRead, 1, h::type},
    {"expire", -3, kWrite, 1, h::expire},
    {"pexpire", -3, kWrite, 1, h::pexpire},
    {"expireat", -3, kWrite, 1, h::expireat},
    {"pexpireat", -3, kWrite, 1, h::pexpireat},
    {"ttl", 2, kRead, 1, h::ttl},
    {"pttl", 2, kRead, 1, h::pttl},
    {"persist", 2, kWrite, 1, h::persist},
    {"keys", 2, kRead, 0, h::keys},
    {"scan", -2, kRead, 0, h::scan},
    {"dbsize", 1, kRead, 0, h::dbsize},
    {"flushall", -1, kWrite, 0, h::flush},
    {"flushdb", -1, kWrite, 0, h::flush},

    {"hset", -4, kGrow, 1, h::hset},
    {"hmset", -4, kGrow, 1, h::hmset},
    {"hsetnx", 4, kGrow, 1, h::hsetnx},
    {"hget", 3, kRead, 1, h::hget},
    {"hmget", -3, kRead, 1, h::hmget},
    {"hgetall", 2, kRead, 1, h::hgetall},
    {"hdel", -3, kWrite, 1, h::hdel},
    {"hexists", 3, kRead, 1, h::hexists},
    {"hlen", 2, kRead, 1, h::hlen},
    {"hincrby", 4, kGrow, 1, h::hincrby},

    {"lpush", -3, kGrow, 1, h::lpush},
    {"rpush", -3, kGrow, 1, h::rpush},
    {"lpop", -2, kWrite, 1, h::lpop},
    {"rpop", -2, kWrite, 1, h::rpop},
    {"llen", 2, kRead, 1, h::llen},
    {"lrange", 4, kRead, 1, h::lrange},
    {"lindex", 3, kRead, 1, h::lindex},
    {"lrem", 4, kWrite, 1, h::lrem},
    {"ltrim", 4, kWrite, 1, h::ltrim},

    {"sadd", -3, kGrow, 1, h::sadd},
    {"srem", -3, kWrite, 1, h::srem},
    {"scard", 2, kRead, 1, h::scard},
    {"smembers", 2, kRead, 1, h::smembers},
    {"sismember", 3, kRead, 1, h::sismember},

    {"zadd", -4, kGrow, 1, h::zadd},
    {"zincrby", 4, kGrow, 1, h::zincrby},
    {"zrem", -3, kWrite, 1, h::zrem},
    {"zcard", 2, kRead, 1, h::zcard},
    {"zscore", 3, kRead, 1, h::zscore},
    {"zrank", 3, kRead, 1, h::zrank},
    {"zrevrank", 3, kRead, 1, h::zrevrank},
    {"zrange", -4, kRead, 1, h::zrange},
    {"zrevrange", -4, kRead, 1, h::zrevrange},
    {"zrangebyscore", -4, kRead, 1, h::zrangebyscore},
    {"zrevrangebyscore", -4, kRead, 1, h::zrevrangebyscore},
    {"zcount", 4, kRead, 1, h::zcount},
    {"zremrangebyrank", 4, kWrite, 1, h::zremrangebyrank},
    {"zremrangebyscore", 4, kWrite, 1, h::zremrangebyscore},

    {"ping", -1, kRead, 0, h::ping},
    {"echo", 2, kLoading, 0, h::echo},
    {"time", 1, kLoading, 0, h::time},
    {"wait", 3, kNoScript, 0, h::wait},
    {"select", 2, kLoading, 0, h::select},
    {"role", 1, kNoScript | kLoading, 0, h::role},
    {"info", -1, kLoading, 0, h::info},
    {"eval", -3, kNoScript, 0, h::eval},
    {"evalsha", -3, kNoScript, 0, h::evalsha},
    {"script", -2, kNoScript, 0, nullptr},
    {"script|load", 3, kNoScript, 0, h::script_load},
    {"script|exists", -3, kNoScript, 0, h::script_exists},
    {"script|flush", -2, kNoScript, 0, h::script_flush},

    {"multi", 1, kControl, 0, h::multi},
    {"exec", 1, kControl, 0, h::exec},
    {"discard", 1, kControl, 0, h::discard},
    {"watch", -2, kControl, 1, h::watch},
    {"unwatch", 1, kNoScript | kLoading, 0, h::unwatch},
};

constexpr std::size_t kLongestName = [] {
    std::size_t longest = 0;
    for (const Command& command : kTable) longest = std::max(longest, command.name.size());
    return longest;
}();

std::unordered_map<std::string_view, const Command*> index_by_name() {
    std::unordered_map<std::string_view, const Command*> index;  // looked up, never iterated
    for (const Command& command : kTable) index.emplace(command.name, &command);
    return index;
}

}  // namespace

std::span<const Command> command_table() { return kTable; }

const Command* find_command(std::string_view name) {
    static const auto kIndex = index_by_name();
    if (name.size() > kLongestName) return nullptr;
    std::array<char, kLongestName> lower{};
    std::transform(name.begin(), name.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const auto found = kIndex.find(std::string_view(lower.data(), name.size()));
    return found == kIndex.end() ? nullptr : found->second;
}

const Command* find_command(Args args) {
    if (args[0].find('|') != std::string_view::npos) return nullptr;  // our way of writing, not the protocol's
    const Command* command = find_command(args[0]);
    if (command == nullptr || command->run != nullptr || args.size() < 2) return command;
    return find_command(std::string(command->name) + "|" + std::string(args[1]));
}

std::string_view first_key(const engine::RedisCommand& args) {
    if (args.empty()) return {};
    const Command* command = find_command(args[0]);
    if (command == nullptr) return {};
    if (command->run == h::eval || command->run == h::evalsha) {
        return args.size() > 3 && args[2] != "0" ? std::string_view(args[3]) : std::string_view();
    }
    const auto position = static_cast<std::size_t>(command->first_key);
    return position > 0 && position < args.size() ? std::string_view(args[position]) : std::string_view();
}

RedisValue wrong_arity(std::string_view command) { return error(ErrorKind::wrong_arity, command); }

std::pair<std::int64_t, std::int64_t> clamp_range(std::int64_t first, std::int64_t last, std::size_t size) {
    const auto length = static_cast<std::int64_t>(size);
    if (first < 0) first += length;
    if (last < 0) last += length;
    return {std::max<std::int64_t>(first, 0), std::min(last, length - 1)};
}

}  // namespace lockstep::fakes::redis
