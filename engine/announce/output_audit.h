// The audit event of an output that policy did not let through as it was (wire.md 9.1). Core NATS carries it, so
// whoever does not listen at that moment misses it; the record of the verdict and the dead letter are what lasts.
#pragma once

#include <string>
#include <string_view>

#include "engine/runtime/identifiers.h"
#include "engine/runtime/task.h"

namespace lockstep::engine {

struct Context;
struct DeadLetter;

/// The codes of outputs withheld before the success was recorded, and after it.
inline constexpr std::string_view kCodeQuarantined = "output_quarantined";
inline constexpr std::string_view kCodeQuarantinedAsync = "output_quarantined_async";
/// Of one that is to be withheld and still is readable: the store does not take the verdict (D-11).
inline constexpr std::string_view kCodeQuarantineFailed = "quarantine_failed";

/// Whether this dead letter tells of an output that was withheld: then an audit event goes with it.
[[nodiscard]] bool tells_of_output(const DeadLetter& letter);
/// Publishes the event that goes with the letter. True when it was handed to a live connection.
[[nodiscard]] Task<bool> audit_withheld(const Context& context, DeadLetter letter);
/// Publishes the event of an output that stays readable, redacted or seen in part, once: there is no dead letter that could
/// bring it back.
[[nodiscard]] Task<void> audit_passed(const Context& context, JobId job, std::string topic, std::string reason);

}  // namespace lockstep::engine
