#include "fakes/redis/test_commands.h"

#include <map>
#include <sstream>

#include "fakes/redis/resp.h"
#include "fakes/redis/script_engine.h"

namespace lockstep::fakes::redis {

namespace {

using Words = std::vector<std::string>;

/// How a command is called: words in capitals are themselves, the others name a kind of argument; `?` optional,
/// `*` up to three, `+` one to three, `|` between alternatives of the whole.
struct Shape {
    const char* command;
    const char* arguments;
};

constexpr Shape kShapes[] = {
    {"GET", "key"},
    {"SET", "key value set_option*"},
    {"SETNX", "key value"},
    {"SETEX", "key ttl value"},
    {"PSETEX", "key ttl value"},
    {"MGET", "key+"},
    {"GETDEL", "key"},
    {"APPEND", "key value"},
    {"STRLEN", "key"},
    {"GETRANGE", "key index index"},
    {"INCR", "key"},
    {"DECR", "key"},
    {"INCRBY", "key integer"},
    {"DECRBY", "key integer"},
    {"DEL", "key+"},
    {"UNLINK", "key+"},
    {"EXISTS", "key+"},
    {"TYPE", "key"},
    {"EXPIRE", "key ttl expire_option*"},
    {"PEXPIRE", "key ttl expire_option*"},
    {"EXPIREAT", "key instant expire_option?"},
    {"PEXPIREAT", "key instant expire_option?"},
    {"TTL", "key"},
    {"PTTL", "key"},
    {"PERSIST", "key"},
    {"KEYS", "pattern"},
    {"SCAN", "cursor scan_option*"},
    {"DBSIZE", ""},
    {"FLUSHALL", "flush_option?"},
    {"FLUSHDB", "flush_option?"},
    {"HSET", "key pair+"},
    {"HMSET", "key pair+"},
    {"HSETNX", "key member value"},
    {"HGET", "key member"},
    {"HMGET", "key member+"},
    {"HGETALL", "key"},
    {"HDEL", "key member+"},
    {"HEXISTS", "key member"},
    {"HLEN", "key"},
    {"HINCRBY", "key member integer"},
    {"LPUSH", "key value+"},
    {"RPUSH", "key value+"},
    {"LPOP", "key index?"},
    {"RPOP", "key index?"},
    {"LLEN", "key"},
    {"LRANGE", "key index index"},
    {"LINDEX", "key index"},
    {"LREM", "key index value"},
    {"LTRIM", "key index index"},
    {"SADD", "key member+"},
    {"SREM", "key member+"},
    {"SCARD", "key"},
    {"SMEMBERS", "key"},
    {"SISMEMBER", "key member"},
    {"ZADD", "key zadd_option* scored+"},
    {"ZINCRBY", "key score member"},
    {"ZREM", "key member+"},
    {"ZCARD", "key"},
    {"ZSCORE", "key member"},
    {"ZRANK", "key member"},
    {"ZREVRANK", "key member"},
    {"ZRANGE", "key index index WITHSCORES?"},
    {"ZRANGE", "key bound bound range_option*"},
    {"ZREVRANGE", "key index index range_option?"},
    {"ZRANGEBYSCORE", "key bound bound range_option*"},
    {"ZREVRANGEBYSCORE", "key bound bound range_option*"},
    {"ZCOUNT", "key bound bound"},
    {"ZREMRANGEBYRANK", "key index index"},
    {"ZREMRANGEBYSCORE", "key bound bound"},
    {"PING", "value?"},
    {"ECHO", "value"},
    {"TIME", ""},
    {"SELECT", "index"},
    {"ROLE", ""},
    {"INFO", ""},
    {"SCRIPT", "script_call"},
    {"MULTI", ""},
    {"MULTI", ""},
    {"EXEC", ""},
    {"EXEC", ""},
    {"EXEC", ""},
    {"DISCARD", ""},
    {"WATCH", "key+"},
    {"UNWATCH", ""},
    {"NOSUCH", "value*"},
};

const std::map<std::string, std::vector<Words>>& arguments_by_kind() {
    static const std::map<std::string, std::vector<Words>> kKinds = {
        {"key", {{"a"}, {"b"}, {"c"}, {"d"}, {"e"}}},
        {"value",
         {{"x"}, {"y"}, {"10"}, {"-7"}, {""}, {"9223372036854775807"}, {"a longer value, with\r\nlines"}, {"3.5"}}},
        {"member", {{"m"}, {"n"}, {"o"}, {""}, {"10"}, {std::string("\0z", 2)}}},
        {"integer",
         {{"1"},
          {"5"},
          {"-3"},
          {"9223372036854775807"},
          {"-9223372036854775808"},
          {"9223372036854775808"},
          {"007"},
          {"+1"},
          {" 1"},
          {"1.5"},
          {"-0"},
          {""},
          {"x"}}},
        {"index", {{"0"}, {"0"}, {"1"}, {"-1"}, {"-1"}, {"2"}, {"-2"}, {"100"}, {"-100"}, {"x"}, {"1.0"}}},
        {"score",
         {{"0"},
          {"1"},
          {"-1"},
          {"2.5"},
          {"0.1"},
          {"1e16"},
          {"1e17"},
          {"1790000000000001"},
          {"inf"},
          {"-inf"},
          {"+inf"},
          {"1e400"},
          {"nan"},
          {"0x10"},
          {"-0"},
          {" 1"},
          {"x"},
          {""}}},
        {"bound",
         {{"0"},
          {"1"},
          {"(1"},
          {"-inf"},
          {"-inf"},
          {"+inf"},
          {"+inf"},
          {"(2.5"},
          {"(inf"},
          {"x"},
          {"("},
          {" 1"},
          {"-1"},
          {""}}},
        {"ttl",
         {{"1000"},
          {"2000"},
          {"100000"},
          {"0"},
          {"-1"},
          {"x"},
          {"9223372036854775807"},
          {"-9223372036854775808"},
          {"1e3"}}},
        {"instant", {{"1"}, {"0"}, {"-1"}, {"99999999999"}, {"99999999999999"}, {"9223372036854775807"}, {"x"}}},
        {"pattern", {{"*"}, {"a*"}, {"?"}, {"[a-c]"}, {"[^a]"}, {"[c-a]"}, {"\\a"}, {"x"}, {""}, {"a["}, {"*b*"}}},
        {"cursor", {{"0"}, {"0"}, {"0"}, {"x"}}},
        {"pair", {{"m", "x"}, {"n", "10"}, {"o", ""}, {"10", "9223372036854775807"}, {"m", "7"}}},
        {"scored",
         {{"1", "m"},
          {"2", "n"},
          {"3", "o"},
          {"2", "p"},
          {"-inf", "n"},
          {"inf", "m"},
          {"1.5", "o"},
          {"nan", "m"},
          {"x", "m"},
          {"1", ""}}},
        {"set_option",
         {{"NX"},
          {"XX"},
          {"GET"},
          {"KEEPTTL"},
          {"EX", "1000"},
          {"PX", "1000000"},
          {"EX", "0"},
          {"EX", "x"},
          {"EXAT", "99999999999"},
          {"PXAT", "1"},
          {"PX"},
          {"ex", "2000"},
          {"what"}}},
        {"expire_option", {{"NX"}, {"XX"}, {"GT"}, {"LT"}, {"gt"}, {"what"}}},
        {"scan_option",
         {{"COUNT", "1000"},
          {"MATCH", "a*"},
          {"MATCH", "*"},
          {"TYPE", "hash"},
          {"TYPE", "what"},
          {"COUNT", "0"},
          {"COUNT", "x"},
          {"MATCH"},
          {"what", "x"}}},
        {"flush_option", {{"ASYNC"}, {"SYNC"}, {"what"}}},
        {"zadd_option", {{"NX"}, {"XX"}, {"GT"}, {"LT"}, {"CH"}, {"CH"}, {"INCR"}}},
        {"range_option",
         {{"WITHSCORES"},
          {"LIMIT", "0", "1"},
          {"LIMIT", "1", "-1"},
          {"LIMIT", "-1", "2"},
          {"REV"},
          {"BYSCORE"},
          {"BYSCORE"},
          {"LIMIT", "x", "1"},
          {"LIMIT", "1"},
          {"what"}}},
        {"script_call",
         {{"FLUSH"},
          {"FLUSH", "SYNC"},
          {"FLUSH", "what"},
          {"EXISTS"},
          {"EXISTS", "x"},
          {"LOAD"},
          {"LOAD", "return 1"},
          {"LOAD", "return if"},
          {"what"}}},
    };
    return kKinds;
}

/// Uniform. (Left alone, RapidCheck draws small numbers in small cases, and the end of a table never.)
std::size_t draw(std::size_t bound) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, bound));
}

