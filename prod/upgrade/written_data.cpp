#include "prod/upgrade/written_data.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <nats/nats.h>
#include <openssl/evp.h>

#include <cctype>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

namespace lockstep::prod::testing {

using nlohmann::json;

namespace {

constexpr std::int64_t kTimeoutMs = 5'000;
constexpr auto kNear = std::chrono::days{30};

// Bytes ----------------------------------------------------------------------------------------------------------------

std::string to_base64(std::string_view bytes) {
    std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
    const int length =
        EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                        reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(length));
    return text;
}

std::string from_base64(const std::string& text) {
    std::string bytes(text.size(), '\0');
    const int length =
        EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    if (length < 0) throw std::runtime_error("not base64: " + text);
    std::size_t padding = 0;
    while (padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
    bytes.resize(static_cast<std::size_t>(length) - padding);
    return bytes;
}

bool is_plain(std::string_view bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// Text as it is, other bytes as {"base64": ...}.
json kept(std::string_view bytes) {
    if (is_plain(bytes)) return std::string(bytes);
    return {{"base64", to_base64(bytes)}};
}

std::string given_back(const json& value, UnixTime from, UnixTime to) {
    if (value.is_object()) return from_base64(value.at("base64").get<std::string>());
    return moved_on(value.get<std::string>(), from, to);
}

// Redis ----------------------------------------------------------------------------------------------------------------

class RedisServer {
public:
    explicit RedisServer(int port) : context_(redisConnect("127.0.0.1", port), &redisFree) {
        if (!context_ || context_->err != 0) throw std::runtime_error(fmt::format("no Redis on port {}", port));
    }
    /// A reply of one value, or of several.
    std::vector<std::string> ask(const std::vector<std::string>& words) {
        std::vector<const char*> texts;
        std::vector<std::size_t> sizes;
        for (const std::string& word : words) {
            texts.push_back(word.data());
            sizes.push_back(word.size());
        }
        const std::unique_ptr<redisReply, void (*)(void*)> reply(
            static_cast<redisReply*>(
                redisCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(), sizes.data())),
            &freeReplyObject);
        if (!reply || reply->type == REDIS_REPLY_ERROR)
            throw std::runtime_error(fmt::format("{}: {}", words.front(), reply ? reply->str : context_->errstr));
        if (reply->type != REDIS_REPLY_ARRAY) return {text_of(*reply)};
        std::vector<std::string> values;
        for (std::size_t i = 0; i < reply->elements; ++i) values.push_back(text_of(*reply->element[i]));
        return values;
    }

private:
    static std::string text_of(const redisReply& reply) {
        if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
        return reply.str == nullptr ? std::string{} : std::string(reply.str, reply.len);
    }
    std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
};

struct Kind {
    const char* name;
    std::vector<std::string> read;  // the words before and after the key
    std::vector<std::string> after;
    const char* write;
    bool score_last;  // reads members before scores, and writes them after
};

const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all{{"string", {"GET"}, {}, "SET", false},
                                       {"hash", {"HGETALL"}, {}, "HSET", false},
                                       {"list", {"LRANGE"}, {"0", "-1"}, "RPUSH", false},
                                       {"set", {"SMEMBERS"}, {}, "SADD", false},
                                       {"zset", {"ZRANGE"}, {"0", "-1", "WITHSCORES"}, "ZADD", true}};
    return all;
}

const Kind& kind_named(std::string_view name) {
    for (const Kind& kind : kinds())
        if (name == kind.name) return kind;
    throw std::runtime_error(fmt::format("a key of the kind '{}'", name));
}

json keys_of(RedisServer& redis) {
    json keys = json::object();
    for (const std::string& key : redis.ask({"KEYS", "*"})) {
        const Kind& kind = kind_named(redis.ask({"TYPE", key}).front());
        std::vector<std::string> words = kind.read;
        words.push_back(key);
        words.insert(words.end(), kind.after.begin(), kind.after.end());
        json content = json::array();
        for (const std::string& value : redis.ask(words)) content.push_back(kept(value));
        json entry = {{"type", kind.name}, {"content", std::move(content)}};
        const std::int64_t left = std::stoll(redis.ask({"PTTL", key}).front());
        if (left >= 0) entry["ttl_ms"] = left;
        keys[key] = std::move(entry);
    }
    return keys;
}

void put_key(RedisServer& redis, const std::string& key, const json& entry, UnixTime from, UnixTime to) {
    const Kind& kind = kind_named(entry.at("type").get<std::string>());
    std::vector<std::string> content;
    for (const json& value : entry.at("content")) content.push_back(given_back(value, from, to));
    if (kind.score_last)
        for (std::size_t i = 0; i + 1 < content.size(); i += 2) std::swap(content[i], content[i + 1]);
    std::vector<std::string> words{kind.write, key};
    words.insert(words.end(), content.begin(), content.end());
    redis.ask(words);
    if (entry.contains("ttl_ms")) redis.ask({"PEXPIRE", key, std::to_string(entry["ttl_ms"].get<std::int64_t>())});
}

// JetStream ------------------------------------------------------------------------------------------------------------

class NatsServer {
public:
    explicit NatsServer(int port) {
        natsConnection* made = nullptr;
        const std::string url = fmt::format("nats://127.0.0.1:{}", port);
        if (natsConnection_ConnectTo(&made, url.c_str()) != NATS_OK)
            throw std::runtime_error(fmt::format("no NATS on port {}", port));
        connection_.reset(made);
    }
    json ask(const std::string& subject, const json& question = nullptr) {
        natsMsg* answer = nullptr;
        const std::string text = question.is_null() ? "" : question.dump();
        const natsStatus status = natsConnection_Request(&answer, connection_.get(), subject.c_str(), text.data(),
                                                         static_cast<int>(text.size()), kTimeoutMs);
        if (status != NATS_OK) throw std::runtime_error(subject + ": " + natsStatus_GetText(status));
        const std::unique_ptr<natsMsg, void (*)(natsMsg*)> owned(answer, &natsMsg_Destroy);
        json document = json::parse(std::string(natsMsg_GetData(answer), natsMsg_GetDataLength(answer)));
        if (document.contains("error")) throw std::runtime_error(subject + ": " + document["error"].dump());
        return document;
    }
    /// `headers` as the server stores them. Waits until a stream has it.
    void publish(const std::string& subject, const std::string& headers, const std::string& payload) {
        natsMsg* made = nullptr;
        natsMsg_Create(&made, subject.c_str(), nullptr, payload.data(), static_cast<int>(payload.size()));
        const std::unique_ptr<natsMsg, void (*)(natsMsg*)> message(made, &natsMsg_Destroy);
        for (std::size_t at = headers.find("\r\n"); at != std::string::npos;) {
            const std::size_t end = headers.find("\r\n", at + 2);
            const std::string line = headers.substr(at + 2, end == std::string::npos ? end : end - at - 2);
            if (const std::size_t colon = line.find(':'); colon != std::string::npos)
                natsMsgHeader_Add(made, line.substr(0, colon).c_str(),
                                  line.substr(line.find_first_not_of(' ', colon + 1)).c_str());
            at = end;
        }
        natsMsg* answer = nullptr;
        const natsStatus status = natsConnection_RequestMsg(&answer, connection_.get(), made, kTimeoutMs);
        natsMsg_Destroy(answer);
        if (status != NATS_OK) throw std::runtime_error(subject + ": " + natsStatus_GetText(status));
    }

private:
    std::unique_ptr<natsConnection, void (*)(natsConnection*)> connection_{nullptr, &natsConnection_Destroy};
};

json messages_of(NatsServer& nats, const std::string& stream, const json& state) {
    json messages = json::array();
    const auto last = state.at("last_seq").get<std::uint64_t>();
    if (last > 0 && (state.at("first_seq") != 1 || state.at("messages") != last))
        throw std::runtime_error(stream + " has gaps: " + state.dump());
    for (std::uint64_t sequence = 1; sequence <= last; ++sequence) {
        const json message = nats.ask("$JS.API.STREAM.MSG.GET." + stream, {{"seq", sequence}}).at("message");
        messages.push_back({{"subject", message.at("subject")},
                            {"headers", message.value("hdrs", "")},
                            {"data", message.value("data", "")}});
    }
    return messages;
}

json streams_of(NatsServer& nats) {
    json streams = json::array();
    const json list = nats.ask("$JS.API.STREAM.LIST", json{{"offset", 0}});
    for (const json& listed : list.at("streams")) {
        const auto name = listed.at("config").at("name").get<std::string>();
        json durables = json::array();
        const json consumers = nats.ask("$JS.API.CONSUMER.LIST." + name, json{{"offset", 0}});
        for (const json& consumer : consumers.at("consumers"))
            durables.push_back(
                {{"config", consumer.at("config")}, {"ack_floor", consumer.at("ack_floor").at("stream_seq")}});
        streams.push_back({{"config", listed.at("config")},
                           {"messages", messages_of(nats, name, listed.at("state"))},
                           {"durables", std::move(durables)}});
    }
    return streams;
}

void put_stream(NatsServer& nats, const json& stream) {
    const auto name = stream.at("config").at("name").get<std::string>();
    nats.ask("$JS.API.STREAM.CREATE." + name, stream.at("config"));
    for (const json& message : stream.at("messages"))
        nats.publish(message.at("subject"), from_base64(message.at("headers")), from_base64(message.at("data")));
    for (const json& durable : stream.at("durables")) {
        json config = durable.at("config");
        const auto named = config.at("durable_name").get<std::string>();
        if (const auto floor = durable.at("ack_floor").get<std::uint64_t>(); floor > 0) {
            config["deliver_policy"] = "by_start_sequence";
            config["opt_start_seq"] = floor + 1;
        }
        nats.ask(fmt::format("$JS.API.CONSUMER.DURABLE.CREATE.{}.{}", name, named),
                 {{"stream_name", name}, {"config", config}});
    }
}

}  // namespace

