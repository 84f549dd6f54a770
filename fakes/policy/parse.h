// From a neutral tree to a policy. The tree is JSON, which scenarios are written in; a YAML file becomes one first.
// Unknown keys and words are errors, each with its place; all of them are reported at once.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <tl/expected.hpp>

#include "fakes/policy/document.h"
#include "fakes/policy/tree_reader.h"

namespace lockstep::fakes::policy {

[[nodiscard]] tl::expected<Document, ParseErrors> parse_document(const nlohmann::json& tree);

/// A scenario describes the output policy apart: {"enabled", "fail_mode", "rules"}. It takes the place of the
/// document's own, and here `enabled: false` alone switches it off.
[[nodiscard]] tl::expected<Document, ParseErrors> with_output_policy(Document document, const nlohmann::json& tree);

namespace detail {
// The parts of a document, in parse_match.cpp.
void read_match(ObjectReader& reader, Match& match);
void read_mcp(ObjectReader& reader, McpLists& lists);
void read_content_match(ObjectReader& reader, ContentMatch& match, bool output);
void read_constraints(ObjectReader& reader, cap::PolicyConstraints& constraints);
void read_velocity(ObjectReader& reader, std::optional<Velocity>& velocity);
}  // namespace detail

}  // namespace lockstep::fakes::policy
