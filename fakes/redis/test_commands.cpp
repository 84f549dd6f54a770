#include "fakes/redis/test_commands.h"

#include <map>
#include <sstream>

#include "fakes/printable.h"
#include "fakes/redis/resp.h"
#include "fakes/redis/script_engine.h"
#include "fakes/redis/text.h"

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
    {"GET", "text_key"},
    {"SET", "text_key value set_option*"},
    {"SETNX", "text_key value"},
    {"SETEX", "text_key ttl value"},
    {"PSETEX", "text_key ttl_ms value"},
    {"MGET", "text_key+"},
    {"GETDEL", "text_key"},
    {"APPEND", "text_key value"},
    {"STRLEN", "text_key"},
    {"GETRANGE", "text_key index index"},
    {"INCR", "text_key"},
    {"DECR", "text_key"},
    {"INCRBY", "text_key integer"},
    {"DECRBY", "text_key integer"},
    {"DEL", "key+"},
    {"UNLINK", "key+"},
    {"EXISTS", "key+"},
    {"TYPE", "key"},
    {"EXPIRE", "key ttl expire_option*"},
    {"PEXPIRE", "key ttl_ms expire_option*"},
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
    {"HSET", "hash_key pair+"},
    {"HMSET", "hash_key pair+"},
    {"HSETNX", "hash_key member value"},
    {"HGET", "hash_key member"},
    {"HMGET", "hash_key member+"},
    {"HGETALL", "hash_key"},
    {"HDEL", "hash_key member+"},
    {"HEXISTS", "hash_key member"},
    {"HLEN", "hash_key"},
    {"HINCRBY", "hash_key number_member integer"},
    {"LPUSH", "list_key value+"},
    {"RPUSH", "list_key value+"},
    {"LPOP", "list_key index?"},
    {"RPOP", "list_key index?"},
    {"LLEN", "list_key"},
    {"LRANGE", "list_key index index"},
    {"LINDEX", "list_key index"},
    {"LREM", "list_key index value"},
    {"LTRIM", "list_key index index"},
    {"SADD", "set_key member+"},
    {"SREM", "set_key member+"},
    {"SCARD", "set_key"},
    {"SMEMBERS", "set_key"},
    {"SISMEMBER", "set_key member"},
    {"ZADD", "zset_key zadd_option* scored+"},
    {"ZADD", "zset_key zadd_option? scored+"},
    {"ZADD", "zset_key scored+"},
    {"ZINCRBY", "zset_key score member"},
    {"ZINCRBY", "zset_key infinity member"},
    {"ZREM", "zset_key member+"},
    {"ZCARD", "zset_key"},
    {"ZSCORE", "zset_key member"},
    {"ZRANK", "zset_key member"},
    {"ZREVRANK", "zset_key member"},
    {"ZRANGE", "zset_key index index WITHSCORES?"},
    {"ZRANGE", "zset_key bound bound range_option*"},
    {"ZREVRANGE", "zset_key index index WITHSCORES?"},
    {"ZRANGEBYSCORE", "zset_key bound bound score_option*"},
    {"ZRANGEBYSCORE", "zset_key bound bound score_option?"},
    {"ZREVRANGEBYSCORE", "zset_key bound bound score_option*"},
    {"ZCOUNT", "zset_key bound bound"},
    {"ZREMRANGEBYRANK", "zset_key index index"},
    {"ZREMRANGEBYRANK", "zset_key index index"},
    {"ZREMRANGEBYSCORE", "zset_key bound bound"},
    {"PING", "value?"},
    {"ECHO", "value"},
    {"TIME", ""},
    {"SELECT", "index"},
    {"WAIT", "replicas patience"},
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
        {"key", {{"a"}, {"b"}, {"h"}, {"i"}, {"l"}, {"s"}, {"z"}, {"y"}}},
        // Mostly keys that hold what the command works on, so that it finds something.
        {"text_key", {{"a"}, {"a"}, {"b"}, {"b"}, {"n"}, {"n"}, {"h"}}},
        {"hash_key", {{"h"}, {"h"}, {"h"}, {"i"}, {"i"}, {"i"}, {"a"}}},
        {"list_key", {{"l"}, {"l"}, {"l"}, {"l"}, {"k"}, {"h"}}},
        {"set_key", {{"s"}, {"s"}, {"s"}, {"s"}, {"t"}, {"z"}}},
        {"zset_key", {{"z"}, {"z"}, {"z"}, {"z"}, {"y"}, {"y"}, {"l"}}},
        {"value",
         {{"x"}, {"y"}, {"10"}, {"-7"}, {""}, {"9223372036854775807"}, {"a longer value, with\r\nlines"}, {"3.5"}}},
        {"member", {{"m"}, {"n"}, {"o"}, {""}, {"10"}, {std::string("\0z", 2)}}},
        {"number_member", {{"10"}, {"10"}, {"m"}, {"n"}, {"p"}}},
        {"integer",
         {{"1"},
          {"1"},
          {"2"},
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
        {"index",
         {{"0"},
          {"0"},
          {"0"},
          {"0"},
          {"1"},
          {"1"},
          {"-1"},
          {"-1"},
          {"-1"},
          {"2"},
          {"2"},
          {"-2"},
          {"100"},
          {"-100"},
          {"x"},
          {"1.0"}}},
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
        {"infinity", {{"inf"}, {"-inf"}}},
        {"bound",
         {{"0"},
          {"1"},
          {"(1"},
          {"(1"},
          {"(2"},
          {"3"},
          {"-inf"},
          {"-inf"},
          {"-inf"},
          {"+inf"},
          {"+inf"},
          {"+inf"},
          {"(2.5"},
          {"(inf"},
          {"x"},
          {"("},
          {" 1"},
          {"-1"},
          {""}}},
        {"ttl_ms",
         {{"1000"}, {"15"}, {"15"}, {"25"}, {"40"}, {"100000"}, {"1"}, {"0"}, {"-1"}, {"x"}, {"9223372036854775807"}}},
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
        {"instant",
         {{"now+20"},
          {"now+20"},
          {"now+100000"},
          {"1"},
          {"0"},
          {"-1"},
          {"99999999999"},
          {"99999999999999"},
          {"9223372036854775807"},
          {"x"}}},
        // Nobody has a replica: whoever waits for one waits to the end.
        {"replicas", {{"0"}, {"0"}, {"-1"}, {"x"}}},
        {"patience", {{"0"}, {"10"}, {"-1"}, {"x"}}},
        {"pattern", {{"*"}, {"a*"}, {"?"}, {"[a-c]"}, {"[^a]"}, {"[c-a]"}, {"\\a"}, {"x"}, {""}, {"a["}, {"*b*"}}},
        {"cursor", {{"0"}, {"0"}, {"0"}, {"x"}}},
        {"pair", {{"m", "x"}, {"n", "10"}, {"o", ""}, {"10", "9223372036854775807"}, {"m", "7"}}},
        {"scored",
         {{"1", "m"},
          {"1", "n"},
          {"1", "10"},
          {"2", "m"},
          {"2.5", "o"},
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
          {"PX", "20"},
          {"PX", "20"},
          {"PXAT", "now+25"},
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
          {"COUNT", "1"},
          {"COUNT", "3"},
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
        {"score_option",
         {{"WITHSCORES"},
          {"WITHSCORES"},
          {"LIMIT", "0", "1"},
          {"LIMIT", "0", "2"},
          {"LIMIT", "1", "-1"},
          {"LIMIT", "-1", "2"},
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
    const Shape* shape = &kShapes[draw(std::size(kShapes))];
    // Now and then is enough: a server that is emptied all the time shows nothing.
    const bool empties = std::string_view(shape->command).starts_with("FLUSH");
    if (empties && draw(6) != 0) shape = &kShapes[draw(std::size(kShapes))];
    engine::RedisCommand command{shape->command};
    std::istringstream kinds(shape->arguments);
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
    static constexpr const char* kKeyCounts[] = {"x", "-1", "100"};
    command.emplace_back(draw(20) == 0 ? kKeyCounts[draw(std::size(kKeyCounts))] : "0");
    command.insert(command.end(), inner.begin(), inner.end());
    return command;
}

void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    append_printable(out, text);
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
        switch (draw(90)) {
            case 0: drawn.kind = Step::Kind::memory_full; break;
            case 1:
            case 2:
            case 3:
            case 4: drawn.kind = Step::Kind::memory_free; break;
            case 5:
            case 6: drawn.kind = Step::Kind::wait; break;
            default: drawn.command = *any_command(); break;
        }
        return drawn;
    });
    return rc::gen::scale(5, rc::gen::container<std::vector<Step>>(step));
}

engine::RedisCommand command_in_script(const engine::RedisCommand& command) {
    constexpr std::size_t kScriptsThatRunTheirArguments = 3;
    const bool evaluated = same_word(command[0], "EVAL");
    if ((!evaluated && !same_word(command[0], "EVALSHA")) || command.size() < 4 || command[2] != "0") return {};
    for (std::size_t i = 0; i < kScriptsThatRunTheirArguments; ++i) {
        const std::string& script = test_scripts()[i];
        if (command[1] == (evaluated ? script : ScriptEngine::sha1_hex(script))) {
            return {command.begin() + 3, command.end()};
        }
    }
    return {};
}

std::ostream& operator<<(std::ostream& out, const Step& step) {
    switch (step.kind) {
        case Step::Kind::wait: return out << "wait";
        case Step::Kind::memory_full: return out << "memory full";
        case Step::Kind::memory_free: return out << "memory free";
        case Step::Kind::command: break;
    }
    return out << step.connection << ": " << printable(step.command);
}

std::string printable(const engine::RedisCommand& command) {
    std::string text;
    for (const std::string& word : command) {
        if (!text.empty()) text += ' ';
        append_quoted(text, word);
    }
    return text;
}

std::string printable(const engine::RedisValue& reply) {
    std::string bytes;
    append_resp(bytes, reply);
    std::string text;
    append_quoted(text, bytes);
    return text;
}

}  // namespace lockstep::fakes::redis
