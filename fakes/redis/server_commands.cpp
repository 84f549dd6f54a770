#include "fakes/redis/database.h"
#include "fakes/redis/handlers.h"

// Commands on the server itself, and scripts.

namespace lockstep::fakes::redis::handlers {

namespace {

/// The keys and arguments of EVAL and EVALSHA, or the error reply.
struct ScriptArguments {
    Args keys;
    Args arguments;
    RedisValue error;
};

ScriptArguments split(Args args) {
    const auto key_count = parse_integer(args[2]);
    if (!key_count) return {{}, {}, not_an_integer()};
    const Args rest = args.subspan(3);
    if (*key_count > static_cast<std::int64_t>(rest.size())) {
        return {{}, {}, error(ErrorKind::too_many_keys)};
    }
    if (*key_count < 0) return {{}, {}, error(ErrorKind::negative_keys)};
    const auto keys = static_cast<std::size_t>(*key_count);
    return {rest.first(keys), rest.subspan(keys), {}};
}

}  // namespace

RedisValue ping(Call& call) {
    if (call.args.size() > 2) return wrong_arity("ping");
    return call.args.size() == 2 ? bulk(call.args[1]) : RedisValue(RedisValue::Status{"PONG"});
}

RedisValue echo(Call& call) { return bulk(call.args[1]); }

RedisValue time(Call& call) {
    RedisValue::Array parts;
    parts.push_back(bulk(std::to_string(call.now_us / 1'000'000)));
    parts.push_back(bulk(std::to_string(call.now_us % 1'000'000)));
    return parts;
}

/// The server answers it once its replica has what was written (RedisServer): here it has none.
RedisValue wait(Call& call) {
    const auto replicas = parse_integer(call.args[1]);
    const auto patience = parse_integer(call.args[2]);
    if (!replicas) return not_an_integer();
    if (!patience) return error(ErrorKind::timeout_not_an_integer);
    return *patience < 0 ? error(ErrorKind::timeout_negative) : integer(0);
}

RedisValue select(Call& call) {
    const auto index = parse_integer(call.args[1]);
    if (!index) return not_an_integer();
    return *index == 0 ? ok() : error(ErrorKind::database_index);
}

RedisValue role(Call&) {
    RedisValue::Array master;
    master.push_back(bulk("master"));
    master.push_back(integer(0));
    master.push_back(RedisValue::Array());
    return master;
}

RedisValue info(Call&) { return bulk("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\n"); }

RedisValue eval(Call& call) {
    const ScriptArguments split_args = split(call.args);
    if (split_args.error.error() != nullptr) return split_args.error;
    const ScriptEngine::Loaded loaded = call.database.scripts().load(call.args[1]);
    if (!loaded.error.empty()) return error(ErrorKind::script_does_not_compile, loaded.error);
    return call.database.run_script(call.session, loaded.sha, split_args.keys, split_args.arguments);
}

RedisValue evalsha(Call& call) {
    const ScriptArguments split_args = split(call.args);
    if (split_args.error.error() != nullptr) return split_args.error;
    std::string sha(call.args[1]);
    for (char& c : sha) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (!call.database.scripts().knows(sha)) return error(ErrorKind::no_script);
    return call.database.run_script(call.session, sha, split_args.keys, split_args.arguments);
}

RedisValue script_load(Call& call) {
    const ScriptEngine::Loaded loaded = call.database.scripts().load(call.args[2]);
    return loaded.error.empty() ? bulk(loaded.sha) : error(ErrorKind::script_does_not_compile, loaded.error);
}

RedisValue script_exists(Call& call) {
    RedisValue::Array known;
    for (const std::string_view sha : call.args.subspan(2)) {
        known.push_back(integer(call.database.scripts().knows(sha) ? 1 : 0));
    }
    return known;
}

RedisValue script_flush(Call& call) {
    const Args words = call.args.subspan(2);
    const bool valid =
        words.empty() || (words.size() == 1 && (same_word(words[0], "SYNC") || same_word(words[0], "ASYNC")));
    if (!valid) return error(ErrorKind::script_flush_option);
    call.database.scripts().flush();
    return ok();
}

}  // namespace lockstep::fakes::redis::handlers
