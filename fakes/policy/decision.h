// The words of a policy: what a rule decides, and the spellings under which decisions and severities are known.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/wire/fwd.h"

namespace lockstep::fakes::policy {

enum class Decision : std::uint8_t { allow, deny, require_approval, allow_with_constraints, throttle };

enum class OutputVerdict : std::uint8_t { allow, quarantine, redact };

enum class Severity : std::uint8_t { low, medium, high, critical };

/// All spellings (`permit`, `block`, `require_human`, hyphens for underscores), any case; empty for an unknown word.
[[nodiscard]] std::optional<Decision> decision_named(std::string_view word);
/// `deny` is a quarantine: the wire has no other word for it.
[[nodiscard]] std::optional<OutputVerdict> output_verdict_named(std::string_view word);
[[nodiscard]] std::optional<Severity> severity_named(std::string_view word);
[[nodiscard]] std::string_view to_string(Severity severity);

[[nodiscard]] cap::DecisionType to_wire(Decision decision);
[[nodiscard]] cap_output::OutputDecision to_wire(OutputVerdict verdict);

/// The name under which a scheduler records a kernel's answer (`ALLOW`, `REQUIRE_APPROVAL` ...); `UNSPECIFIED` for
/// values that no scheduler knows.
[[nodiscard]] std::string_view recorded_name(cap::DecisionType decision);
[[nodiscard]] std::string_view recorded_name(cap_output::OutputDecision decision);

}  // namespace lockstep::fakes::policy
