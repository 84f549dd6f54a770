#include "prod/rehearsal/redis_tap.h"

#include <fmt/core.h>
#include <hiredis/hiredis.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace lockstep::prod::rehearsal {

namespace {

namespace redis = fakes::redis;

constexpr auto kLoadingPatience = std::chrono::seconds(30);
constexpr auto kLoadingLook = std::chrono::milliseconds(2);

struct FreeReply {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

/// The reply, an error reply included.
Reply ask(redisContext* context, const std::vector<std::string>& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
        texts.push_back(word.data());
        sizes.push_back(word.size());
    }
    Reply reply(static_cast<redisReply*>(
        redisCommandArgv(context, static_cast<int>(words.size()), texts.data(), sizes.data())));
    if (!reply) throw std::runtime_error(fmt::format("Redis does not answer {}: {}", words[0], context->errstr));
    return reply;
}

Reply call(redisContext* context, const std::vector<std::string>& words) {
    Reply reply = ask(context, words);
    if (reply->type == REDIS_REPLY_ERROR)
        throw std::runtime_error(fmt::format("Redis refuses {}: {}", words[0], std::string(reply->str, reply->len)));
    return reply;
}

std::string text(const redisReply* reply) {
    return reply->str == nullptr ? std::string{} : std::string(reply->str, reply->len);
}

std::vector<std::string> texts(const Reply& reply) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < reply->elements; ++i) all.push_back(text(reply->element[i]));
    return all;
}

redis::Value content(redisContext* context, const std::string& key, const std::string& type) {
    if (type == "string") return text(call(context, {"GET", key}).get());
    if (type == "list") {
        const auto items = texts(call(context, {"LRANGE", key, "0", "-1"}));
        return redis::List(items.begin(), items.end());
    }
    if (type == "set") {
        const auto items = texts(call(context, {"SMEMBERS", key}));
        return redis::Set(items.begin(), items.end());
    }
    if (type == "hash") {
        const auto items = texts(call(context, {"HGETALL", key}));
        redis::Hash hash;
        for (std::size_t i = 0; i + 1 < items.size(); i += 2) hash.emplace(items[i], items[i + 1]);
        return hash;
    }
    if (type == "zset") {
        const auto items = texts(call(context, {"ZRANGE", key, "0", "-1", "WITHSCORES"}));
        redis::SortedSet zset;
        for (std::size_t i = 0; i + 1 < items.size(); i += 2) zset.set(items[i], std::stod(items[i + 1]));
        return zset;
    }
    throw std::runtime_error(fmt::format("{} is a {}, which the simulated Redis does not know", key, type));
}

}  // namespace

void RedisLine::Close::operator()(redisContext* context) const { redisFree(context); }

RedisLine::RedisLine(int port, int timeout_ms) : context_(redisConnect("127.0.0.1", port)) {
    if (!context_ || context_->err != 0)
        throw std::runtime_error(
            fmt::format("Redis cannot be reached: {}", context_ ? context_->errstr : "out of memory"));
    if (timeout_ms > 0) redisSetTimeout(context_.get(), {timeout_ms / 1000, (timeout_ms % 1000) * 1000});
}

void RedisLine::command(const std::vector<std::string>& words) { (void)call(context_.get(), words); }

void RedisLine::wait_until_loaded() {
    const auto end = std::chrono::steady_clock::now() + kLoadingPatience;
    while (text(ask(context_.get(), {"PING"}).get()).starts_with("LOADING")) {
        if (std::chrono::steady_clock::now() > end) throw std::runtime_error("Redis does not finish reading its data");
        std::this_thread::sleep_for(kLoadingLook);
    }
}

std::vector<std::pair<std::string, redis::Keyspace::Entry>> RedisLine::everything() {
    std::vector<std::pair<std::string, redis::Keyspace::Entry>> all;
    auto keys = texts(call(context_.get(), {"KEYS", "*"}));
    std::ranges::sort(keys);
    for (std::string& key : keys) {
        const std::string type = text(call(context_.get(), {"TYPE", key}).get());
        if (type == "none") continue;  // ran out meanwhile
        redis::Keyspace::Entry entry{content(context_.get(), key, type), redis::kNever};
        const Reply expiry = call(context_.get(), {"PEXPIRETIME", key});
        if (expiry->integer == -2) continue;
        entry.expires_at = expiry->integer;
        all.emplace_back(std::move(key), std::move(entry));
    }
    return all;
}

RedisTap::RedisTap(int port, Recording& recording) : line_(port, 0), recording_(recording) {
    line_.command({"MONITOR"});
    thread_ = std::thread([this] { listen(); });
}

RedisTap::~RedisTap() {
    ::shutdown(line_.context()->fd, SHUT_RDWR);
    thread_.join();
}

void RedisTap::listen() {
    void* reply = nullptr;
    while (redisGetReply(line_.context(), &reply) == REDIS_OK && reply != nullptr) {
        const Reply line(static_cast<redisReply*>(reply));
        if (auto parsed = parse_monitor_line(text(line.get()))) recording_.add(std::move(*parsed));
    }
}

}  // namespace lockstep::prod::rehearsal
