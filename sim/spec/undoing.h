// What the compensation of a job is to be, by its request (wire.md 10; engine/delivery-semantics.md, "Steps that are undone", 4, and
// "Tenants, and what only policy writes", 3): as it is recorded, and as it is submitted.
#pragma once

#include <string>

#include "engine/wire/fwd.h"

namespace lockstep::sim::spec {

/// Where what has been recorded for the job differs from what is due; empty: nowhere.
[[nodiscard]] std::string misrecorded(const cap::JobRequest& recorded, const cap::JobRequest& job);

/// Where what is submitted differs from what has been recorded; empty: nowhere.
[[nodiscard]] std::string missubmitted(const cap::JobRequest& submitted, const cap::JobRequest& recorded);

}  // namespace lockstep::sim::spec
