#include "prod/lockstepd/health_check.h"

#include <fmt/core.h>
#include <httplib.h>

namespace lockstep::prod {

namespace {

constexpr auto kConnectPatience = std::chrono::seconds(1);
/// Longer than the daemon's own question to Redis, which /readyz may wait for.
constexpr auto kAnswerPatience = std::chrono::seconds(3);

/// An address to listen on as one to call: all interfaces are reached by that of loopback.
std::string callable_host(const std::string& address) {
    std::string host = address.substr(0, address.rfind(':'));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host == "::") return "::1";
    return host.empty() || host == "0.0.0.0" ? "127.0.0.1" : host;
}

}  // namespace

HealthCheck check_health(const Settings& settings, HealthQuestion question) {
    const bool scheduler = settings.roles.scheduler;
    const std::string& address = scheduler ? settings.metrics_address : settings.workflow.http_address;
    const char* variable = scheduler ? "SCHEDULER_METRICS_ADDR" : "WORKFLOW_ENGINE_HTTP_ADDR";
    const int port = std::stoi(address.substr(address.rfind(':') + 1));  // settings hold addresses only
    if (port == 0)
        return {false, fmt::format("{} is \"{}\": a port of its own is needed to be asked at", variable, address)};
    const char* path = question == HealthQuestion::lives ? "/livez" : "/readyz";
    httplib::Client client(callable_host(address), port);
    client.set_connection_timeout(kConnectPatience);
    client.set_read_timeout(kAnswerPatience);
    const auto answer = client.Get(path);
    const std::string asked = fmt::format("{} at {} ({})", path, address, variable);
    if (!answer)
        return {false, fmt::format("{} does not answer: {}", asked,
                                   answer.error() == httplib::Error::Connection ? "nobody listens there"
                                                                                : httplib::to_string(answer.error()))};
    return {answer->status == 200, fmt::format("{} says {}: {}", asked, answer->status, answer->body)};
}

}  // namespace lockstep::prod
