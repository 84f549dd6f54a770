// Three redis-servers of which one takes the writes, and three sentinels that see to it.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fakes/testing/server_process.h"
#include "prod/ordeal/servers.h"

namespace lockstep::prod::ordeal {

class RedisGroup {
public:
    /// Waits until each knows the others. Throws std::runtime_error when that does not come about.
    explicit RedisGroup(Durability durability);

    /// `redis-sentinel://…`
    [[nodiscard]] std::string url() const;
    [[nodiscard]] PrimaryPort primary_port() const;

    /// Kills the primary, or freezes it. False: not all are there to choose another.
    bool take_primary(bool freeze, std::string& target);
    /// Another one takes writes.
    [[nodiscard]] bool replaced() const;
    /// Lets it go on, or starts it: as a replica of the new one, or as the primary that it was.
    void give_back(bool as_replica);
    /// What keeps one from taking writes, the others from following it, or a sentinel from knowing all of them; empty: nothing.
    [[nodiscard]] std::string missing() const;

    void copy_logs(const std::filesystem::path& folder) const;

private:
    static constexpr std::size_t kMembers = 3;
    using Process = std::unique_ptr<fakes::testing::ServerProcess>;

    [[nodiscard]] fakes::testing::ServerProcess::CommandLine member(std::size_t number, Durability durability);
    [[nodiscard]] bool followed(int port) const;
    [[nodiscard]] bool known_to(int sentinel) const;
    template <class Condition>
    void must(Condition condition, const char* what);

    std::array<int, kMembers> primary_of_{};  // at its next start; 0: it takes writes itself
    std::array<Process, kMembers> members_;
    std::array<Process, kMembers> sentinels_;
    fakes::testing::ServerProcess* taken_ = nullptr;
};

}  // namespace lockstep::prod::ordeal
