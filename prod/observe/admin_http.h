// The admin listener: GET /metrics and GET /health, on threads of its own.
//
//   1. It starts before Redis and NATS are connected and answers "degraded" until they are.
//   2. A failure to listen is the caller's to log; it does not stop the daemon.
//   3. Whoever connects can keep neither memory nor the end of the process to itself: a request is bounded in size and time,
//      and each connection carries one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace lockstep::prod {

/// Health of the parts that the daemon depends on. An empty error is health.
struct Health {
    std::string redis_error = "not initialized";
    std::string nats_error = "disconnected";
    std::string safety_warning = "not configured";

    [[nodiscard]] bool ok() const { return redis_error.empty() && nats_error.empty(); }
    /// The body of /health.
    [[nodiscard]] std::string json() const;
};

class AdminHttp {
public:
    /// Both are called on the listener's threads. `health` may take up to a few seconds.
    struct Sources {
        std::function<std::string()> metrics;
        std::function<Health()> health;
    };

    /// `address` is host:port; without a host all interfaces, with port 0 a free one. The error says what to check.
    static tl::expected<std::unique_ptr<AdminHttp>, std::string> start(const std::string& address, Sources sources);
    /// Whether it reads like one that `start` could take.
    [[nodiscard]] static bool is_address(const std::string& address);
    /// Stops listening and waits for running answers.
    ~AdminHttp();
    AdminHttp(const AdminHttp&) = delete;
    AdminHttp& operator=(const AdminHttp&) = delete;

    [[nodiscard]] int port() const;

private:
    class Server;
    explicit AdminHttp(std::unique_ptr<Server> server);
    std::unique_ptr<Server> server_;
};

}  // namespace lockstep::prod
