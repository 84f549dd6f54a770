// The ids of a run's jobs: `<run>:<step>@<attempt>` (workflow.md 5.1, 6.1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::engine {

struct RunJob {
    std::string run;
    std::string step;  // as in the run's `steps`
    std::int64_t attempt = 0;
};

[[nodiscard]] std::string run_job_id(std::string_view run, std::string_view step, std::int64_t attempt);
/// Why a step fails whose job another one stands in the way of.
[[nodiscard]] std::string taken_id_text(std::string_view job);
/// Nothing for the id of a job that no run has.
[[nodiscard]] std::optional<RunJob> parse_run_job(std::string_view job);

}  // namespace lockstep::engine
