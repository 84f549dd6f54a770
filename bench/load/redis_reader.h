// What Redis has counted and what it holds of the jobs, asked over a connection of its own. What the bench itself asks is not among
// what it counts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct redisContext;
struct redisReply;

namespace lockstep::bench {

/// Since the server began.
struct RedisCounts {
    std::map<std::string, double> calls;  // by command, those inside scripts too
    double script_us = 0;                 // in EVALSHA and EVAL
    double reads = 0;                     // from sockets: one takes whatever a client has sent by then
    double bytes_in = 0;                  // without those of replication
    double bytes_out = 0;
    double replication_bytes = 0;
};

/// From the text of INFO; what the server does not tell is zero.
[[nodiscard]] RedisCounts counts_in(std::string_view info);

/// Microseconds since 1970.
using UnixMicros = std::int64_t;

/// The states of a job, each with when it came into it, the first one first.
using History = std::vector<std::pair<UnixMicros, std::string>>;

/// All throw std::runtime_error when Redis does not answer.
class RedisReader {
public:
    explicit RedisReader(int port);
    RedisReader(const RedisReader&) = delete;
    RedisReader& operator=(const RedisReader&) = delete;
    ~RedisReader();

    /// Jobs that have ended, as the indexes list them.
    [[nodiscard]] long ended();
    [[nodiscard]] RedisCounts counts();
    /// Of the jobs <prefix>-0 and so on.
    [[nodiscard]] std::vector<History> histories(const std::string& prefix, long count);
    /// The text that `GET` answers; empty when there is none.
    [[nodiscard]] std::string text_at(const std::string& key);
    /// Those that have confirmed something, for which a message goes to a channel: "online" says only that the first copy is
    /// under way, and what is written then is sent when it has been confirmed, a second later on a busy machine.
    [[nodiscard]] int replicas_following();
    /// Has replicas get their first copy at once, not some seconds after they have asked.
    void copy_without_delay();

private:
    struct FreeReply {
        void operator()(redisReply* reply) const;
    };
    using Reply = std::unique_ptr<redisReply, FreeReply>;

    /// Its answer is taken by `next`.
    void send(const std::vector<std::string>& words);
    Reply next();
    std::string info();

    redisContext* context_;
    RedisCounts own_;
};

}  // namespace lockstep::bench
