#include "prod/config/effective_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/wire/json_text.h"
#include "prod/config/known_variables.h"
#include "prod/config/value_reader.h"
#include "prod/config/variables.h"
#include "prod/nats/nats_options.h"

namespace lockstep::prod {

namespace {

constexpr std::string_view kDefault = "default";
constexpr std::string_view kEnvironment = "environment";
constexpr std::string_view kMask = "***";

class Teller {
public:
    Teller(const Environment& environment, const SettingSources& sources) : env_(environment), sources_(sources) {}

    std::vector<EffectiveSetting> tell() const {
        std::vector<EffectiveSetting> all;
        for (const Variable& variable : variable_table()) {
            if (!variable.instead_of.empty()) continue;  // told of under the name that it stands in for
            const auto* info = engine::find_tunable(variable.tunable);
            all.push_back(info == nullptr ? plain(variable) : tunable(*info));
        }
        for (const engine::TunableInfo& info : engine::tunable_table())
            if (variable_of(info.name) == tunable_variable(info.name)) all.push_back(tunable(info));
        return all;
    }

private:
    EffectiveSetting plain(const Variable& variable) const {
        return {std::string(variable.name), value_of(variable), source_of(variable)};
    }

    EffectiveSetting tunable(const engine::TunableInfo& info) const {
        std::string value = engine::tunable_text(sources_.in_force, info);
        const bool by_file = value != engine::tunable_text(sources_.settings.tunables, info);
        std::string source = by_file ? fmt::format("file {}", sources_.settings.timeouts_file) : source_of(info);
        return {variable_of(info.name), std::move(value), std::move(source)};
    }

    std::string source_of(const engine::TunableInfo& info) const {
        const std::string name = variable_of(info.name);
        if (env_.get(name)) return std::string(kEnvironment);
        for (const Variable& other : variable_table())
            if (other.tunable == info.name && env_.get(other.name))
                return fmt::format("{} ({})", kEnvironment, other.name);
        const std::string general = tunable_variable(info.name);
        return env_.get(general) ? fmt::format("{} ({})", kEnvironment, general) : std::string(kDefault);
    }

    std::string source_of(const Variable& variable) const {
        if (const auto file = sources_.settings.from_files.find(variable.name);
            file != sources_.settings.from_files.end())
            return fmt::format("file {}", file->second);
        if (variable.name == "LOCKSTEP_ROLE" && sources_.role_by_option) return "command line";
        if (env_.get(variable.name)) return std::string(kEnvironment);
        const std::string value = value_of(variable);
        return sources_.settings.production && !value.empty() && value != variable.otherwise &&
                       variable.name != "CORDUM_INSTANCE_ID"
                   ? "default in production mode"
                   : std::string(kDefault);
    }

    std::string value_of(const Variable& variable) const {
        if (auto value = computed(variable.name)) return *std::move(value);
        const auto file = sources_.settings.from_files.find(variable.name);
        const bool by_file = file != sources_.settings.from_files.end();
        const auto given = env_.get(variable.name);
        if (variable.kind == VariableKind::secret) return std::string(by_file || given ? kMask : "");
        if (by_file) return variable.kind == VariableKind::path ? file->second : std::string(kMask);
        if (variable.kind == VariableKind::flag && given) return is_true(*given) ? "true" : "false";
        return given.value_or(std::string(variable.otherwise));
    }

    /// What is not simply the text that was given, or that must not be shown as it is.
    std::optional<std::string> computed(std::string_view name) const {
        const Settings& s = sources_.settings;
        if (name == "NATS_URL") return display_url(s.nats.url);
        if (name == "REDIS_URL") return s.redis.display();
        if (name == "SAFETY_KERNEL_ADDR") return s.kernel.address;
        if (name == "SCHEDULER_METRICS_ADDR") return s.metrics_address;
        if (name == "WORKFLOW_ENGINE_HTTP_ADDR") return s.workflow.http_address;
        if (name == "LOCKSTEP_ROLE") return std::string(to_string(s.roles));
        if (name == "CORDUM_INSTANCE_ID") return s.pod;
        if (name == "CORDUM_TLS_MIN_VERSION" && s.redis.tls) return s.redis.tls->only_1_3 ? "1.3" : "1.2";
        if (name == "LOCKSTEP_READINESS_GRACE") return engine::format_duration(s.readiness_grace);
        if (name == "LOCKSTEP_LOOP_STALL_LIMIT") return engine::format_duration(s.loop_stall_limit);
        return std::nullopt;
    }

    const Environment& env_;
    const SettingSources& sources_;
};

}  // namespace

std::vector<EffectiveSetting> effective_settings(const Environment& environment, const SettingSources& sources) {
    return Teller(environment, sources).tell();
}

std::string as_text(const std::vector<EffectiveSetting>& settings) {
    std::string text;
    const auto tell = [&](bool by_default) {
        for (const auto& [name, value, source] : settings)
            if (source.starts_with(kDefault) == by_default)
                text += fmt::format("{}={}{}  # {}\n", name, value, value.empty() ? " " : "", source);
    };
    tell(false);
    tell(true);
    return text;
}

std::string as_json(const std::vector<EffectiveSetting>& settings) {
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    for (const auto& [name, value, source] : settings) all[name] = {{"value", value}, {"source", source}};
    const nlohmann::ordered_json document{{"schema_version", 1}, {"settings", std::move(all)}};
    return engine::wire::json_text(document, 2) + "\n";
}

}  // namespace lockstep::prod
