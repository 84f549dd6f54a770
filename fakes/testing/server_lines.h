// The command lines of the real servers, for tests and for whoever starts a deployment on loopback ports.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::fakes::testing {

/// What of the acknowledged writes a redis-server finds again after a kill.
enum class AppendOnly : std::uint8_t { no, every_second, always };

// For ServerProcess::CommandLine; more words may be appended. All throw std::runtime_error when the program is not installed.
/// No snapshots; with `AppendOnly::no` nothing is written to `folder`.
[[nodiscard]] std::vector<std::string> redis_server_line(int port, const std::filesystem::path& folder,
                                                         AppendOnly append_only = AppendOnly::no);
/// A replica, in memory only, of the redis-server that listens on the port `primary` of this machine.
[[nodiscard]] std::vector<std::string> redis_replica_line(int port, const std::filesystem::path& folder, int primary);
/// With JetStream, which keeps its files in `folder`.
[[nodiscard]] std::vector<std::string> nats_server_line(int port, const std::filesystem::path& folder);

}  // namespace lockstep::fakes::testing
