// A job for programs: numbers as numbers, times as RFC 3339, lists and labels as JSON (redis-schema.md 2 says what the fields are).
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lockstep::prod {

/// `fields` of the job's hash, under their names but for `deadline_unix`, which is a time as the others and called `deadline`.
/// `events` as Redis has them, "<micros>|<STATE>". A field that is not of the form that it should have stays as text.
[[nodiscard]] nlohmann::json job_document(const std::string& job, const std::map<std::string, std::string>& fields,
                                          const std::vector<std::string>& events);

/// RFC 3339 where these are microseconds since the epoch; the text otherwise, null where there is none.
[[nodiscard]] nlohmann::json time_document(const std::string& micros);

}  // namespace lockstep::prod
