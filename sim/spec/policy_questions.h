// What input policy and output policy are to be asked about a job (wire.md 7.1, 7.2 and 8, step 7; engine/delivery-semantics.md, "Whose word
// counts"): what the stored request says, but for the labels that only policy and approvals write.
#pragma once

#include <string>
#include <vector>

#include "engine/wire/fwd.h"

namespace lockstep::sim::spec {

/// The part of a question that is a request's to say, in one spelling.
[[nodiscard]] cap::PolicyCheckRequest said_by_request(const cap::PolicyCheckRequest& question);
[[nodiscard]] cap_output::OutputCheckRequest said_by_request(const cap_output::OutputCheckRequest& question);

/// The same part of the question that is due about a request.
[[nodiscard]] cap::PolicyCheckRequest input_question_about(const cap::JobRequest& request);
[[nodiscard]] cap_output::OutputCheckRequest output_question_about(const cap::JobRequest& request);

/// The keys of the documents that make the settings of a job, the system's first (settings.md 2).
[[nodiscard]] std::vector<std::string> documents_of(const cap::JobRequest& request);
/// So many of them, from the first, say what they like; the others are named by the submitter and can only tighten.
inline constexpr std::size_t kBindingDocuments = 2;

}  // namespace lockstep::sim::spec
