// From a file to the member of a fault that an argument stands for, and back. What a member of its type means in a file, and where
// its default need not be written, is said here once; which argument is which member, the table of faults says.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/catalogue.h"
#include "sim/scenario/fault.h"

namespace lockstep::sim {

// REQUIRES: the argument stands in the object, in the shape that its kind has.
void read_argument(const FaultArg& arg, const nlohmann::json& object, std::string& value);
void read_argument(const FaultArg& arg, const nlohmann::json& object, double& value);
void read_argument(const FaultArg& arg, const nlohmann::json& object, int& status);
void read_argument(const FaultArg& arg, const nlohmann::json& object, std::optional<std::uint64_t>& value);
void read_argument(const FaultArg& arg, const nlohmann::json& object, Duration& value);
void read_argument(const FaultArg& arg, const nlohmann::json& object, std::optional<Duration>& value);
void read_argument(const FaultArg& arg, const nlohmann::json& object, Distribution& value);
void read_argument(const FaultArg& arg, const nlohmann::json& object, std::vector<std::string>& value);
void read_argument(const FaultArg& arg, const nlohmann::json& object, NamedTunables& value);
void read_argument(const FaultArg& arg, const nlohmann::json& object, WorkerChange& value);

// Null where the default says the same.
[[nodiscard]] nlohmann::ordered_json argument_document(const FaultArg& arg, const std::string& value);
[[nodiscard]] nlohmann::ordered_json argument_document(const FaultArg& arg, double value);
[[nodiscard]] nlohmann::ordered_json argument_document(const FaultArg& arg, int status);
[[nodiscard]] nlohmann::ordered_json argument_document(const FaultArg& arg, const std::optional<std::uint64_t>& value);
[[nodiscard]] nlohmann::ordered_json argument_document(const FaultArg& arg, const Duration& value);
[[nodiscard]] nlohmann::ordered_json argument_document(const FaultArg& arg, const std::optional<Duration>& value);
[[nodiscard]] nlohmann::ordered_json argument_document(const FaultArg& arg, const Distribution& value);
[[nodiscard]] nlohmann::ordered_json argument_document(const FaultArg& arg, const std::vector<std::string>& value);
[[nodiscard]] nlohmann::ordered_json argument_document(const FaultArg& arg, const NamedTunables& value);
[[nodiscard]] nlohmann::ordered_json argument_document(const FaultArg& arg, const WorkerChange& value);

}  // namespace lockstep::sim
