// How bytes get to a Redis server and back: what a binding of the Redis port has to bring along. It decides nothing; when to
// connect, what to send, how long to wait and what it all means is RedisConnection's (engine/redis/connection.h), so that
// these rules are the same in production and in the simulation.
#pragma once

#include <string>

#include "engine/ports/redis.h"

namespace lockstep::engine {

/// Who is told what becomes of a transport. Never from inside a call of the transport, but for `close` and `wake_at` which
/// are followed by nothing that they have made void.
class RedisTransportListener {
public:
    /// The attempt has made a connection: commands can be written.
    virtual void on_connected() = 0;
    /// The attempt has failed, or the connection is gone; `why` for people. Nothing of it is heard of again.
    virtual void on_closed(std::string why) = 0;
    /// The next reply, in the order of the commands.
    virtual void on_reply(RedisValue reply) = 0;
    /// The instant that was asked for with `wake_at` has come.
    virtual void on_wake() = 0;

protected:
    ~RedisTransportListener() = default;
};

class RedisTransport {
public:
    virtual ~RedisTransport() = default;

    /// Begins one attempt to connect, which goes on until it is told as made, failed, or `close` ends it. REQUIRES: no attempt
    /// is under way and there is no connection.
    virtual void connect() = 0;
    /// Sends the commands of one call behind whatever was written before. False: no byte will be sent. REQUIRES: connected.
    [[nodiscard]] virtual bool write(const RedisCommands& commands) = 0;
    /// Ends the attempt or the connection; does nothing where there is neither.
    virtual void close() = 0;

    [[nodiscard]] virtual MonoTime now() const = 0;
    /// Asks for `on_wake` at or after `when`; the last request counts.
    virtual void wake_at(MonoTime when) = 0;
};

}  // namespace lockstep::engine
