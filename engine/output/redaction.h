// Taking out of an output what policy objects to (wire.md 7.2). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/output/output_verdict.h"
#include "engine/runtime/identifiers.h"

namespace lockstep::engine {

inline constexpr std::string_view kRedactionMarker = "[REDACTED]";

/// The content with every place of a finding replaced by the marker; places that overlap or touch become one. Without a
/// single usable place everything is replaced. `cut_off`: there is more of the output, which nobody has looked at; the
/// marker stands for it too, so that no unread byte gets through.
[[nodiscard]] std::string redacted(std::string_view content, const std::vector<OutputFinding>& findings, bool cut_off);

/// Where the redacted form of a job's output is kept: `<base>:redacted:<16 hex digits of its SHA-256>`, where base is the
/// key that the result pointer names, or res:<job>. Equal contents have equal keys, so storing it again changes nothing.
[[nodiscard]] std::string redaction_key(std::string_view result_ptr, const JobId& job,
                                        std::string_view redacted_content);

}  // namespace lockstep::engine
