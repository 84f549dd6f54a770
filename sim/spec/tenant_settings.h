// What documents of the system and of a tenant bind (D-07, D-14): topics that they deny stay denied, and what they do not allow is not
// allowed, whatever documents a submitter has chosen.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockstep::sim::spec {

/// What is wrong with the settings that a question to policy carries, in JSON, whichever of the documents of the system and of the tenant bind them;
/// empty: nothing, by two of them.
[[nodiscard]] std::string lifted_limits(std::string_view settings, std::span<const std::string_view> of_system,
                                        std::span<const std::string_view> of_tenant);

}  // namespace lockstep::sim::spec
