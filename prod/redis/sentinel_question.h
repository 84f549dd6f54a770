// Asks Redis Sentinels which server is the primary of a group, anew for every connection: an answer is never kept. One after the
// other is asked until one knows; who did not answer is asked last the next time.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "engine/redis/transport.h"
#include "prod/redis/redis_url.h"

namespace lockstep::prod {

class TcpTransport;
class UvLoop;

class SentinelQuestion final : private engine::RedisTransportListener {
public:
    /// Where the primary is, or what each of the sentinels said.
    using Answer = tl::expected<RedisHost, std::string>;

    /// The loop outlives the question.
    SentinelQuestion(UvLoop& loop, const RedisAddress& address);
    ~SentinelQuestion();
    SentinelQuestion(const SentinelQuestion&) = delete;
    SentinelQuestion& operator=(const SentinelQuestion&) = delete;

    /// Calls `told` once, not from inside this call, unless `stop` comes first. REQUIRES: no other question is under way.
    void ask(std::function<void(Answer)> told);
    void stop();

private:
    void on_connected() override;
    void on_closed(std::string why) override;
    void on_reply(engine::RedisValue reply) override;
    void on_wake() override;
    void ask_first();
    /// The one that is being asked does not help.
    void give_up(const std::string& why);
    void answer(Answer answer);

    const RedisAddress address_;
    std::deque<RedisHost> sentinels_;  // the one to be asked first in front
    std::size_t left_ = 0;             // still to be asked
    std::size_t replies_ = 0;          // still to come from this one
    std::string said_;                 // by those who did not help
    std::function<void(Answer)> told_;
    std::unique_ptr<TcpTransport> transport_;
};

}  // namespace lockstep::prod
