// The command lines of the real servers, for tests and for whoever starts a deployment on loopback ports.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::fakes::testing {

/// What of the acknowledged writes a redis-server finds again after a kill.
enum class AppendOnly : std::uint8_t { no, every_second, always };

// For ServerProcess::CommandLine; more words may be appended. Both throw std::runtime_error when the program is not installed.
/// No snapshots; with `AppendOnly::no` nothing is written to `folder`.
[[nodiscard]] std::vector<std::string> redis_server_line(int port, const std::filesystem::path& folder,
                                                         AppendOnly append_only = AppendOnly::no);
/// With JetStream, which keeps its files in `folder`.
[[nodiscard]] std::vector<std::string> nats_server_line(int port, const std::filesystem::path& folder);

}  // namespace lockstep::fakes::testing
