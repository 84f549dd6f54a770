#include "engine/scheduler/read_along.h"

#include "engine/wire/messages.h"

namespace lockstep::engine {

namespace {

/// The stored request may belong to another tenant or step than the delivered one, whose settings were read.
Task<std::vector<std::string>> read_documents(Context& context, const cap::JobRequest& request) {
    RedisCommand read = config_documents_of(request);
    read.insert(read.begin(), "MGET");
    const auto reply = co_await context.ports.redis.command(std::move(read),
                                                            context.ports.clock.in(context.tunables.store_op_timeout));
    std::vector<std::string> documents;
    const auto* values = reply.applied() ? reply.value().array() : nullptr;
    if (values == nullptr) co_return documents;
    for (const RedisValue& value : *values) documents.emplace_back(value.text());
    co_return documents;
}

}  // namespace

ReadAlong::ReadAlong(const Context& context, const cap::JobRequest& request)
    : circuit_keys_(context.policy.circuit_keys()), documents_(config_documents_of(request)) {}

std::vector<std::string> ReadAlong::keys() const {
    std::vector<std::string> keys = circuit_keys_;
    keys.insert(keys.end(), documents_.begin(), documents_.end());
    return keys;
}

std::optional<CircuitGlimpse> ReadAlong::circuit(const JobFacts& facts) const {
    if (facts.read_along.size() < circuit_keys_.size()) return std::nullopt;
    return CircuitGlimpse{RedisValue(facts.read_along[0]).integer_or(0), facts.read_along[1]};
}

std::vector<std::string> ReadAlong::documents(const JobFacts& facts) const {
    if (facts.read_along.size() < circuit_keys_.size()) return {};
    return {facts.read_along.begin() + static_cast<std::ptrdiff_t>(circuit_keys_.size()), facts.read_along.end()};
}

Task<void> attach_effective_config(Context& context, EffectiveConfig& merger, const ReadAlong& along,
                                   const JobFacts& facts, cap::JobRequest& request) {
    std::vector<std::string> documents;
    if (along.concerns(request)) {
        documents = along.documents(facts);
    } else {
        documents = co_await read_documents(context, request);
    }
    auto settings = merger.merge(documents);
    if (!settings) {
        context.ports.log.event(LogLevel::warn, "settings not attached",
                                {{"job_id", request.job_id()}, {"error", settings.error()}});
        co_return;
    }
    if (!settings->empty()) (*request.mutable_env())[kEffectiveConfigEnv] = std::move(*settings);
}

}  // namespace lockstep::engine
