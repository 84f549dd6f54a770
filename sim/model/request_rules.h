// What the rules of requests say about one (wire.md 6.2; D-06).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/wire/fwd.h"

namespace lockstep::sim {

struct Job;

/// Why a submission is to be dropped; empty: it is not.
[[nodiscard]] std::string_view flaw_of(const cap::JobRequest& request);
/// It says something that the rules are about, beyond what every request must say.
[[nodiscard]] bool is_borderline(const cap::JobRequest& request);

/// How it names another tenant than the tenant rule says; empty: it does not.
[[nodiscard]] std::string tenant_conflict_in(const cap::JobRequest& request);

/// Of what is to be run, without what policy, an approval and the bus write into it. REQUIRES: no unknown fields.
[[nodiscard]] std::size_t digest_of_work(cap::JobRequest request);
/// Whether a request with this work was stored for the job, or none that can be read.
[[nodiscard]] bool is_as_stored(const Job& job, cap::JobRequest request);

}  // namespace lockstep::sim
