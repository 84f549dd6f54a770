// A listener for whoever watches the daemon: GET /metrics, /health, /livez and /readyz, on threads of its own.
//
//   1. It starts before Redis and NATS are connected and answers "degraded" until they are.
//   2. /health says how the servers are that the daemon depends on (prod/README.md, "Health checks"), and in its body whether
//      it takes jobs. /readyz says the latter by its status: 503, with the reason in the body, before the streams and durables exist,
//      while it drains, and while it has no connection.
//      With `?verbose` it lists what was looked at. A server may be away for a moment (Health::excused) without a word of it.
//      /livez and /healthz say that this process answers and that its event loop turns, and nothing else: no server is asked.
//      In its plain form /health answers `ok` as a text once the daemon does its work, whatever its connections.
//   3. An address that is taken is the caller's to refuse: whoever runs without metrics runs blind.
//   4. Whoever connects is bounded (see http_listener.h), and nobody's question delays another's: all who ask for health at the
//      same time get one answer, and those who ask for metrics another.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace lockstep::prod {

/// Health of the parts that the daemon depends on. An empty error is health.
struct Health {
    std::string redis_error = "not initialized";
    std::string nats_error = "disconnected";
    std::string safety_warning = "not configured";
    /// Why no jobs are taken, whatever the connections; empty when they are.
    std::string not_ready = "starting";
    /// Servers that are away for less than their grace: their errors do not count against readiness yet.
    bool redis_excused = false;
    bool nats_excused = false;
    /// A process without a Redis says nothing of one in its list of checks. Its redis_error is empty.
    bool uses_redis = true;

    [[nodiscard]] bool ok() const { return redis_error.empty() && nats_error.empty(); }
    /// Why jobs are not taken now; empty when they are.
    [[nodiscard]] std::string reason_not_ready() const;
    /// The body of /health.
    [[nodiscard]] std::string json() const;
    /// The body of /readyz.
    [[nodiscard]] std::string ready_json() const;
    /// The body of /readyz?verbose: a line for each check, and one for them all.
    [[nodiscard]] std::string ready_text() const;
};

/// What the listener says of a process whose loop writes it now and then. Any thread.
class HealthBoard {
public:
    void write(Health health) {
        const std::lock_guard lock(mutex_);
        health_ = std::move(health);
    }
    [[nodiscard]] Health read() {
        const std::lock_guard lock(mutex_);
        return health_;
    }

private:
    std::mutex mutex_;
    Health health_;
};

class AdminHttp {
public:
    /// Each is called on a thread of its own. `health` may take up to a few seconds, `stall` a part of one.
    struct Sources {
        std::function<std::string()> metrics;
        std::function<Health()> health;
        bool plain_health = false;  // see 2
        /// Why this process is to be ended; empty while it is well (LoopWatch::why_stalled). Without it, it always is.
        std::function<std::string()> stall = [] { return std::string(); };
    };

    /// `address` is host:port; without a host all interfaces, with port 0 a free one. The error says what to check.
    static tl::expected<std::unique_ptr<AdminHttp>, std::string> start(const std::string& address, Sources sources);
    /// Whether it reads like one that `start` could take.
    [[nodiscard]] static bool is_address(const std::string& address);
    /// Hangs up on everybody and waits for the sources that are being asked.
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