void append_arguments(engine::RedisCommand& command, std::string kind) {
    std::size_t times = 1;
    if (kind.ends_with('?')) times = draw(2);
    if (kind.ends_with('*')) times = draw(4);
    if (kind.ends_with('+')) times = 1 + draw(3);
    if (kind.find_first_of("?*+") != std::string::npos) kind.pop_back();
    const auto found = arguments_by_kind().find(kind);
    for (; times > 0; --times) {
        if (found == arguments_by_kind().end()) {
            command.push_back(kind);
            continue;
        }
        const Words& words = found->second[draw(found->second.size())];
        command.insert(command.end(), words.begin(), words.end());
    }
}

engine::RedisCommand draw_plain_command() {
    const Shape& shape = kShapes[draw(std::size(kShapes))];
    engine::RedisCommand command{shape.command};
    std::istringstream kinds(shape.arguments);
    for (std::string kind; kinds >> kind;) append_arguments(command, kind);
    switch (draw(40)) {
        case 0: command.emplace_back("surplus"); break;
        case 1:
            if (command.size() > 1) command.pop_back();
            break;
        case 2:
            for (char& c : command[0]) c = static_cast<char>(c + ('a' - 'A'));
            break;
        default: break;
    }
    return command;
}

/// EVAL or EVALSHA of one of the scripts, most often of one that calls a random command in turn.
engine::RedisCommand draw_script_call() {
    const std::size_t which = draw(4) == 0 ? draw(test_scripts().size()) : draw(3);
    const std::string& text = test_scripts()[which];
    engine::RedisCommand command;
    if (draw(3) == 0) {
        command = {"EVALSHA", ScriptEngine::sha1_hex(text)};
    } else {
        command = {"EVAL", text};
    }
    const engine::RedisCommand inner = draw_plain_command();
    command.emplace_back(draw(20) == 0 ? "x" : "0");
    command.insert(command.end(), inner.begin(), inner.end());
    return command;
}

