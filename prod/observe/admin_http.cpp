#include "prod/observe/admin_http.h"

#include <fmt/core.h>
#include <httplib.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <thread>

namespace lockstep::prod {

namespace {

constexpr auto kTimeout = std::chrono::seconds(5);
constexpr auto kIdle = std::chrono::seconds(60);
constexpr std::size_t kBodyMax = 1U << 20U;  // nothing sends us bodies

nlohmann::json part(const std::string& error, const char* word) {
    if (error.empty()) return {{"status", "ok"}};
    return {{"status", word}, {"error", error}};
}

}  // namespace

std::string Health::json() const {
    return nlohmann::json{{"redis", part(redis_error, "error")},
                          {"nats", part(nats_error, "error")},
                          {"safety", part(safety_warning, "warn")},
                          {"status", ok() ? "ok" : "degraded"}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class AdminHttp::Server {
public:
    explicit Server(Sources from) : sources(std::move(from)) {
        // The library's default lets a second process listen beside us unnoticed.
        http.set_socket_options([](socket_t socket) {
            const int yes = 1;
            setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        });
        http.set_read_timeout(kTimeout);
        http.set_write_timeout(kTimeout);
        http.set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(kIdle).count());
        http.set_payload_max_length(kBodyMax);
        // A handful of threads: scrapers and probes, no users.
        http.new_task_queue = [] { return new httplib::ThreadPool(4); };
        http.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
            response.set_content(sources.metrics(), "text/plain; version=0.0.4; charset=utf-8");
        });
        http.Get("/health", [this](const httplib::Request&, httplib::Response& response) {
            const Health health = sources.health();
            response.status = health.ok() ? 200 : 503;
            response.set_content(health.json(), "application/json");
        });
    }
    ~Server() {
        http.stop();
        if (thread.joinable()) thread.join();
    }

    Sources sources;
    httplib::Server http;
    int port = 0;
    std::thread thread;
};

AdminHttp::AdminHttp(std::unique_ptr<Server> server) : server_(std::move(server)) {}
AdminHttp::~AdminHttp() = default;
int AdminHttp::port() const { return server_->port; }

tl::expected<std::unique_ptr<AdminHttp>, std::string> AdminHttp::start(const std::string& address, Sources sources) {
    const auto colon = address.rfind(':');
    int port = -1;
    if (colon != std::string::npos) {
        const auto [end, error] = std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
        if (error != std::errc{} || end != address.data() + address.size() || port > 65535) port = -1;
    }
    if (port < 0) return tl::make_unexpected(fmt::format("\"{}\" is no host:port", address));
    std::string host = address.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host.empty()) host = "0.0.0.0";

    auto server = std::make_unique<Server>(std::move(sources));
    if (port == 0) {
        server->port = server->http.bind_to_any_port(host.c_str());
    } else {
        server->port = server->http.bind_to_port(host.c_str(), port) ? port : -1;
    }
    if (server->port <= 0)
        return tl::make_unexpected(fmt::format("cannot listen on {}: in use, or no address of this machine", address));
    server->thread = std::thread([raw = server.get()] { raw->http.listen_after_bind(); });
    // `stop` before the listener runs would be lost and the end would wait for ever.
    while (!server->http.is_running()) std::this_thread::yield();
    return std::unique_ptr<AdminHttp>(new AdminHttp(std::move(server)));
}

}  // namespace lockstep::prod
