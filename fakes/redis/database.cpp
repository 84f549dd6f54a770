#include "fakes/redis/database.h"

#include <algorithm>

#include "fakes/redis/handlers.h"

namespace lockstep::fakes::redis {

namespace {

constexpr std::size_t kQuotedArgumentsMax = 128;  // how much of the arguments the error for an unknown command repeats

RedisValue unknown_command(Args args) {
    if (args.empty()) return error(ErrorKind::unknown_command);
    const Command* family = find_command(args[0]);
    if (family != nullptr && family->run == nullptr) {
        std::string name(family->name);
        for (char& c : name) c = static_cast<char>(c - 'a' + 'A');
        return error(ErrorKind::unknown_subcommand,
                     std::string(args[1].substr(0, kQuotedArgumentsMax)) + "'. Try " + name + " HELP.");
    }
    std::string quoted;
    for (const std::string_view argument : args.subspan(1)) {
        if (quoted.size() >= kQuotedArgumentsMax) break;
        quoted += '\'';
        quoted += argument.substr(0, kQuotedArgumentsMax - quoted.size());
        quoted += "' ";
    }
    std::string text =
        " '" + std::string(args[0].substr(0, kQuotedArgumentsMax)) + "', with args beginning with: " + quoted;
    for (char& c : text) c = c == '\r' || c == '\n' ? ' ' : c;
    return error(ErrorKind::unknown_command, text);
}

}  // namespace

Database::Database() : scripts_(*this) { keyspace_.add_observer(watches_); }

void Database::expire_due(engine::WallTime now) { keyspace_.expire_due(engine::to_unix_micros(now) / 1000); }

RedisValue Database::execute(Session& session, Args args, engine::WallTime now) {
    now_us_ = engine::to_unix_micros(now);
    refused_for_memory_ = false;
    keyspace_.expire_due(now_us_ / 1000);
    const Command* command = args.empty() ? nullptr : find_command(args);
    RedisValue refused = refusal(command, session, args);
    if (refused.error() != nullptr) return refuse(command, session, std::move(refused));
    if (session.queueing && !command->has(kTransaction)) {
        // A transaction that is lost already takes nothing more in, which shows when EXEC is refused for what is queued.
        if (!session.refused && !session.conflict) session.queue.emplace_back(args.begin(), args.end());
        return RedisValue::Status{"QUEUED"};
    }
    script_out_of_memory_ = out_of_memory_;
    keyspace_.act_for(session.client());
    RedisValue reply = run(*command, session, args);
    keyspace_.act_for({});
    return reply;
}

RedisValue Database::refuse_for_memory() {
    refused_for_memory_ = true;
    return error(ErrorKind::out_of_memory);
}

RedisValue Database::refusal(const Command* command, const Session& session, Args args) {
    if (command == nullptr) return unknown_command(args);
    if (!command->accepts(args.size()) || command->run == nullptr) return wrong_arity(command->name);
    const bool executes = command->run == handlers::exec;
    const auto queued_any = [&session, executes](auto property) {
        return executes && std::any_of(session.queue.begin(), session.queue.end(), [property](const auto& queued) {
                   return property(*find_command(queued.front()));
               });
    };
    if (out_of_memory_) {
        // Queueing itself needs memory, so inside MULTI everything but the end of the transaction is refused.
        const bool queues = session.queueing && !executes && command->run != handlers::discard;
        const bool grows =
            command->has(kDenyOom) || queued_any([](const Command& queued) { return queued.has(kDenyOom); });
        if (queues || grows) return refuse_for_memory();
    }
    if (loading_) {
        const bool waits = queued_any([](const Command& queued) { return !queued.has(kLoading); });
        if (waits || !command->has(kLoading)) return error(ErrorKind::loading);
    }
    return nil();
}

RedisValue Database::refuse(const Command* command, Session& session, RedisValue reason) {
    if (command != nullptr && command->run == handlers::exec) {
        session.forget_transaction();
        std::string_view text = reason.error()->text;
        if (text.starts_with("ERR ")) text.remove_prefix(4);
        return error(ErrorKind::transaction_refused, text);
    }
    if (session.queueing) session.refused = true;
    return reason;
}

RedisValue Database::run(const Command& command, Session& session, Args args) {
    Call call{*this, keyspace_, session, args, now_us_};
    if (!substituted_.empty()) {
        const auto substitute = substituted_.find(command.name);
        if (substitute != substituted_.end()) return substitute->second(call);
    }
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
    ++commands_of_scripts_;
    const Command* command = find_command(args);
    if (command == nullptr) return error(ErrorKind::script_unknown_command);
    if (!command->accepts(args.size())) return error(ErrorKind::script_wrong_arity);
    if (command->has(kNoScript)) return error(ErrorKind::script_not_allowed);
    // A script that has written must be able to finish, so memory counts only before its first write.
    if (script_out_of_memory_ && !script_has_written_ && command->has(kDenyOom)) return refuse_for_memory();
    if (command->has(kWrite)) script_has_written_ = true;
    return run(*command, *script_session_, args);
}

}  // namespace lockstep::fakes::redis
