// Where a result reader (sim/run/result_reader.h) keeps what it has heard: one list for each job, `result-reader:heard:<job>`,
// with an element for each result that it has dealt with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::sim {

inline constexpr std::string_view kHeardPrefix = "result-reader:heard:";

[[nodiscard]] inline std::string heard_key(std::string_view job) {
    return std::string(kHeardPrefix) + std::string(job);
}

/// The job of such a key.
[[nodiscard]] inline std::optional<std::string_view> job_of_heard(std::string_view key) {
    if (!key.starts_with(kHeardPrefix)) return std::nullopt;
    return key.substr(kHeardPrefix.size());
}

}  // namespace lockstep::sim
