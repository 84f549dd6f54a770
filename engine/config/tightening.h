// What a layer of settings may do to `safety` that the submitter chooses, by naming a team, a workflow or a step: tighten it,
// and nothing else (D-14).
//
//   1. Lists of what is denied (`denied_*`, `deny_*`) are united with those above.
//   2. A list of what is allowed (`allowed_*`, `allow_*`) that is not empty is cut with the one above. Of patterns for topics
//      the narrower one stays; two that merely overlap leave nothing. A cut that leaves nothing forbids everything, and an
//      empty list would forbid nothing: it names `kNothing` instead.
//   3. Objects are gone through. Whatever else such a layer says under `safety` does not count.
//   4. Policy reads `safety`, and `data.safety` where there is none: a layer brings neither in front of the other.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace lockstep::engine {

/// An entry that no topic, server or tool is called. Topics begin with `job.`.
inline constexpr const char* kNothing = "(nothing)";

/// Moves what `layer` says about safety out of it and lets it tighten `settings`. The rest of the layer is left in it.
/// REQUIRES: both are objects.
void tighten_safety(nlohmann::json& settings, nlohmann::json& layer);

/// Whether everything that the second of two patterns of topics takes is taken by the first one as well. Certain when true.
[[nodiscard]] bool covers(std::string_view wide, std::string_view narrow);

}  // namespace lockstep::engine
