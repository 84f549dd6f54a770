#include "engine/runs/job_names.h"

#include <fmt/format.h>

#include <charconv>

namespace lockstep::engine {

std::string run_job_id(std::string_view run, std::string_view step, std::int64_t attempt) {
    return fmt::format("{}:{}@{}", run, step, attempt);
}

std::string taken_id_text(std::string_view job) {
    return fmt::format("job_id_taken: another job than the step's is recorded under the id {}", job);
}

std::optional<RunJob> parse_run_job(std::string_view job) {
    const std::size_t colon = job.find(':');
    const std::size_t at = job.rfind('@');
    if (colon == std::string_view::npos || at == std::string_view::npos || colon == 0 || at <= colon + 1)
        return std::nullopt;
    RunJob parts{std::string(job.substr(0, colon)), std::string(job.substr(colon + 1, at - colon - 1)), 0};
    const std::string_view number = job.substr(at + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), parts.attempt);
    if (error != std::errc{} || end != number.data() + number.size() || parts.attempt < 0) return std::nullopt;
    return parts;
}

}  // namespace lockstep::engine
