// Compensations: the jobs that undo the finished steps of a workflow (wire.md 10). Pure functions from messages to messages.
//
//   1. What is recorded is the template: a serialised JobRequest without a job id, so that any implementation can take it up.
//   2. The job made of a template has an id derived from the saga and the template's bytes. Made again after a crash it is
//      the same job, which the scheduler works on once (H-12, H-48).
//   3. It runs as the tenant of the job that it undoes, whatever the compensation says (D-07).
//   4. Labels by which the original job named its message or carried its approval are not inherited: the stream would take
//      the compensation for the approved job's second submission and drop it (H-40b). Nor is what only policy writes (D-08).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "engine/saga/saga_name.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine {

inline constexpr const char* kSagaSender = "cordum-scheduler-saga";

/// The workflow that the job belongs to: its field, else its label `workflow_id`; empty when it belongs to none.
[[nodiscard]] std::string workflow_of(const cap::JobRequest& request);
/// Its tenant's run where the job names one, else its tenant's workflow: runs of one workflow are kept apart (C-60, H-13).
/// Nothing for a job outside any workflow.
[[nodiscard]] std::optional<SagaName> saga_of(const cap::JobRequest& request);

/// Whether the job undoes something. Such a job is never recorded itself, and its failure starts no rollback (C-60).
[[nodiscard]] bool is_compensation(const cap::JobRequest& request);

/// What is to be recorded when this job succeeds. The error says why its compensation is none.
/// REQUIRES: request.has_compensation().
[[nodiscard]] tl::expected<cap::JobRequest, std::string> compensation_template(const cap::JobRequest& request);

/// The job that a recorded entry stands for; nothing when the bytes are no usable template.
[[nodiscard]] std::optional<cap::JobRequest> compensation_job(const SagaName& saga, std::string_view entry);

/// A UUID (RFC 9562, version 8) that is a function of the saga and the entry.
[[nodiscard]] std::string compensation_uuid(const SagaName& saga, std::string_view entry);

}  // namespace lockstep::engine