void append_printable(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        if (c >= ' ' && c <= '~') {
            out += c;
        } else {
            constexpr char kDigits[] = "0123456789abcdef";
            out += {'\\', 'x', kDigits[(c >> 4) & 15], kDigits[c & 15]};
        }
    }
    out += '"';
}

}  // namespace

rc::Gen<engine::RedisCommand> any_command() {
    return rc::gen::exec([] { return draw(5) == 0 ? draw_script_call() : draw_plain_command(); });
}

rc::Gen<std::vector<Step>> any_history() {
    const auto step = rc::gen::exec([] {
        // Most on one connection, so that transactions get somewhere before the other one disturbs them.
        Step drawn;
        drawn.connection = draw(4) == 0 ? 1 : 0;
        drawn.command = *any_command();
        return drawn;
    });
    return rc::gen::scale(5, rc::gen::container<std::vector<Step>>(step));
}

std::string printable(const engine::RedisCommand& command) {
    std::string text;
    for (const std::string& word : command) {
        if (!text.empty()) text += ' ';
        append_printable(text, word);
    }
    return text;
}

std::string printable(const engine::RedisValue& reply) {
    std::string bytes;
    append_resp(bytes, reply);
    std::string text;
    append_printable(text, bytes);
    return text;
}

}  // namespace lockstep::fakes::redis
