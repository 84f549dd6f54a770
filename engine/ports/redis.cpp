#include "engine/ports/redis.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <array>
#include <charconv>

namespace lockstep::engine {

namespace {

const RedisValue kNilValue;

std::string sha1_hex(std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr);
    std::string hex;
    for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
    return hex;
}

/// Redis 7 appends "script: <sha>, on @user_script:<line>." to an error that stopped a running script.
bool raised_inside_script(std::string_view error) { return error.find("script: ") != std::string_view::npos; }

}  // namespace

std::string_view RedisValue::text() const {
    if (const auto* text = bulk()) return *text;
    if (const auto* line = status()) return line->text;
    return {};
}

std::int64_t RedisValue::integer_or(std::int64_t otherwise) const {
    if (const auto* number = integer()) return *number;
    const std::string_view digits = text();
    std::int64_t parsed = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed);
    const bool whole = error == std::errc{} && end == digits.data() + digits.size() && !digits.empty();
    return whole ? parsed : otherwise;
}

const RedisValue& RedisValue::at(std::size_t index) const {
    const Array* elements = array();
    return elements != nullptr && index < elements->size() ? (*elements)[index] : kNilValue;
}

RedisScript::RedisScript(std::string_view name, std::string_view text)
    : name_(name), text_(text), sha1_(sha1_hex(text)) {}

Task<Outcome<RedisValue>> Redis::command(RedisCommand command, MonoTime deadline) {
    std::vector<RedisCommand> commands;
    commands.push_back(std::move(command));
    auto replies = co_await exchange(std::move(commands), deadline);
    if (!replies.applied()) co_return replies.failure_as<RedisValue>();
    RedisValue reply = std::move(replies.value().front());
    if (const auto* error = reply.error()) co_return NotApplied{{FailureCause::refused, error->text}};
    co_return reply;
}

Task<Outcome<std::vector<RedisValue>>> Redis::pipeline(std::vector<RedisCommand> commands, MonoTime deadline) {
    return exchange(std::move(commands), deadline);
}

Task<Outcome<RedisValue>> Redis::script(const RedisScript& script, std::vector<std::string> keys,
                                        std::vector<std::string> arguments, MonoTime deadline) {
    RedisCommand call;
    call.reserve(3 + keys.size() + arguments.size());
    call.emplace_back("EVALSHA");
    call.push_back(script.sha1());
    call.push_back(fmt::format("{}", keys.size()));
    for (auto& key : keys) call.push_back(std::move(key));
    for (auto& argument : arguments) call.push_back(std::move(argument));

    std::vector<RedisCommand> first;
    first.push_back(call);
    auto replies = co_await exchange(std::move(first), deadline);
    if (!replies.applied()) co_return replies.failure_as<RedisValue>();
    RedisValue reply = std::move(replies.value().front());
    if (reply.error() != nullptr && reply.error()->text.starts_with("NOSCRIPT")) {
        call[0] = "EVAL";
        call[1] = script.text();
        std::vector<RedisCommand> second;
        second.push_back(std::move(call));
        auto again = co_await exchange(std::move(second), deadline);
        if (!again.applied()) co_return again.failure_as<RedisValue>();
        reply = std::move(again.value().front());
    }
    if (const auto* error = reply.error()) {
        if (raised_inside_script(error->text)) co_return Unknown{{FailureCause::refused, error->text}, 0};
        co_return NotApplied{{FailureCause::refused, error->text}};
    }
    co_return reply;
}

}  // namespace lockstep::engine
