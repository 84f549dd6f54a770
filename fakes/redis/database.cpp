#include "fakes/redis/database.h"

#include "fakes/redis/handlers.h"

namespace lockstep::fakes::redis {

namespace {

constexpr std::string_view kOutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";
constexpr std::size_t kQuotedArgumentsMax = 128;  // how much of the arguments the error for an unknown command repeats

RedisValue unknown_command(Args args) {
    std::string quoted;
    for (const std::string_view argument : args.subspan(1)) {
        if (quoted.size() >= kQuotedArgumentsMax) break;
        quoted += '\'';
        quoted += argument.substr(0, kQuotedArgumentsMax - quoted.size());
        quoted += "' ";
    }
    std::string text = "ERR unknown command '" + std::string(args[0].substr(0, kQuotedArgumentsMax)) +
                       "', with args beginning with: " + quoted;
    for (char& c : text) c = c == '\r' || c == '\n' ? ' ' : c;
    return error(text);
}

}  // namespace

Database::Database() : scripts_(*this) { keyspace_.add_observer(watches_); }

void Database::expire_due(engine::WallTime now) { keyspace_.expire_due(engine::to_unix_micros(now) / 1000); }

RedisValue Database::execute(Session& session, Args args, engine::WallTime now) {
    now_us_ = engine::to_unix_micros(now);
    keyspace_.expire_due(now_us_ / 1000);
    const Command* command = args.empty() ? nullptr : find_command(args[0]);
    RedisValue refused = refusal(command, session, args);
    if (refused.error() != nullptr) {
        if (session.queueing) session.refused = true;
        return refused;
    }
    if (session.queueing && !command->has(kTransaction)) {
        session.queue.emplace_back(args.begin(), args.end());
        return RedisValue::Status{"QUEUED"};
    }
    script_out_of_memory_ = out_of_memory_;
    keyspace_.act_for(session.client());
    RedisValue reply = run(*command, session, args);
    keyspace_.act_for({});
    return reply;
}

RedisValue Database::refusal(const Command* command, const Session& session, Args args) const {
    if (command == nullptr) return args.empty() ? error("ERR unknown command") : unknown_command(args);
    if (!command->accepts(args.size())) return wrong_arity(command->name);
    // Queueing itself needs memory, so inside MULTI everything but the end of the transaction is refused.
    const bool ends_transaction = command->run == handlers::exec || command->run == handlers::discard;
    if (out_of_memory_ && (command->has(kDenyOom) || (session.queueing && !ends_transaction))) {
        return error(kOutOfMemory);
    }
    if (loading_ && !command->has(kLoading)) return error("LOADING Redis is loading the dataset in memory");
    return nil();
}

RedisValue Database::run(const Command& command, Session& session, Args args) {
    Call call{*this, keyspace_, session, args, now_us_};
    return command.run(call);
}

RedisValue Database::run_script(Session& session, const std::string& sha, Args keys, Args arguments) {
    script_session_ = &session;
    script_has_written_ = false;
    RedisValue reply = scripts_.run(sha, keys, arguments);
    script_session_ = nullptr;
    return reply;
}

RedisValue Database::call_from_script(Args args) {
    const Command* command = find_command(args[0]);
    if (command == nullptr) return error("ERR Unknown Redis command called from script");
    if (!command->accepts(args.size())) return error("ERR Wrong number of args calling Redis command from script");
    if (command->has(kNoScript)) return error("ERR This Redis command is not allowed from script");
    // A script that has written must be able to finish, so memory counts only before its first write.
    if (script_out_of_memory_ && !script_has_written_ && command->has(kDenyOom)) return error(kOutOfMemory);
    if (command->has(kWrite)) script_has_written_ = true;
    return run(*command, *script_session_, args);
}

}  // namespace lockstep::fakes::redis
