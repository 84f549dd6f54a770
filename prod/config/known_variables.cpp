#include "prod/config/known_variables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "engine/config/edit_distance.h"
#include "engine/config/tunables.h"
#include "prod/config/secrets.h"
#include "prod/config/variables.h"

namespace lockstep::prod {

namespace {

constexpr std::array<std::string_view, 12> kPrefixes{
    "NATS_",        "REDIS_",     "CORDUM_",        "WORKFLOW_ENGINE_", "WORKFLOW_EXPR_", "WORKFLOW_FOREACH_",
    kTunablePrefix, "SCHEDULER_", "SAFETY_KERNEL_", "JOB_META_",        "OUTPUT_POLICY_", "POLICY_CHECK_"};

/// What lockstep-worker sets for the commands that it runs.
constexpr std::array<std::string_view, 2> kSetForCommands{"CORDUM_JOB_ID", "CORDUM_JOB_TOPIC"};

struct Advice {
    std::string_view name;
    std::string_view text;
};

constexpr std::string_view kNoCredentialsFile = "name the credentials file, which holds token and seed, in NATS_CREDS";

/// Asked for, and not done.
constexpr std::array<Advice, 6> kUnsupported{
    {{"NATS_CREDS_FILE", kNoCredentialsFile},
     {"NATS_CREDENTIALS", kNoCredentialsFile},
     {"NATS_CREDENTIALS_FILE", kNoCredentialsFile},
     {"NATS_JWT", kNoCredentialsFile},
     {"NATS_NKEY_SEED_FILE", "name the file with the seed in NATS_NKEY_FILE"},
     {"REDIS_PASSWORD_FILE",
      "write the whole address, redis://user:password@host:6379, into a file and name it in REDIS_URL_FILE"}}};

/// Without an effect here, and no misspelling either.
constexpr std::array<Advice, 8> kWithoutEffect{
    {{"REDIS_POOL_SIZE", "has no effect: this program keeps one connection to Redis"},
     {"REDIS_MIN_IDLE_CONNS", "has no effect: this program keeps one connection to Redis"},
     {"REDIS_PASSWORD", "is not read: put it into REDIS_URL, redis://:password@host:6379"},
     {"REDIS_USERNAME", "is not read: put it into REDIS_URL, redis://user:password@host:6379"},
     {"REDIS_HOST", "is not read: REDIS_URL names the server, redis://host:6379"},
     {"REDIS_ADDR", "is not read: REDIS_URL names the server, redis://host:6379"},
     {"NATS_HOST", "is not read: NATS_URL names the server, nats://host:4222"},
     {"NATS_USER", "is not read; did you mean NATS_USERNAME?"}}};

/// Nothing where no name is near enough to have been meant.
std::optional<std::string> nearest_name(std::string_view name) {
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;  // too far
    const auto consider = [&](std::string_view candidate) {
        const auto [shorter, longer] = std::minmax({name.size(), candidate.size()});
        if (longer - shorter >= best_distance) return;  // the distance is no less, and takes long where a name is
        const std::size_t d = engine::edit_distance(name, candidate);
        if (d >= best_distance) return;
        best_distance = d;
        best = candidate;
    };
    for (const Variable& candidate : variable_table()) consider(candidate.name);
    for (const auto& info : engine::tunable_table()) consider(tunable_variable(info.name));
    return best.empty() ? std::nullopt : std::optional(best);
}

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// <SERVICE>_SERVICE_HOST, <SERVICE>_SERVICE_PORT[_<NAME>], <SERVICE>_PORT, <SERVICE>_PORT_<n>_TCP[_ADDR|_PORT|_PROTO], and of
/// older container links <SERVICE>_NAME and <SERVICE>_ENV_<VARIABLE>.
bool is_service_link(std::string_view name) {
    if (name.ends_with("_SERVICE_HOST") || name.ends_with("_SERVICE_PORT") || name.ends_with("_PORT")) return true;
    if (name.find("_SERVICE_PORT_") != std::string_view::npos) return true;
    for (auto at = name.find("_PORT_"); at != std::string_view::npos; at = name.find("_PORT_", at + 1)) {
        const std::string_view rest = name.substr(at + 6);
        const auto end = rest.find('_');
        if (end == std::string_view::npos || !is_number(rest.substr(0, end))) continue;
        const std::string_view protocol = rest.substr(end + 1, rest.find('_', end + 1) - end - 1);
        if (protocol == "TCP" || protocol == "UDP" || protocol == "SCTP") return true;
    }
    return name == "NATS_NAME" || name == "REDIS_NAME" || name.starts_with("NATS_ENV_") ||
           name.starts_with("REDIS_ENV_");
}

bool is_read(std::string_view name) {
    if (find_variable(name) != nullptr || names_secret_file(name)) return true;
    if (std::ranges::find(kSetForCommands, name) != kSetForCommands.end()) return true;
    if (!name.starts_with(kTunablePrefix)) return false;
    return std::ranges::any_of(engine::tunable_table(),
                               [&](const auto& info) { return tunable_variable(info.name) == name; });
}

}  // namespace

std::string tunable_variable(std::string_view tunable) {
    std::string out(kTunablePrefix);
    for (const char c : tunable) out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return out;
}

std::vector<std::string> unread_variables(const Environment& environment) {
    std::vector<std::string> warnings;
    for (const auto& [name, value] : environment.all()) {
        const bool like_ours = std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
        if (!like_ours || value.empty() || is_read(name)) continue;
        if (std::ranges::find(kUnsupported, name, &Advice::name) != kUnsupported.end()) continue;
        if (const auto* known = std::ranges::find(kWithoutEffect, name, &Advice::name); known != kWithoutEffect.end()) {
            warnings.push_back(fmt::format("{} {}", name, known->text));
            continue;
        }
        if (is_service_link(name)) continue;
        const auto near = nearest_name(name);
        warnings.push_back(near ? fmt::format("{} is set, but nothing reads it; did you mean {}?", name, *near)
                                : fmt::format("{} is set, but nothing here reads it", name));
    }
    return warnings;
}

std::vector<std::string> unsupported_variables(const Environment& environment) {
    std::vector<std::string> mistakes;
    for (const auto& [name, advice] : kUnsupported)
        if (environment.get(name)) mistakes.push_back(fmt::format("{} is set: {}", name, advice));
    return mistakes;
}

}  // namespace lockstep::prod
