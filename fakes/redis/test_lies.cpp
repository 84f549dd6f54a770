#include "fakes/redis/test_lies.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::fakes::redis {

namespace {

using Honest = RedisValue (*)(Call&);

/// Puts `lying(call, honest handler)` in the place of a command's handler.
template <class Lying>
std::shared_ptr<void> bend(Database& server, const char* command, Lying lying) {
    const Honest honest = find_command(std::string_view(command))->run;
    server.substitute(command, [honest, lying](Call& call) -> RedisValue { return lying(call, honest); });
    return nullptr;
}

RedisValue with_arguments(Call& call, Honest honest, const std::vector<std::string_view>& args) {
    Call other{call.database, call.keys, call.session, Args(args), call.now_us};
    return honest(other);
}

/// What strings have expired, until somebody asks for them.
struct Ghosts final : KeyspaceObserver {
    std::map<std::string, std::string, std::less<>> strings;
    void key_removed(NodeId, std::string_view key, Removal why, const Value& value, std::int64_t) override {
        const auto* text = std::get_if<std::string>(&value);
        if (why == Removal::expired && text != nullptr) strings.insert_or_assign(std::string(key), *text);
    }
};

constexpr Lie kLies[] = {
    {"PTTL in seconds",
     [](Database& server) {
         return bend(server, "pttl", [](Call& call, Honest honest) {
             const RedisValue left = honest(call);
             return left.integer_or(0) > 0 ? integer(left.integer_or(0) / 1000) : left;
         });
     }},
    {"an expired key is seen once more",
     [](Database& server) -> std::shared_ptr<void> {
         auto ghosts = std::make_shared<Ghosts>();
         server.keyspace().add_observer(*ghosts);
         bend(server, "get", [ghosts](Call& call, Honest honest) {
             const auto ghost = ghosts->strings.find(call.key());
             if (ghost == ghosts->strings.end() || call.keys.find(call.key()) != nullptr) return honest(call);
             return bulk(ghosts->strings.extract(ghost).mapped());
         });
         return ghosts;
     }},
    {"SET takes no notice of NX",
     [](Database& server) {
         return bend(server, "set", [](Call& call, Honest honest) {
             std::vector<std::string_view> args(call.args.begin(), call.args.end());
             std::erase_if(args, [](std::string_view word) { return same_word(word, "NX"); });
             return with_arguments(call, honest, args);
         });
     }},
    {"SET keeps the expiry without KEEPTTL",
     [](Database& server) {
         return bend(server, "set", [](Call& call, Honest honest) {
             std::vector<std::string_view> args(call.args.begin(), call.args.end());
             if (args.size() == 3) args.emplace_back("KEEPTTL");
             return with_arguments(call, honest, args);
         });
     }},
    {"SCRIPT FLUSH forgets nothing",
     [](Database& server) { return bend(server, "script|flush", [](Call&, Honest) { return ok(); }); }},
    {"an exclusive bound of ZRANGEBYSCORE includes",
     [](Database& server) {
         return bend(server, "zrangebyscore", [](Call& call, Honest honest) {
             std::vector<std::string_view> args(call.args.begin(), call.args.end());
             for (std::string_view& word : args) {
                 if (word.starts_with('(')) word.remove_prefix(1);
             }
             return with_arguments(call, honest, args);
         });
     }},
    {"HSET counts replaced fields",
     [](Database& server) {
         return bend(server, "hset", [](Call& call, Honest honest) {
             const RedisValue created = honest(call);
             return created.integer() != nullptr ? count_of((call.args.size() - 2) / 2) : created;
         });
     }},
    {"INCR takes text for zero",
     [](Database& server) {
         return bend(server, "incr", [](Call& call, Honest honest) {
             const auto found = lookup<std::string>(call.keys, call.key());
             if (found && !parse_integer(*found.value)) call.keys.remove(*found.node);
             return honest(call);
         });
     }},
    {"DEL counts missing keys",
     [](Database& server) {
         return bend(server, "del", [](Call& call, Honest honest) {
             honest(call);
             return count_of(call.args.size() - 1);
         });
     }},
    {"PEXPIRE of a missing key answers 1",
     [](Database& server) {
         return bend(server, "pexpire", [](Call& call, Honest honest) {
             const bool missing = call.keys.find(call.key()) == nullptr;
             const RedisValue set = honest(call);
             return missing && set.integer() != nullptr ? integer(1) : set;
         });
     }},
    {"scripts do not run out of memory",
     [](Database& server) {
         return bend(server, "eval", [](Call& call, Honest honest) {
             if (!call.database.out_of_memory()) return honest(call);
             call.database.set_out_of_memory(false);
             RedisValue reply = call.database.execute(call.session, call.args,
                                                      engine::WallTime(std::chrono::microseconds(call.now_us)));
             call.database.set_out_of_memory(true);
             return reply;
         });
     }},
    {"EXEC takes no notice of a watched key's change",
     [](Database& server) {
         return bend(server, "exec", [](Call& call, Honest honest) {
             call.session.conflict = false;
             return honest(call);
         });
     }},
    {"ZADD counts changed scores",
     [](Database& server) {
         return bend(server, "zadd", [](Call& call, Honest honest) {
             std::vector<std::string_view> args(call.args.begin(), call.args.end());
             args.insert(args.begin() + 2, "CH");
             return with_arguments(call, honest, args);
         });
     }},
    {"HGET of another type finds nothing",
     [](Database& server) {
         return bend(server, "hget", [](Call& call, Honest honest) {
             const auto found = lookup<Hash>(call.keys, call.key());
             return found.wrong ? nil() : honest(call);
         });
     }},
    {"ZREMRANGEBYRANK leaves the last one",
     [](Database& server) {
         return bend(server, "zremrangebyrank", [](Call& call, Honest honest) {
             const auto last = parse_integer(call.args[3]);
             if (!last || *last <= 0) return honest(call);
             const std::string shorter = std::to_string(*last - 1);
             return with_arguments(call, honest, {call.args[0], call.args[1], call.args[2], shorter});
         });
     }},
    {"HINCRBY overflows in silence",
     [](Database& server) {
         return bend(server, "hincrby", [](Call& call, Honest honest) {
             const RedisValue sum = honest(call);
             const bool overflow = sum.error() != nullptr && kind_of_error(sum.error()->text) == ErrorKind::overflow;
             return overflow ? integer(INT64_MIN) : sum;
         });
     }},
};

}  // namespace

std::span<const Lie> lies() { return kLies; }

}  // namespace lockstep::fakes::redis
