#include "engine/store/keys.h"

#include <fmt/core.h>

#include "engine/wire/text.h"

namespace lockstep::engine::keys {

std::string job_lock(const JobId& job) { return fmt::format("cordum:scheduler:job:{}", job); }

std::string job_meta(const JobId& job) { return fmt::format("job:meta:{}", job); }
std::string job_request(const JobId& job) { return fmt::format("job:req:{}", job); }

std::string state_index(JobState state) { return "job:index:" + wire::ascii_lower(to_string(state)); }

std::string delivery_mark(std::string_view durable) { return fmt::format("lockstep:durable:{}", durable); }

std::string idempotency(std::string_view tenant, std::string_view key) {
    if (tenant.empty()) return fmt::format("job:idempotency:{}", key);
    return fmt::format("job:idempotency:{}:{}", tenant, key);
}

}  // namespace lockstep::engine::keys