std::string moved_on(const std::string& text, UnixTime from, UnixTime to) {
    std::string moved;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
        const std::size_t digits = end - at;
        std::string part = digits == 0 ? std::string(1, text[at++]) : text.substr(at, digits);
        if (digits == 10 || digits == 13 || digits == 16 || digits == 19) {
            // Units of a second: the number's, and those of the two times.
            std::int64_t per_second = 1;
            for (std::size_t i = 10; i < digits; ++i) per_second *= 10;
            const std::int64_t number = std::stoll(part);
            const auto seconds = std::chrono::sys_seconds(std::chrono::seconds(number / per_second));
            const std::int64_t passed = (to - from).count();
            const std::int64_t moves = per_second >= 1000 ? passed * (per_second / 1000) : passed / 1000;
            if (seconds > from - kNear && seconds < from + kNear) part = std::to_string(number + moves);
        }
        moved += part;
        if (digits > 0) at = end;
    }
    return moved;
}

json written_data(int redis_port, int nats_port, UnixTime now) {
    RedisServer redis(redis_port);
    NatsServer nats(nats_port);
    return {
        {"recorded_at_ms", now.time_since_epoch().count()}, {"redis", keys_of(redis)}, {"streams", streams_of(nats)}};
}

void put_back(const json& written, int redis_port, int nats_port, UnixTime now) {
    const UnixTime from{std::chrono::milliseconds(written.at("recorded_at_ms").get<std::int64_t>())};
    RedisServer redis(redis_port);
    NatsServer nats(nats_port);
    for (const auto& [key, entry] : written.at("redis").items()) put_key(redis, key, entry, from, now);
    for (const json& stream : written.at("streams")) put_stream(nats, stream);
}

}  // namespace lockstep::prod::testing
