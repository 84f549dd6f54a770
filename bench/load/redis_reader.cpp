#include "bench/load/redis_reader.h"

#include <fmt/core.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace lockstep::bench {

namespace {

constexpr timeval kRedisPatience{30, 0};
constexpr long kPipelineMost = 500;
constexpr const char* kEndedIndexes[] = {"job:index:succeeded", "job:index:failed", "job:index:cancelled",
                                         "job:index:timeout",   "job:index:denied", "job:index:output_quarantined"};

double number_behind(std::string_view text, std::string_view name) {
    const auto at = text.find(name);
    return at == std::string_view::npos ? 0
                                        : std::strtod(std::string(text.substr(at + name.size(), 24)).c_str(), nullptr);
}

/// What the reply was on the wire.
double bytes_of(const redisReply& reply) {
    switch (reply.type) {
        case REDIS_REPLY_INTEGER: return static_cast<double>(fmt::formatted_size(":{}\r\n", reply.integer));
        case REDIS_REPLY_STRING: return static_cast<double>(fmt::formatted_size("${}\r\n\r\n", reply.len) + reply.len);
        case REDIS_REPLY_ARRAY: {
            auto sum = static_cast<double>(fmt::formatted_size("*{}\r\n", reply.elements));
            for (std::size_t i = 0; i < reply.elements; ++i) sum += bytes_of(*reply.element[i]);
            return sum;
        }
        case REDIS_REPLY_NIL: return 5;
        default: return static_cast<double>(reply.len + 3);
    }
}

/// "1700000000000000|DISPATCHED"
std::pair<UnixMicros, std::string> change_in(std::string_view text) {
    UnixMicros at = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), at);
    if (error != std::errc{} || end == text.data() + text.size() || *end != '|')
        throw std::runtime_error(fmt::format("job:events holds \"{}\", expected <microseconds>|<STATE>", text));
    return {at, std::string(end + 1, text.data() + text.size())};
}

}  // namespace

RedisCounts counts_in(std::string_view info) {
    constexpr std::string_view kCommand = "cmdstat_";
    RedisCounts counts;
    std::istringstream lines{std::string(info)};
    for (std::string line; std::getline(lines, line);) {
        const auto colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::string name = line.substr(0, colon);
        const double value = std::strtod(line.c_str() + colon + 1, nullptr);
        if (name.starts_with(kCommand)) {
            const std::string command = name.substr(kCommand.size());
            counts.calls[command] = number_behind(line, "calls=");
            if (command == "evalsha" || command == "eval") counts.script_us += number_behind(line, "usec=");
        } else if (name == "total_reads_processed") {
            counts.reads = value;
        } else if (name == "total_net_input_bytes") {
            counts.bytes_in += value;
        } else if (name == "total_net_output_bytes") {
            counts.bytes_out += value;
        } else if (name == "total_net_repl_input_bytes") {  // the totals hold these
            counts.bytes_in -= value;
            counts.replication_bytes += value;
        } else if (name == "total_net_repl_output_bytes") {
            counts.bytes_out -= value;
            counts.replication_bytes += value;
        }
    }
    return counts;
}

void RedisReader::FreeReply::operator()(redisReply* reply) const { freeReplyObject(reply); }

RedisReader::RedisReader(int port) : context_(redisConnectWithTimeout("127.0.0.1", port, kRedisPatience)) {
    if (context_ == nullptr || context_->err != 0) throw std::runtime_error("redis-server cannot be reached");
    redisSetTimeout(context_, kRedisPatience);
}

RedisReader::~RedisReader() { redisFree(context_); }

void RedisReader::send(const std::vector<std::string>& words) {
    std::vector<const char*> pointers;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
        pointers.push_back(word.data());
        sizes.push_back(word.size());
    }
    char* bytes = nullptr;
    const auto size = redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), pointers.data(), sizes.data());
    if (size < 0) throw std::runtime_error("no memory for a command");
    redisAppendFormattedCommand(context_, bytes, static_cast<std::size_t>(size));
    redisFreeCommand(bytes);
    std::string name = words.front();
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    ++own_.calls[name];
    own_.bytes_in += static_cast<double>(size);
}

RedisReader::Reply RedisReader::next() {
    void* raw = nullptr;
    if (redisGetReply(context_, &raw) != REDIS_OK)
        throw std::runtime_error(fmt::format("redis-server does not answer: {}", context_->errstr));
    Reply reply(static_cast<redisReply*>(raw));
    if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(fmt::format("redis-server: {}", reply->str));
    own_.bytes_out += bytes_of(*reply);
    return reply;
}

long RedisReader::ended() {
    for (const char* index : kEndedIndexes) send({"ZCARD", index});
    ++own_.reads;  // they are sent at once
    long sum = 0;
    for ([[maybe_unused]] const char* index : kEndedIndexes) sum += static_cast<long>(next()->integer);
    return sum;
}

std::string RedisReader::info() {
    send({"INFO", "everything"});
    ++own_.reads;
    const Reply reply = next();
    return {reply->str, reply->len};
}

RedisCounts RedisReader::counts() {
    const RedisCounts before = own_;
    RedisCounts counts = counts_in(info());
    // A command counts once it has been executed, and its bytes once they are read or written: this INFO has only been read.
    for (const auto& [command, calls] : before.calls) counts.calls[command] -= calls;
    counts.reads -= own_.reads;
    counts.bytes_in -= own_.bytes_in;
    counts.bytes_out -= before.bytes_out;
    return counts;
}

std::vector<History> RedisReader::histories(const std::string& prefix, long count) {
    std::vector<History> histories;
    histories.reserve(static_cast<std::size_t>(count));
    for (long from = 0; from < count; from += kPipelineMost) {
        const long to = std::min(count, from + kPipelineMost);
        for (long i = from; i < to; ++i) send({"LRANGE", fmt::format("job:events:{}-{}", prefix, i), "0", "-1"});
        for (long i = from; i < to; ++i) {
            const Reply reply = next();
            History& history = histories.emplace_back();
            for (std::size_t e = 0; e < reply->elements; ++e)
                history.push_back(change_in({reply->element[e]->str, reply->element[e]->len}));
        }
    }
    return histories;
}

std::string RedisReader::text_at(const std::string& key) {
    send({"GET", key});
    ++own_.reads;
    const Reply reply = next();
    return reply->type == REDIS_REPLY_STRING ? std::string(reply->str, reply->len) : std::string();
}

int RedisReader::replicas_following() {
    constexpr std::string_view kOnline = "state=online,offset=";
    send({"PUBLISH", "lockstep-load", "is confirmed"});
    next();
    const std::string text = info();
    int count = 0;
    for (auto at = text.find(kOnline); at != std::string::npos; at = text.find(kOnline, at + 1))
        if (text.compare(at + kOnline.size(), 2, "0,") != 0) ++count;
    return count;
}

void RedisReader::copy_without_delay() {
    send({"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
    next();
}

}  // namespace lockstep::bench
