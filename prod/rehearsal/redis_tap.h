// Listens to a real Redis: MONITOR on a connection of its own, and the whole keyspace at a quiet moment.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fakes/redis/keyspace.h"
#include "prod/rehearsal/recording.h"

struct redisContext;

namespace lockstep::prod::rehearsal {

/// A connection of our own; calls block. Throws std::runtime_error when it cannot be made or breaks.
class RedisLine {
public:
    /// Answers that take longer than this are an error; zero waits for ever.
    explicit RedisLine(int port, int timeout_ms = 5000);

    /// Every key with its content and expiry, sorted.
    [[nodiscard]] std::vector<std::pair<std::string, fakes::redis::Keyspace::Entry>> everything();
    void command(const std::vector<std::string>& words);
    /// A server that has just started may answer that it is still reading its data.
    void wait_until_loaded();

    [[nodiscard]] redisContext* context() { return context_.get(); }

private:
    struct Close {
        void operator()(redisContext* context) const;
    };
    std::unique_ptr<redisContext, Close> context_;
};

/// Takes down what Redis executes from the constructor's return on, until the connection ends or the object does.
class RedisTap {
public:
    RedisTap(int port, Recording& recording);
    ~RedisTap();
    RedisTap(const RedisTap&) = delete;
    RedisTap& operator=(const RedisTap&) = delete;

private:
    void listen();

    RedisLine line_;
    Recording& recording_;
    std::thread thread_;  // last: it uses the others
};

}  // namespace lockstep::prod::rehearsal
