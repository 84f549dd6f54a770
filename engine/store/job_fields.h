// The job hash as SetJobMeta writes it from a request (redis-schema.md 2 and 3.5).
#pragma once

#include <string>
#include <vector>

#include "engine/wire/fwd.h"

namespace lockstep::engine {

/// Field, value, field, value ... never empty.
[[nodiscard]] std::vector<std::string> job_meta_fields(const cap::JobRequest& request);
/// The key under which this request's idempotency key is kept; empty when it has none.
[[nodiscard]] std::string idempotency_key_of(const cap::JobRequest& request);

}  // namespace lockstep::engine
