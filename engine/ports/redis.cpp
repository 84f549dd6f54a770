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

/// How often one call teaches its script. More than one flush in the midst of one call is no accident.
constexpr int kLoadsMax = 3;

RedisCommands evalsha(const RedisScript& script, std::vector<std::string> keys, std::vector<std::string> arguments) {
    RedisCommand call;
    call.reserve(3 + keys.size() + arguments.size());
    call.emplace_back("EVALSHA");
    call.push_back(script.sha1());
    call.push_back(fmt::format("{}", keys.size()));
    for (auto& key : keys) call.push_back(std::move(key));
    for (auto& argument : arguments) call.push_back(std::move(argument));
    std::vector<RedisCommand> commands;
    commands.push_back(std::move(call));
    return std::make_shared<const std::vector<RedisCommand>>(std::move(commands));
}

RedisCommands load_and(const RedisScript& script, const RedisCommands& call) {
    std::vector<RedisCommand> commands;
    commands.push_back({"SCRIPT", "LOAD", script.text()});
    commands.push_back(call->front());
    return std::make_shared<const std::vector<RedisCommand>>(std::move(commands));
}

bool is_unknown_script(const Outcome<std::vector<RedisValue>>& replies) {
    if (!replies.applied()) return false;
    const auto* error = replies.value().back().error();
    return error != nullptr && error->text.starts_with("NOSCRIPT");
}

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
    auto replies = co_await exchange(std::make_shared<const std::vector<RedisCommand>>(std::move(commands)), deadline);
    if (!replies.applied()) co_return replies.failure_as<RedisValue>();
    RedisValue reply = std::move(replies.value().front());
    if (const auto* error = reply.error()) co_return NotApplied{{FailureCause::refused, error->text}};
    co_return reply;
}

Task<Outcome<std::vector<RedisValue>>> Redis::pipeline(std::vector<RedisCommand> commands, MonoTime deadline) {
    return exchange(std::make_shared<const std::vector<RedisCommand>>(std::move(commands)), deadline);
}

Task<Outcome<RedisValue>> Redis::script(const RedisScript& script, std::vector<std::string> keys,
                                        std::vector<std::string> arguments, MonoTime deadline) {
    const RedisCommands call = evalsha(script, std::move(keys), std::move(arguments));
    auto replies = co_await exchange(call, deadline);
    for (int loads = 0; is_unknown_script(replies); ++loads) {
        if (loads == kLoadsMax)
            co_return NotApplied{{FailureCause::refused, fmt::format("Redis does not know the script {} after {} loads",
                                                                     script.name(), loads)}};
        if (loads_.under_way(script.sha1())) {
            replies = co_await exchange(call, deadline);  // goes behind the load that somebody else has sent
            continue;
        }
        const ScriptLoads::Load load(loads_, script.sha1());
        replies = co_await exchange(load_and(script, call), deadline);
        if (!is_unknown_script(replies)) continue;
        if (const auto* error = replies.value().front().error())
            co_return NotApplied{{FailureCause::refused,
                                  fmt::format("Redis does not load the script {}: {}", script.name(), error->text)}};
    }
    if (!replies.applied()) co_return replies.failure_as<RedisValue>();
    RedisValue reply = std::move(replies.value().back());
    if (const auto* error = reply.error()) {
        if (raised_inside_script(error->text)) co_return Unknown{{FailureCause::refused, error->text}, 0};
        co_return NotApplied{{FailureCause::refused, error->text}};
    }
    co_return reply;
}

}  // namespace lockstep::engine
