#include "engine/scheduler/read_along.h"

#include "engine/wire/messages.h"
#include "engine/wire/policy_marks.h"

namespace lockstep::engine {

namespace {

/// The stored request may belong to another tenant or step than the delivered one, whose settings were read.
Task<Outcome<std::vector<std::string>>> read_documents(Replica& replica, const cap::JobRequest& request) {
    RedisCommand read = config_documents_of(request);
    read.insert(read.begin(), "MGET");
    const auto reply = co_await replica.ports.redis.command(std::move(read),
                                                            replica.ports.clock.in(replica.tunables.store_op_timeout));
    if (!reply.applied()) co_return reply.failure_as<std::vector<std::string>>();
    std::vector<std::string> documents;
    if (const auto* values = reply.value().array()) {
        for (const RedisValue& value : *values) documents.emplace_back(value.text());
    }
    co_return documents;
}

void tell_of_unreadable(Replica& replica, const MergedSettings& settings) {
    if (settings.unreadable.empty()) return;
    replica.ports.log.reached(settings.json ? "settings_of_old_used" : "settings_unreadable");
    replica.ports.metrics.add(Metric::settings_unreadable, {}, static_cast<double>(settings.unreadable.size()));
    for (const std::string& key : settings.untold)
        replica.ports.log.event(LogLevel::error, "settings not readable: the document is no JSON object",
                                {{"key", key}, {"last_good_copy_used", settings.json.has_value()}});
}

}  // namespace

ReadAlong::ReadAlong(const Replica& replica, const cap::JobRequest& request)
    : circuit_keys_(replica.policy.circuit_keys()), documents_(config_documents_of(request)) {}

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

Task<SettingsFound> attach_effective_config(Replica& replica, EffectiveConfig& merger, const ReadAlong& along,
                                            const JobFacts& facts, cap::JobRequest& request) {
    std::vector<std::string> documents;
    if (along.concerns(request)) {
        documents = along.documents(facts);
    } else {
        auto read = co_await read_documents(replica, request);
        if (!read.applied()) co_return SettingsFound{SettingsFound::Kind::store_away, {}};
        documents = std::move(read.value());
    }
    MergedSettings settings = merger.merge(config_documents_of(request), std::move(documents));
    tell_of_unreadable(replica, settings);
    if (!settings.json) co_return SettingsFound{SettingsFound::Kind::unreadable, settings.unreadable.front()};
    if (!settings.json->empty()) (*request.mutable_env())[wire::kEnvEffectiveConfig] = std::move(*settings.json);
    co_return SettingsFound{};
}

}  // namespace lockstep::engine
