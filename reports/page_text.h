// Small pieces of text that the tables of a run's page have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::reports {

/// "12.345s".
[[nodiscard]] std::string seconds_of(std::int64_t us);

/// "0.250s", "9m12s", "2h05m": as exact as it is read.
[[nodiscard]] std::string length_of(std::int64_t us);

/// What the row of a job is called in the address of the page: its `id`, not yet escaped.
[[nodiscard]] std::string job_anchor(std::string_view job);

/// The same as a reference within the page, fit for an attribute in double quotes.
[[nodiscard]] std::string job_reference(std::string_view job);

}  // namespace lockstep::reports
