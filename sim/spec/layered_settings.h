// The settings of a job out of the documents of its layers (engine/delivery-semantics.md, "Tenants, and what only policy writes",
// rule 4): those of the system and of the tenant merge; those of the team, the workflow and the step merge as well, and can only tighten
// `safety`.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace lockstep::sim::spec {

/// What the narrower one says too goes before.
void merge(nlohmann::json& into, const nlohmann::json& narrower);

using Layers = std::vector<std::shared_ptr<const nlohmann::json>>;
/// One document's content for each layer, of the system first and the tenant second; `bound`: how many of them say what they like.
/// Nothing: they hold patterns of topics that are not compared here.
[[nodiscard]] std::optional<nlohmann::json> layered(const Layers& layers, std::size_t bound);

/// Whether two settings mean the same: in lists of what is allowed or denied neither the order nor the case of names matters, and one
/// that is empty says nothing.
[[nodiscard]] bool same_settings(nlohmann::json one, nlohmann::json other);

/// Whether a pattern of topics, of letters and `*`, takes in all that another one does: a `*` is any text without a `/`.
[[nodiscard]] bool takes_in(std::string_view wide, std::string_view narrow);

}  // namespace lockstep::sim::spec
