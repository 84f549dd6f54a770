// The servers that a deployment under an ordeal stands on. Everything on loopback ports of its own, in folders of its own, gone with
// this object.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "prod/ordeal/ledger.h"

namespace lockstep::prod::ordeal {

/// The port of the Redis that takes writes at present; 0: nobody knows it. Any thread may ask.
using PrimaryPort = std::function<int()>;

class Servers {
public:
    Servers() = default;
    Servers(const Servers&) = delete;
    Servers& operator=(const Servers&) = delete;
    virtual ~Servers() = default;

    /// As the programs are told of them.
    [[nodiscard]] virtual std::string redis_url() const = 0;
    [[nodiscard]] virtual std::string nats_url() const = 0;
    [[nodiscard]] virtual PrimaryPort primary_port() const = 0;

    /// Does this to one of them, and gives its name. False: it cannot be done to any of them now. `how` is drawn.
    virtual bool begin(DisturbanceKind kind, int how, std::string& target) = 0;
    /// Whether what was done has had its effect.
    virtual bool can_end(DisturbanceKind kind) = 0;
    /// Gives back what was taken.
    virtual void end(DisturbanceKind kind) = 0;
    /// What keeps each from being in its place with all that the others have; empty: nothing.
    virtual std::string missing() = 0;

    /// Into a folder, each under the name of its server.
    virtual void copy_logs(const std::filesystem::path& folder) const = 0;
};

/// One redis-server, which syncs every write, and one nats-server. Throws std::runtime_error when one does not start.
[[nodiscard]] std::unique_ptr<Servers> single_servers();

/// What Redis may lose when its primary does.
enum class Durability : std::uint8_t {
    required,  // a primary without a replica takes no writes
    none,      // what no replica has yet is gone
};
/// Three redis-servers with three sentinels, and a cluster of three nats-servers. Throws std::runtime_error when one does not start.
[[nodiscard]] std::unique_ptr<Servers> available_servers(Durability durability);

}  // namespace lockstep::prod::ordeal
