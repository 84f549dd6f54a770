// The Redis port, at the level of commands: the simulation runs the very commands and scripts that production sends.
//
// A binding implements one thing, `exchange`: send some commands on one connection, get their replies. What a reply says
// about the effect is decided here, once, for both worlds:
//   - never sent (no connection)                                  -> not applied
//   - sent, and no reply: deadline, connection lost               -> unknown
//   - an error reply to a single command, or to a script before   -> not applied
//     its first write (NOSCRIPT, LOADING, OOM, READONLY, BUSY ...)
//   - an error raised while a script ran                          -> unknown: what it wrote before stands
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/ports/script_loads.h"
#include "engine/runtime/outcome.h"
#include "engine/runtime/task.h"
#include "engine/runtime/time.h"

namespace lockstep::engine {

/// A server that says nothing at all for so long, while a reply is overdue, counts as gone.
inline constexpr Duration kRedisSilenceMax = std::chrono::seconds(1);

/// A RESP2 reply.
class RedisValue {
public:
    struct Nil {};
    struct Status {
        std::string text;
    };
    struct Error {
        std::string text;
    };
    using Array = std::vector<RedisValue>;

    RedisValue() = default;
    RedisValue(std::int64_t integer) : value_(integer) {}
    RedisValue(std::string bulk) : value_(std::move(bulk)) {}
    RedisValue(Status status) : value_(std::move(status)) {}
    RedisValue(Error error) : value_(std::move(error)) {}
    RedisValue(Array array) : value_(std::move(array)) {}

    [[nodiscard]] bool is_nil() const { return std::holds_alternative<Nil>(value_); }
    [[nodiscard]] const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value_); }
    [[nodiscard]] const std::string* bulk() const { return std::get_if<std::string>(&value_); }
    [[nodiscard]] const Status* status() const { return std::get_if<Status>(&value_); }
    [[nodiscard]] const Error* error() const { return std::get_if<Error>(&value_); }
    [[nodiscard]] const Array* array() const { return std::get_if<Array>(&value_); }

    /// Bulk or status text; empty for anything else. For fields whose absence and emptiness mean the same.
    [[nodiscard]] std::string_view text() const;
    /// An integer reply, or bulk text that is a whole decimal integer; `otherwise` for anything else.
    [[nodiscard]] std::int64_t integer_or(std::int64_t otherwise) const;
    /// The element at `index`, or nil when this is no array or too short.
    [[nodiscard]] const RedisValue& at(std::size_t index) const;

private:
    std::variant<Nil, std::int64_t, std::string, Status, Error, Array> value_;
};

using RedisCommand = std::vector<std::string>;
/// Commands on their way: shared by whoever sends them, whoever may have to send them again, and whoever tells of them.
using RedisCommands = std::shared_ptr<const std::vector<RedisCommand>>;

/// A Lua script with a name for people, and its SHA-1, computed once.
class RedisScript {
public:
    RedisScript(std::string_view name, std::string_view text);
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] const std::string& sha1() const { return sha1_; }

private:
    std::string name_;
    std::string text_;
    std::string sha1_;
};

class Redis {
public:
    virtual ~Redis() = default;

    /// One command. An error reply is *not applied*, with the reply as its detail.
    [[nodiscard]] Task<Outcome<RedisValue>> command(RedisCommand command, MonoTime deadline);
    /// Several commands on one connection, in order, one reply each; error replies stay among the values. Not atomic:
    /// *unknown* means that any prefix may have been applied.
    [[nodiscard]] Task<Outcome<std::vector<RedisValue>>> pipeline(std::vector<RedisCommand> commands,
                                                                  MonoTime deadline);
    /// EVALSHA. Where the server does not know the script, one caller sends the text with its call, and all others call again
    /// behind it. What is answered is about the script alone; *not applied* also when it cannot be loaded, for then it has not
    /// run. `script` must outlive the call.
    [[nodiscard]] Task<Outcome<RedisValue>> script(const RedisScript& script, std::vector<std::string> keys,
                                                   std::vector<std::string> arguments, MonoTime deadline);

private:
    /// Sends `commands` behind whatever was sent before and collects as many replies. Error replies are values here.
    /// *not applied*: no byte left this process. *unknown*: sent, but not all replies came before `deadline` or the end of
    /// the connection.
    [[nodiscard]] virtual Task<Outcome<std::vector<RedisValue>>> exchange(RedisCommands commands,
                                                                          MonoTime deadline) = 0;

    ScriptLoads loads_;
};

}  // namespace lockstep::engine
