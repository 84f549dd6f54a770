// A command of the simulated server: what the table says of it, and what its handler is given. The table itself stands in
// command_table.cpp; the handlers are grouped by the type that they work on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/ports/redis.h"
#include "fakes/redis/error_kind.h"
#include "fakes/redis/keyspace.h"
#include "fakes/redis/session.h"
#include "fakes/redis/text.h"

namespace lockstep::fakes::redis {

using engine::RedisValue;
using Args = std::span<const std::string_view>;

class Database;

/// One execution of a command. The arguments begin with the command's name.
struct Call {
    Database& database;
    Keyspace& keys;
    Session& session;
    Args args;
    std::int64_t now_us;  // the server's wall clock

    [[nodiscard]] std::int64_t now_ms() const { return now_us / 1000; }
    [[nodiscard]] std::string_view key() const { return args[1]; }
};

enum CommandFlag : unsigned {
    kRead = 0,
    kWrite = 1,
    kDenyOom = 2,      // refused while the server is out of memory
    kNoScript = 4,     // refused inside scripts
    kLoading = 8,      // allowed while the server loads its data
    kTransaction = 16  // runs at once between MULTI and EXEC
};

struct Command {
    std::string_view name;  // lower case
    int arity;              // arguments with the name; negative: at least so many
    unsigned flags;
    int first_key;             // position of the first key; 0: none, or not at a fixed place
    RedisValue (*run)(Call&);  // null for a command that exists with subcommands only

    [[nodiscard]] bool has(CommandFlag flag) const { return (flags & flag) != 0; }
    [[nodiscard]] bool accepts(std::size_t count) const {
        return arity >= 0 ? count == static_cast<std::size_t>(arity) : count >= static_cast<std::size_t>(-arity);
    }
};

[[nodiscard]] std::span<const Command> command_table();
/// Null when the server does not know it. Case does not matter. Commands with subcommands stand in the table as
/// `name|subcommand`, besides an entry without a handler for the name alone.
[[nodiscard]] const Command* find_command(std::string_view name);
/// The command that these words call, subcommand included. REQUIRES: not empty.
[[nodiscard]] const Command* find_command(Args args);
/// The first key that a command names, for events; empty when it names none.
[[nodiscard]] std::string_view first_key(const engine::RedisCommand& command);

// Replies.

inline RedisValue ok() { return RedisValue::Status{"OK"}; }
inline RedisValue nil() { return {}; }
inline RedisValue integer(std::int64_t value) { return value; }
inline RedisValue count_of(std::size_t size) { return static_cast<std::int64_t>(size); }
inline RedisValue bulk(std::string_view text) { return std::string(text); }
inline RedisValue error(ErrorKind kind, std::string_view detail = {}) {
    return RedisValue::Error{error_text(kind, detail)};
}

inline RedisValue syntax_error() { return error(ErrorKind::syntax); }
inline RedisValue wrong_type() { return error(ErrorKind::wrong_type); }
inline RedisValue not_an_integer() { return error(ErrorKind::not_an_integer); }
inline RedisValue not_a_float() { return error(ErrorKind::not_a_float); }
RedisValue wrong_arity(std::string_view command);

// Looking up a key of the type that a command works on.

template <class T>
struct Lookup {
    Keyspace::Node* node = nullptr;
    T* value = nullptr;
    bool wrong = false;  // there is one, of another type

    explicit operator bool() const { return value != nullptr; }
};

template <class T>
Lookup<T> lookup(Keyspace& keys, std::string_view key) {
    Keyspace::Node* node = keys.find(key);
    if (node == nullptr) return {};
    T* value = std::get_if<T>(&node->second.value);
    return {node, value, value == nullptr};
}

/// The node to put elements into: the existing one, or a new one. REQUIRES: !found.wrong.
template <class T>
Keyspace::Node& existing_or_new(Keyspace& keys, const Lookup<T>& found, std::string_view key) {
    return found.node != nullptr ? *found.node : keys.create<T>(key);
}

/// Start and end of LRANGE and its kin, which may count from the end: clamped to [0, size), empty when first > last.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> clamp_range(std::int64_t first, std::int64_t last,
                                                                std::size_t size);

}  // namespace lockstep::fakes::redis
