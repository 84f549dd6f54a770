// What a human's approval does in the scheduler (wire.md 8.1 and 8.3): whether a request that says it was
// approved really was, and the end of the gate jobs that are nothing but a question to a human.
#pragma once

#include <optional>
#include <string>

#include "engine/bus/disposition.h"
#include "engine/scheduler/replica.h"

namespace lockstep::engine {

/// Set in the job hash while the request that a human is asked about carries the label already: from its submitter, or
/// from an approval of other content. The hash of a request leaves such labels out, so it cannot tell.
inline constexpr const char* kFieldLabelBeforeQuestion = "ls_label_before_question";

struct Grant {
    std::optional<SafetyDecision> decision;  // approved, with the constraints that policy set when it asked
    std::string input_hash;                  // what the input was then; empty: not known
    bool asked_before = false;               // a human has been asked about exactly this request
};

/// What there is to hold a request that says it was approved against.
struct GrantEvidence {
    bool request_kept = true;  // the store has had the request in hand ever since a human was asked about it
    bool moved_on = true;      // whoever decided has taken the job out of APPROVAL_REQUIRED
};

/// Learns whether a human has approved exactly this request. What is not applied is a failure of the store, and no fail mode
/// of policy may let the job through for it. A grant stays good for every further try of the same content.
///
/// A label counts that has come into the stored request since the question was asked: only gateways write there. Where that
/// cannot be told, an operator's record beside it must say the same, and the job must have been moved on: the record of a
/// rejection looks no different.
/// `hash`: of the request as it was submitted. REQUIRES: a hash, for an empty one would be that of a job nobody was asked about.
[[nodiscard]] Task<Outcome<Grant>> read_grant(Replica& replica, const cap::JobRequest& request, std::string hash,
                                              GrantEvidence evidence);

/// Ends an approved gate job: its success is published, then recorded. In this order, because whoever waits for the gate
/// hears the message; and a handler that is stopped in between leaves a job which the next one ends the same way. The message
/// itself ends nothing: a gate is not sent to anybody who could report. REQUIRES: the request outlives the call; it is a gate, and
/// a human has granted it.
[[nodiscard]] Task<Disposition> complete_gate(Replica& replica, JobLease& lease, std::string trace_id,
                                              SafetyDecision decision, const cap::JobRequest& request);

}  // namespace lockstep::engine
