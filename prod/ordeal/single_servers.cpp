#include <fmt/core.h>

#include <utility>

#include "fakes/testing/server_lines.h"
#include "fakes/testing/server_process.h"
#include "prod/ordeal/servers.h"

namespace lockstep::prod::ordeal {

namespace {

using fakes::testing::ServerProcess;

class SingleServers final : public Servers {
public:
    [[nodiscard]] std::string redis_url() const override { return fmt::format("redis://127.0.0.1:{}", redis_.port()); }
    [[nodiscard]] std::string nats_url() const override { return fmt::format("nats://127.0.0.1:{}", nats_.port()); }
    [[nodiscard]] PrimaryPort primary_port() const override {
        return [port = redis_.port()] { return port; };
    }

    bool begin(DisturbanceKind kind, int, std::string& target) override {
        const bool of_nats = is_of_nats(kind);
        target = of_nats ? "nats" : "redis";
        if (std::exchange(of_nats ? nats_held_ : redis_held_, true)) return false;
        if (kind == DisturbanceKind::nats_kill || kind == DisturbanceKind::redis_kill)
            process(kind).kill();
        else
            process(kind).freeze();
        return true;
    }
    bool can_end(DisturbanceKind) override { return true; }
    void end(DisturbanceKind kind) override {
        (is_of_nats(kind) ? nats_held_ : redis_held_) = false;
        if (process(kind).running())
            process(kind).thaw();
        else
            process(kind).start();
    }
    std::string missing() override { return {}; }

    void copy_logs(const std::filesystem::path& folder) const override {
        const auto overwrite = std::filesystem::copy_options::overwrite_existing;
        std::filesystem::copy_file(redis_.folder() / "server.log", folder / "redis.log", overwrite);
        std::filesystem::copy_file(nats_.folder() / "server.log", folder / "nats.log", overwrite);
    }

private:
    static bool is_of_nats(DisturbanceKind kind) {
        return kind == DisturbanceKind::nats_kill || kind == DisturbanceKind::nats_freeze;
    }
    ServerProcess& process(DisturbanceKind kind) { return is_of_nats(kind) ? nats_ : redis_; }

    ServerProcess redis_{[](int port, const std::filesystem::path& folder) {
        return fakes::testing::redis_server_line(port, folder, fakes::testing::AppendOnly::always);
    }};
    ServerProcess nats_{
        [](int port, const std::filesystem::path& folder) { return fakes::testing::nats_server_line(port, folder); }};
    bool redis_held_ = false;
    bool nats_held_ = false;
};

}  // namespace

std::unique_ptr<Servers> single_servers() { return std::make_unique<SingleServers>(); }

}  // namespace lockstep::prod::ordeal
