// A policy decision about one job, and the forms in which it is kept (wire.md 7.1 and 7.3; redis-schema.md 3.6).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/wire/fwd.h"

namespace lockstep::engine {

enum class Decision : std::uint8_t {
    allow,
    deny,
    require_approval,
    throttle,
    allow_with_constraints,
    unavailable,  // nobody answered
};

[[nodiscard]] std::string_view to_string(Decision decision);

/// Whether policy was shown the input of the job that it was asked about.
enum class InputSeen : std::uint8_t {
    yes,      // or there is none that it can be shown
    unread,   // Redis has given no answer
    missing,  // nothing that can be read stands where the job points to
};

/// In the job hash: policy let the job through, or asked for a human, and could not be shown its input.
inline constexpr const char* kFieldInputUnread = "ls_input_unread";
/// How often in a row nothing was found where the job's input should be.
inline constexpr const char* kFieldInputMisses = "ls_input_misses";
/// What the job's input was when a human was asked, see SafetyDecision::input_hash.
inline constexpr const char* kFieldInputHash = "ls_input_hash";
inline constexpr std::string_view kNoInputFound = "none";
/// How often in a row judging the job has taken too long.
inline constexpr const char* kFieldPolicyTimeouts = "ls_policy_timeouts";

struct SafetyDecision {
    SafetyDecision();
    SafetyDecision(Decision decision, std::string reason);
    SafetyDecision(SafetyDecision&&) noexcept;
    SafetyDecision& operator=(SafetyDecision&&) noexcept;
    ~SafetyDecision();

    Decision decision = Decision::unavailable;
    bool unknown_value = false;  // the kernel said something that nobody knows: denied, under a code of its own
    std::string reason;
    std::string rule_id;
    std::string snapshot;
    std::string approval_ref;
    bool approval_required = false;
    bool granted = false;      // by a human, not by policy
    bool own_timeout = false;  // unavailable: judging this job took too long, while others were judged
    bool crowded_out = false;  // unavailable: too much large content of its tenant is before it; policy was not asked
    InputSeen input = InputSeen::yes;
    std::string job_hash;  // what an approval will be bound to
    /// What the input was that a human is asked about (D-33): SHA-256 of the first 2 MiB and the size, or kNoInputFound;
    /// empty: there is no key of Redis to read, or it could not be read.
    std::string input_hash;
    /// The kernel's whole answer, for constraints and remediations; null when there was none.
    std::unique_ptr<cap::PolicyCheckResponse> answer;
};

/// Maps the kernel's answer. Anything that is not known is a deny; an allow that asks for approval becomes one.
[[nodiscard]] SafetyDecision decision_from(cap::PolicyCheckResponse answer);

/// The element of job:decisions; checked_at stays 0 and is filled in by the script that stores it.
[[nodiscard]] std::string decision_record(const SafetyDecision& decision);
/// The safety_* fields of the job hash.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> decision_fields(const SafetyDecision& decision);

/// Applies the constraints to the request that goes to the worker; the stored one stays as it was.
void apply_constraints(const cap::PolicyConstraints& constraints, cap::JobRequest& request);

}  // namespace lockstep::engine
