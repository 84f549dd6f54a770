// What policy says about a job's output, and the record of it that gateways show (redis-schema.md 3.7; wire.md 7.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/runtime/time.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine {

enum class OutputDecision : std::uint8_t {
    allow,
    deny,  // not on the wire; in records of other writers, and the same as a quarantine (C-18)
    quarantine,
    redact,
};

/// Before the success is recorded, or after it.
enum class OutputPhase : std::uint8_t { sync, async };

/// A place in the output that policy objects to, in bytes of the content that was sent.
struct OutputFinding {
    std::string type;
    std::string severity;
    std::string detail;
    std::string scanner;
    std::string matched_pattern;
    double confidence = 0;
    std::int64_t offset = 0;
    std::int64_t length = 0;

    friend bool operator==(const OutputFinding&, const OutputFinding&) = default;
};

struct OutputVerdict {
    OutputDecision decision = OutputDecision::allow;
    std::string reason;
    std::string rule_id;
    std::string snapshot;
    std::vector<OutputFinding> findings;
    std::string redacted_ptr;  // what stands in for the output
    std::string original_ptr;
    std::int64_t checked_at = 0;  // microseconds; 0 until the script that stores the record has filled it in
    Duration took{};              // stored in whole milliseconds
    OutputPhase phase = OutputPhase::sync;
    // Of an output that is too long to be seen to its end: how much of it policy has seen, and how long it is. Else 0.
    std::int64_t scanned_bytes = 0;
    std::int64_t output_bytes = 0;

    [[nodiscard]] bool partial() const { return scanned_bytes < output_bytes; }
    [[nodiscard]] bool withheld() const {
        return decision == OutputDecision::quarantine || decision == OutputDecision::deny;
    }

    friend bool operator==(const OutputVerdict&, const OutputVerdict&) = default;
};

[[nodiscard]] std::string_view to_string(OutputDecision decision);
[[nodiscard]] std::string_view to_string(OutputPhase phase);

/// Maps the service's answer; nothing where it decides what this version does not know (wire.md 7.2).
[[nodiscard]] std::optional<OutputVerdict> verdict_from(const cap_output::OutputCheckResponse& answer);

/// JSON, keys sorted; empty texts and zeros are left out, but for `decision`, each finding's `detail`, and `checked_at`.
[[nodiscard]] std::string output_record(const OutputVerdict& verdict);
/// Reads a record back; nothing when it is not one.
[[nodiscard]] std::optional<OutputVerdict> parse_output_record(std::string_view json);

}  // namespace lockstep::engine
