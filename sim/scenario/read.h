// From a checked JSON document to the Scenario struct, part by part. What the table refused has been taken out of the
// document before (list elements are null then), so that the sound rest can still be read and cross-checked.
// REQUIRES throughout: every value that is there has the shape that the table gives it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "sim/scenario/check.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim::detail {

[[nodiscard]] Cluster read_cluster(const nlohmann::json& object);
[[nodiscard]] Fault read_fault(const nlohmann::json& object, std::string pointer);
[[nodiscard]] Trigger read_trigger(const nlohmann::json& object);
[[nodiscard]] Chaos read_chaos(const nlohmann::json& object, Duration scenario_duration);

/// These look into strings that the table cannot describe and report what is wrong with them.
[[nodiscard]] Load read_load(const nlohmann::json& object, const std::string& pointer, std::vector<Finding>& findings);
[[nodiscard]] Expectations read_expectations(const nlohmann::json& object, const std::string& pointer,
                                             std::vector<Finding>& findings);

[[nodiscard]] Proof read_proof(const nlohmann::json& object, const std::string& pointer,
                               std::vector<Finding>& findings);

[[nodiscard]] NamedTunables tunables_of(const nlohmann::json& object);

/// Timeouts with whole seconds under the names of timeouts.yaml.
[[nodiscard]] std::string timeouts_text(const nlohmann::json& document);

// Members that may be absent.
[[nodiscard]] const nlohmann::json* member(const nlohmann::json& object, std::string_view key);
[[nodiscard]] std::string text_of(const nlohmann::json& object, std::string_view key, std::string_view otherwise = {});
[[nodiscard]] double number_of(const nlohmann::json& object, std::string_view key, double otherwise);
[[nodiscard]] int int_of(const nlohmann::json& object, std::string_view key, int otherwise);
[[nodiscard]] bool flag_of(const nlohmann::json& object, std::string_view key, bool otherwise);
[[nodiscard]] std::vector<std::string> texts_of(const nlohmann::json& object, std::string_view key);
[[nodiscard]] std::map<std::string, std::string> labels_of(const nlohmann::json& object, std::string_view key);
[[nodiscard]] Duration duration_value(const nlohmann::json& value);
[[nodiscard]] Duration duration_of(const nlohmann::json& object, std::string_view key, Duration otherwise = {});
[[nodiscard]] Distribution distribution_of(const nlohmann::json& object, std::string_view key, Distribution otherwise);

}  // namespace lockstep::sim::detail
