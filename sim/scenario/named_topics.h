// Which topics and subjects there can be in the run of a file: an expectation of any other could only hold, or only fail.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "sim/scenario/topology.h"

namespace lockstep::sim::detail {

/// Load that publishes packets or writes keys directly may bring any topic, any subject and any worker.
[[nodiscard]] bool strangers_speak(const Scenario& scenario);

/// Whatever cluster and load of the document name, which is more than topics; `topics`: those of pools, at any time.
[[nodiscard]] std::set<std::string> topics_named(const nlohmann::json& document, const std::set<std::string>& topics);

/// What a message can come by, where these are the topics.
[[nodiscard]] std::vector<std::string> subjects_of(const std::set<std::string>& topics, const Topology& topology);

}  // namespace lockstep::sim::detail
