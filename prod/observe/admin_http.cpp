#include "prod/observe/admin_http.h"

#include <civetweb.h>
#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

namespace lockstep::prod {

namespace {

constexpr const char* kTimeoutMs = "5000";
/// Of a request with its headers; a longer one is refused before it is stored.
constexpr const char* kRequestMax = "65536";
/// Scrapers and probes, no users; but a few connections that say nothing must not keep a probe waiting.
constexpr const char* kThreads = "16";

nlohmann::json part(const std::string& error, const char* word) {
    if (error.empty()) return {{"status", "ok"}};
    return {{"status", word}, {"error", error}};
}

struct Endpoint {
    std::string host;
    int port = 0;
};

std::optional<Endpoint> parse_endpoint(const std::string& address) {
    const auto colon = address.rfind(':');
    if (colon == std::string::npos) return std::nullopt;
    Endpoint endpoint{address.substr(0, colon), 0};
    const auto [end, error] =
        std::from_chars(address.data() + colon + 1, address.data() + address.size(), endpoint.port);
    const bool number = error == std::errc{} && end == address.data() + address.size() && colon + 1 < address.size();
    if (!number || endpoint.port < 0 || endpoint.port > 65535) return std::nullopt;
    if (endpoint.host.starts_with('[') && endpoint.host.ends_with(']'))
        endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
    return endpoint;
}

/// The address as the server takes it: numeric, an IPv6 one in brackets. Nothing when there is none of that name.
std::optional<std::string> numeric_form(const Endpoint& endpoint) {
    if (endpoint.host.empty()) return fmt::format("0.0.0.0:{}", endpoint.port);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    if (getaddrinfo(endpoint.host.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
    std::array<char, NI_MAXHOST> text{};
    const int named =
        getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
    const bool ipv6 = found->ai_family == AF_INET6;
    freeaddrinfo(found);
    if (named != 0) return std::nullopt;
    return ipv6 ? fmt::format("[{}]:{}", text.data(), endpoint.port) : fmt::format("{}:{}", text.data(), endpoint.port);
}

int send(mg_connection* connection, int status, const char* type, const std::string& body) {
    mg_response_header_start(connection, status);
    mg_response_header_add(connection, "Content-Type", type, -1);
    const std::string size = std::to_string(body.size());
    mg_response_header_add(connection, "Content-Length", size.c_str(), static_cast<int>(size.size()));
    mg_response_header_send(connection);
    mg_write(connection, body.data(), body.size());
    return status;
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
    explicit Server(Sources from) : sources(std::move(from)) { mg_init_library(0); }
    ~Server() {
        if (context != nullptr) mg_stop(context);
        mg_exit_library();
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    bool listen(const std::string& address) {
        // One request for each connection: an idle one would keep a thread, and the end of the process, waiting.
        const std::array<const char*, 13> options{"listening_ports",
                                                  address.c_str(),
                                                  "num_threads",
                                                  kThreads,
                                                  "request_timeout_ms",
                                                  kTimeoutMs,
                                                  "max_request_size",
                                                  kRequestMax,
                                                  "enable_keep_alive",
                                                  "no",
                                                  "linger_timeout_ms",
                                                  "0",
                                                  nullptr};
        mg_callbacks callbacks{};
        callbacks.log_message = [](const mg_connection*, const char*) { return 1; };  // it would write to stderr
        context = mg_start(&callbacks, this, const_cast<const char**>(options.data()));
        if (context == nullptr) return false;
        mg_set_request_handler(context, "/metrics$", &on_metrics, this);
        mg_set_request_handler(context, "/health$", &on_health, this);
        mg_set_request_handler(context, "/", &on_other, this);
        mg_server_port bound{};
        if (mg_get_server_ports(context, 1, &bound) > 0) port = bound.port;
        return true;
    }

    Sources sources;
    mg_context* context = nullptr;
    int port = 0;

private:
    static int on_metrics(mg_connection* connection, void* self) {
        return send(connection, 200, "text/plain; version=0.0.4; charset=utf-8",
                    static_cast<Server*>(self)->sources.metrics());
    }
    static int on_health(mg_connection* connection, void* self) {
        const Health health = static_cast<Server*>(self)->sources.health();
        return send(connection, health.ok() ? 200 : 503, "application/json", health.json());
    }
    static int on_other(mg_connection* connection, void*) {
        return send(connection, 404, "text/plain", "here are /metrics and /health\n");
    }
};

AdminHttp::AdminHttp(std::unique_ptr<Server> server) : server_(std::move(server)) {}
AdminHttp::~AdminHttp() = default;
int AdminHttp::port() const { return server_->port; }

bool AdminHttp::is_address(const std::string& address) { return parse_endpoint(address).has_value(); }

tl::expected<std::unique_ptr<AdminHttp>, std::string> AdminHttp::start(const std::string& address, Sources sources) {
    const auto endpoint = parse_endpoint(address);
    if (!endpoint) return tl::make_unexpected(fmt::format("\"{}\" is no host:port", address));
    const auto numeric = numeric_form(*endpoint);
    auto server = std::make_unique<Server>(std::move(sources));
    if (!numeric || !server->listen(*numeric))
        return tl::make_unexpected(fmt::format("cannot listen on {}: in use, or no address of this machine", address));
    return std::unique_ptr<AdminHttp>(new AdminHttp(std::move(server)));
}

}  // namespace lockstep::prod
