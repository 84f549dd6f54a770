// A request as rules see it, and how a rule's criteria are held against it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wire/fwd.h"
#include "fakes/policy/document.h"

namespace lockstep::fakes::policy {

struct Facts {
    std::string tenant, topic, capability, pack_id;
    std::string actor_id;    // of the metadata, else the principal
    std::string actor_type;  // human, service, or empty
    std::vector<std::string> risk_tags, required;
    std::map<std::string, std::string> labels;
    bool secrets_present = false;  // by the label of that name, else by the risk tag `secrets`

    /// What the labels say of a call to a tool server.
    struct Mcp {
        std::string server, tool, resource, action;
    } mcp;
};

/// The tenant is the request's, else the metadata's, else the document's default, else `default`.
[[nodiscard]] Facts facts_of(const cap::PolicyCheckRequest& request, const Document& document);

[[nodiscard]] bool matches(const Match& match, const Facts& facts);

/// What the lists refuse, for the reason of a denial; empty when nothing, in particular without such a call.
[[nodiscard]] std::optional<std::string> refusal(const McpLists& lists, const Facts::Mcp& call);

/// Where the value is counted, `acme:job.etl`; empty when a part of the key has no value.
[[nodiscard]] std::string velocity_bucket(const Velocity& velocity, const Facts& facts);

/// Membership, without regard to case and white space around; an empty value is in no list.
[[nodiscard]] bool listed(const std::vector<std::string>& list, std::string_view value);
[[nodiscard]] bool any_listed(const std::vector<std::string>& list, const std::vector<std::string>& values);
/// Whether a glob of the list takes the topic.
[[nodiscard]] bool topic_listed(const std::vector<std::string>& globs, std::string_view topic);

}  // namespace lockstep::fakes::policy
