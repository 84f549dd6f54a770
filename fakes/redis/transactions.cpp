#include <vector>

#include "fakes/redis/database.h"
#include "fakes/redis/handlers.h"

// MULTI, EXEC, DISCARD, WATCH and UNWATCH. Commands are queued in Database::execute.

namespace lockstep::fakes::redis::handlers {

RedisValue multi(Call& call) {
    if (call.session.queueing) return error(ErrorKind::nested_multi);
    call.session.queueing = true;
    return ok();
}

RedisValue exec(Call& call) {
    Session& session = call.session;
    if (!session.queueing) return error(ErrorKind::exec_without_multi);
    const bool refused = session.refused;
    const bool conflict = session.conflict;
    const std::vector<engine::RedisCommand> queue = std::move(session.queue);
    session.forget_transaction();
    if (refused) return error(ErrorKind::transaction_had_errors);
    if (conflict) return nil();
    RedisValue::Array replies;
    replies.reserve(queue.size());
    for (const engine::RedisCommand& queued : queue) {
        const std::vector<std::string_view> args(queued.begin(), queued.end());
        replies.push_back(call.database.run(*find_command(Args(args)), session, args));
    }
    return replies;
}

RedisValue discard(Call& call) {
    if (!call.session.queueing) return error(ErrorKind::discard_without_multi);
    call.session.forget_transaction();
    return ok();
}

RedisValue watch(Call& call) {
    if (call.session.queueing) return error(ErrorKind::watch_inside_multi);
    for (const std::string_view key : call.args.subspan(1)) call.session.watch(key);
    return ok();
}

RedisValue unwatch(Call& call) {
    call.session.unwatch();
    return ok();
}

}  // namespace lockstep::fakes::redis::handlers
