// The labels and variables by which policy and the scheduler tell a worker what was decided (wire.md 7.3 and 8).
// Written by a submitter they are lies: they never reach policy, a worker or the template of a compensation (D-08).
// The stored request keeps them, and so does its hash, which a gateway computes over it.
#pragma once

#include <array>
#include <string_view>

#include "engine/wire/fwd.h"

namespace lockstep::engine::wire {

/// Let through by the fail mode, without an answer from policy, and why there was none.
inline constexpr const char* kLabelBypassed = "safety_bypassed";
inline constexpr const char* kLabelBypassReason = "safety_bypass_reason";
/// The constraints of policy's answer, as a whole and one by one.
inline constexpr const char* kEnvConstraints = "CORDUM_POLICY_CONSTRAINTS";
inline constexpr const char* kEnvRedactionLevel = "CORDUM_REDACTION_LEVEL";
inline constexpr const char* kEnvMaxArtifactBytes = "CORDUM_MAX_ARTIFACT_BYTES";
inline constexpr const char* kEnvMaxConcurrentJobs = "CORDUM_MAX_CONCURRENT_JOBS";
inline constexpr const char* kEnvMaxRetries = "CORDUM_MAX_RETRIES";
/// The settings that hold for the job, as JSON.
inline constexpr const char* kEnvEffectiveConfig = "CORDUM_EFFECTIVE_CONFIG";

inline constexpr std::array<const char*, 2> kPolicyLabels{kLabelBypassed, kLabelBypassReason};
inline constexpr std::array<const char*, 6> kPolicyVariables{kEnvConstraints,      kEnvRedactionLevel,
                                                             kEnvMaxArtifactBytes, kEnvMaxConcurrentJobs,
                                                             kEnvMaxRetries,       kEnvEffectiveConfig};

/// Whether a request carries any: in its labels, its environment, the labels of its metadata, or those of its compensation.
[[nodiscard]] bool carries_policy_marks(const cap::JobRequest& request);
/// Takes all of them off.
void strip_policy_marks(cap::JobRequest& request);

}  // namespace lockstep::engine::wire
