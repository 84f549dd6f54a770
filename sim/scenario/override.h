// `--set` of the command line: changes one value of a scenario document before it is checked.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace lockstep::sim {

/// `cluster.config.backoff_max=60s`, `cluster.workers.0.count=8`, or a JSON pointer: `/cluster/schedulers=3`. The value is
/// JSON when it parses as such (3, true, ["a"], "3"), else text. Objects on the way are made when absent; an element of a
/// list must exist. Returns the JSON pointer that was set; the error says what was expected.
tl::expected<std::string, std::string> apply_override(nlohmann::json& document, std::string_view assignment);

}  // namespace lockstep::sim
