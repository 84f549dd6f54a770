// A cluster of three nats-servers.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "fakes/testing/server_process.h"
#include "prod/ordeal/bus_client.h"

namespace lockstep::prod::ordeal {

class NatsGroup {
public:
    /// Throws std::runtime_error when one does not start, or they do not find one another.
    NatsGroup();

    /// Of all of them.
    [[nodiscard]] std::string url() const;

    /// Kills the server that leads this stream, or freezes it. False: not all are there to choose another.
    bool take_leader(const std::string& stream, bool freeze, std::string& target);
    /// Another one leads that stream.
    [[nodiscard]] bool replaced();
    /// Lets it go on, or starts it.
    void give_back();
    /// The stream that has no leader, or of which the others have not all that the leader has; empty: none.
    [[nodiscard]] std::string missing();

    void copy_logs(const std::filesystem::path& folder) const;

private:
    static constexpr std::size_t kMembers = 3;

    [[nodiscard]] fakes::testing::ServerProcess::CommandLine member(std::size_t number) const;

    std::array<fakes::testing::ReservedPort, kMembers> routes_;
    std::array<std::unique_ptr<fakes::testing::ServerProcess>, kMembers> members_;
    std::unique_ptr<BusClient> asking_;
    fakes::testing::ServerProcess* taken_ = nullptr;
    std::string led_;  // the stream that it led
    std::string leader_;
};

}  // namespace lockstep::prod::ordeal
