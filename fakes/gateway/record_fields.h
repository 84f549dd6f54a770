// How a job looks in Redis, as a gateway writes it: key names, and the fields of the job hash that come from a request.
// Written down here a second time, beside the engine's own, so that a mistake on either side shows as a difference.
#pragma once

#include <string>
#include <string_view>

#include "engine/ports/redis.h"
#include "engine/runtime/time.h"
#include "engine/wire/fwd.h"

namespace lockstep::fakes::records {

[[nodiscard]] std::string meta_key(std::string_view job);
[[nodiscard]] std::string request_key(std::string_view job);
[[nodiscard]] std::string lock_key(std::string_view job);
/// Empty for a request without an idempotency key.
[[nodiscard]] std::string idempotency_key(const cap::JobRequest& request);

/// The tenant that the job hash names: of the metadata, else the request's, else the environment's, else none.
[[nodiscard]] std::string tenant_field(const cap::JobRequest& request);
/// HSET with every field that SetJobMeta writes.
[[nodiscard]] engine::RedisCommand set_meta(const cap::JobRequest& request);

/// `2026-01-01T00:00:00.000000000Z`.
[[nodiscard]] std::string rfc3339(engine::WallTime time);
[[nodiscard]] std::string micros(engine::WallTime time);

}  // namespace lockstep::fakes::records
