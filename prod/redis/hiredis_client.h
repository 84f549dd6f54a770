// The Redis port over hiredis: one pipelined connection on the loop.
//
// 1. Replies come in the order of the commands, so a command that is overdue means that the connection is of no use: it
//    is dropped, and everything in flight on it is *unknown*. The next connection is made at once, unless this one was
//    short-lived.
// 2. Without a connection a call is *not applied* at once; while one is being made, calls wait for it up to their
//    deadline. A failed attempt answers everything that waits and is repeated with growing pauses.
// 3. Everything happens on the loop's thread; name resolution is asynchronous, nothing blocks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "engine/ports/redis.h"
#include "prod/loop/uv_loop.h"
#include "prod/redis/redis_url.h"

struct redisAsyncContext;
struct redisReply;

namespace lockstep::prod {

struct RedisOptions {
    /// For one attempt to connect, name resolution and log-in included.
    engine::Duration connect_timeout = std::chrono::seconds(2);
    /// Pauses between failed attempts: doubling from the first to the last. Short, because Redis is on the path of every
    /// job, and capped, because every replica knocks.
    engine::Duration reconnect_pause_min = std::chrono::milliseconds(20);
    engine::Duration reconnect_pause_max = std::chrono::seconds(1);
};

class HiredisClient final : public engine::Redis {
public:
    HiredisClient(UvLoop& loop, RedisAddress address, RedisOptions options = {});
    /// Answers what is in flight as *unknown*. REQUIRES: not inside a callback of this client.
    ~HiredisClient() override;
    HiredisClient(const HiredisClient&) = delete;
    HiredisClient& operator=(const HiredisClient&) = delete;

    [[nodiscard]] bool connected() const { return state_ == State::ready; }
    /// Connections made so far, log-in included.
    [[nodiscard]] std::uint64_t connections() const { return connections_; }
    /// Why there is no connection; empty while there is one.
    [[nodiscard]] const std::string& last_error() const { return last_error_; }
    /// Called when a connection is made (empty text) or lost (why).
    void on_state(std::function<void(bool connected, const std::string& why)> listener) { listener_ = std::move(listener); }

private:
    class Exchange;
    class Alarm;
    struct Callbacks;
    struct Lookup;
    enum class State : std::uint8_t { waiting, connecting, ready };

    engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> exchange(std::vector<engine::RedisCommand> commands,
                                                                            engine::MonoTime deadline) override;

    /// One attempt: resolve the name, try its addresses in turn, log in.
    void start_attempt();
    void on_resolved(std::vector<std::string> addresses, std::string error);
    void connect_next();
    void on_connected(bool connected, const char* error);
    void log_in();
    void on_log_in_reply(const redisReply* reply, bool last);
    void become_ready();
    void send(const std::shared_ptr<Exchange>& exchange);
    /// Gives the connection up: what was sent is unknown, what waited is not applied. Then tries again.
    void drop(std::string why);
    /// What `drop` does once the context is gone.
    void settle(std::string why);
    void set_alarm(engine::Duration delay);
    void on_alarm();

    UvLoop& loop_;
    const RedisAddress address_;
    const RedisOptions options_;
    std::function<void(bool, const std::string&)> listener_;

    State state_ = State::waiting;
    redisAsyncContext* context_ = nullptr;
    Lookup* lookup_ = nullptr;             // frees itself when libuv is done with it
    std::vector<std::string> addresses_;   // of this attempt, still to try
    std::unique_ptr<Alarm> alarm_;  // the next attempt, or the end of the present one
    engine::Duration pause_;
    std::uint64_t connections_ = 0;
    engine::MonoTime ready_since_{};
    std::string last_error_ = "not connected yet";
    std::string cause_;  // why we drop, for the answers that hiredis produces while it frees the context
    std::deque<std::shared_ptr<Exchange>> queued_;  // waiting for the connection that is being made
};

}  // namespace lockstep::prod
