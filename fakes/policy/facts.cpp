#include "fakes/policy/facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "engine/wire/messages.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"
#include "fakes/policy/glob.h"

namespace lockstep::fakes::policy {
namespace {

using engine::wire::ascii_lower;
using engine::wire::trim;

std::string normal_text(std::string_view text) { return ascii_lower(trim(text)); }

std::string first_of(std::initializer_list<std::string_view> candidates) {
    for (const std::string_view candidate : candidates) {
        if (!trim(candidate).empty()) return std::string(trim(candidate));
    }
    return {};
}

bool secrets_present(const Facts& facts) {
    if (const auto label = facts.labels.find("secrets_present"); label != facts.labels.end()) {
        const std::string value = normal_text(label->second);
        return value == "true" || value == "1" || value == "yes";
    }
    return listed(facts.risk_tags, "secrets");
}

/// Three spellings of a label: `mcp.server`, `mcp_server`, `mcpServer`.
std::string mcp_label(const Facts& facts, std::string_view what) {
    std::string capitalised(what);
    capitalised.front() = static_cast<char>(capitalised.front() - 'a' + 'A');
    for (const auto& name : {fmt::format("mcp.{}", what), fmt::format("mcp_{}", what), "mcp" + capitalised}) {
        const auto label = facts.labels.find(name);
        if (label != facts.labels.end() && !trim(label->second).empty()) return std::string(trim(label->second));
    }
    return {};
}

/// No list given, or the value in it.
bool admits(const std::vector<std::string>& list, std::string_view value) {
    return list.empty() || listed(list, value);
}

std::string velocity_part(const std::string& part, const Facts& facts) {
    if (part.starts_with("labels.")) {
        const auto label = facts.labels.find(part.substr(7));
        return label == facts.labels.end() ? std::string() : label->second;
    }
    if (part == "tenant") return facts.tenant;
    if (part == "topic") return facts.topic;
    if (part == "actor_id") return facts.actor_id;
    if (part == "actor_type") return facts.actor_type;
    if (part == "pack_id") return facts.pack_id;
    if (part == "capability") return facts.capability;
    return {};
}

}  // namespace

Facts facts_of(const cap::PolicyCheckRequest& request, const Document& document) {
    const cap::JobMetadata& meta = request.meta();
    Facts facts;
    facts.tenant =
        first_of({request.tenant(), meta.tenant_id(), document.default_tenant, engine::wire::kDefaultTenant});
    facts.topic = std::string(trim(request.topic()));
    facts.capability = meta.capability();
    facts.pack_id = meta.pack_id();
    facts.actor_id = first_of({meta.actor_id(), request.principal_id()});
    if (meta.actor_type() == cap::ACTOR_TYPE_HUMAN) facts.actor_type = "human";
    if (meta.actor_type() == cap::ACTOR_TYPE_SERVICE) facts.actor_type = "service";
    facts.risk_tags.assign(meta.risk_tags().begin(), meta.risk_tags().end());
    facts.required.assign(meta.requires_().begin(), meta.requires_().end());
    for (const auto& [name, value] : request.labels()) facts.labels.emplace(name, value);
    facts.secrets_present = secrets_present(facts);
    facts.mcp = {mcp_label(facts, "server"), mcp_label(facts, "tool"), mcp_label(facts, "resource"),
                 mcp_label(facts, "action")};
    return facts;
}

bool listed(const std::vector<std::string>& list, std::string_view value) {
    const std::string wanted = normal_text(value);
    return !wanted.empty() && std::ranges::any_of(list, [&](const auto& item) { return normal_text(item) == wanted; });
}

bool any_listed(const std::vector<std::string>& list, const std::vector<std::string>& values) {
    return std::ranges::any_of(values, [&](const std::string& value) { return listed(list, value); });
}

bool topic_listed(const std::vector<std::string>& globs, std::string_view topic) {
    return std::ranges::any_of(globs, [&](const std::string& glob) { return glob_matches(trim(glob), topic); });
}

bool matches(const Match& match, const Facts& facts) {
    const auto label_differs = [&facts](const auto& wanted) {
        const auto label = facts.labels.find(wanted.first);
        return label == facts.labels.end() || label->second != wanted.second;
    };
    const auto not_required = [&facts](const std::string& item) { return !listed(facts.required, item); };
    return admits(match.tenants, facts.tenant) && (match.topics.empty() || topic_listed(match.topics, facts.topic)) &&
           admits(match.capabilities, facts.capability) && admits(match.pack_ids, facts.pack_id) &&
           admits(match.actor_ids, facts.actor_id) && admits(match.actor_types, facts.actor_type) &&
           (match.risk_tags.empty() || any_listed(match.risk_tags, facts.risk_tags)) &&
           std::ranges::none_of(match.required, not_required) && std::ranges::none_of(match.labels, label_differs) &&
           match.secrets_present.value_or(facts.secrets_present) == facts.secrets_present &&
           !refusal(match.mcp, facts.mcp);
}

std::optional<std::string> refusal(const McpLists& lists, const Facts::Mcp& call) {
    struct Part {
        const char* name;
        const McpLists::Lists& lists;
        const std::string& value;
    };
    const std::array<Part, 4> parts{Part{"server", lists.servers, call.server}, Part{"tool", lists.tools, call.tool},
                                    Part{"resource", lists.resources, call.resource},
                                    Part{"action", lists.actions, call.action}};
    const bool is_call = std::ranges::any_of(parts, [](const Part& part) { return !part.value.empty(); });
    if (!is_call) return std::nullopt;
    for (const Part& part : parts) {
        // With a list of allowed values, naming none is no way around it.
        if (listed(part.lists.deny, part.value) || !admits(part.lists.allow, part.value)) {
            return fmt::format("{} '{}'", part.name, part.value);
        }
    }
    return std::nullopt;
}

std::string velocity_bucket(const Velocity& velocity, const Facts& facts) {
    std::string bucket;
    for (const std::string& part : velocity.key) {
        const std::string value = velocity_part(part, facts);
        if (value.empty()) return {};
        bucket += fmt::format("{}:{}", value.size(), value);  // no value reaches into the next one
    }
    return bucket;
}

}  // namespace lockstep::fakes::policy
