#include "prod/observe/admin_http.h"

#include <fmt/core.h>

#include <charconv>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/wire/json_text.h"
#include "prod/observe/http_listener.h"

namespace lockstep::prod {

namespace {

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

/// Answers what has piled up all at once, on a thread of its own: who asks often waits no shorter and costs no more.
class Desk {
public:
    struct Question {
        std::string path;
        HttpListener::Ticket ticket;
        bool verbose = false;
    };

    explicit Desk(std::function<void(const std::vector<Question>&)> answer)
        : answer_(std::move(answer)), thread_([this] { run(); }) {}
    ~Desk() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    Desk(const Desk&) = delete;
    Desk& operator=(const Desk&) = delete;

    void put(Question question) {
        {
            const std::lock_guard lock(mutex_);
            questions_.push_back(std::move(question));
        }
        changed_.notify_one();
    }

private:
    void run() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return closed_ || !questions_.empty(); });
            if (closed_) return;
            const std::vector<Question> questions = std::exchange(questions_, {});
            lock.unlock();
            answer_(questions);
            lock.lock();
        }
    }

    const std::function<void(const std::vector<Question>&)> answer_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool closed_ = false;
    std::vector<Question> questions_;
    std::thread thread_;  // last: it uses everything above
};

std::shared_ptr<const std::string> shared(std::string text) {
    return std::make_shared<const std::string>(std::move(text));
}

}  // namespace

std::string Health::reason_not_ready() const {
    if (!not_ready.empty()) return not_ready;
    if (!redis_error.empty() && !redis_excused) return "redis: " + redis_error;
    return nats_error.empty() || nats_excused ? "" : "nats: " + nats_error;
}

std::string Health::ready_json() const {
    const std::string reason = reason_not_ready();
    nlohmann::json body{{"ready", reason.empty()}};
    if (!reason.empty()) body["reason"] = reason;
    return engine::wire::json_text(body);
}

std::string Health::ready_text() const {
    std::string text;
    const auto check = [&](const char* name, const std::string& failure, bool excused) {
        if (failure.empty())
            text += fmt::format("[+]{} ok\n", name);
        else if (excused)
            text += fmt::format("[+]{} ok, within its grace: {}\n", name, failure);
        else
            text += fmt::format("[-]{} failed: {}\n", name, failure);
    };
    check("serving", not_ready, false);
    if (uses_redis) check("redis", redis_error, redis_excused);
    check("nats", nats_error, nats_excused);
    return text + (reason_not_ready().empty() ? "readyz check passed\n" : "readyz check failed\n");
}

std::string Health::json() const {
    return engine::wire::json_text(nlohmann::json{{"redis", part(redis_error, "error")},
                                                  {"nats", part(nats_error, "error")},
                                                  {"safety", part(safety_warning, "warn")},
                                                  {"ready", reason_not_ready().empty()},
                                                  {"status", ok() ? "ok" : "degraded"}});
}

class AdminHttp::Server {
public:
    Server(std::unique_ptr<HttpListener> listener, Sources from)
        : listener_(std::move(listener)),
          sources_(std::move(from)),
          metrics_([this](const auto& questions) { answer_metrics(questions); }),
          health_([this](const auto& questions) { answer_health(questions); }),
          life_([this](const auto& questions) { answer_life(questions); }) {
        listener_->start([this](std::string_view path, HttpListener::Ticket ticket) { sort(path, ticket); });
    }
    /// No further questions; the desks end what they are at.
    ~Server() { listener_->stop(); }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    [[nodiscard]] int port() const { return listener_->port(); }

private:
    void sort(std::string_view target, HttpListener::Ticket ticket) {
        const std::string_view path = target.substr(0, target.find('?'));
        const bool verbose = asks_for_all(target.substr(path.size()));
        if (path == "/metrics")
            metrics_.put({std::string(path), ticket});
        else if (path == "/livez" || path == "/healthz")
            life_.put({std::string(path), ticket, verbose});
        else if (path == "/health" || path == "/readyz")
            health_.put({std::string(path), ticket, verbose});
        else
            listener_->answer(ticket, {404, "text/plain", shared("here are /metrics, /health, /livez and /readyz\n")});
    }
    /// `query` with its question mark, or empty.
    static bool asks_for_all(std::string_view query) {
        while (!query.empty()) {
            query.remove_prefix(1);
            const std::string_view one = query.substr(0, query.find('&'));
            if (one == "verbose" || one.starts_with("verbose=")) return true;
            query.remove_prefix(one.size());
        }
        return false;
    }
    void answer_metrics(const std::vector<Desk::Question>& questions) {
        const auto text = shared(sources_.metrics());
        for (const auto& question : questions)
            listener_->answer(question.ticket, {200, "text/plain; version=0.0.4; charset=utf-8", text});
    }
    void answer_health(const std::vector<Desk::Question>& questions) {
        const Health health = sources_.health();
        const HttpAnswer condition = sources_.plain_health ? plain(health) : in_full(health);
        const int status = health.reason_not_ready().empty() ? 200 : 503;
        const HttpAnswer readiness{status, "application/json", shared(health.ready_json())};
        const HttpAnswer checks{status, "text/plain", shared(health.ready_text())};
        for (const auto& question : questions) {
            const HttpAnswer& ready = question.verbose ? checks : readiness;
            listener_->answer(question.ticket, question.path == "/readyz" ? ready : condition);
        }
    }
    void answer_life(const std::vector<Desk::Question>& questions) {
        const std::string stall = sources_.stall();
        const bool well = stall.empty();
        const std::string loop = well ? "[+]loop ok\n" : fmt::format("[-]loop failed: {}\n", stall);
        const HttpAnswer brief{well ? 200 : 503, "text/plain", shared(well ? "ok" : stall)};
        const HttpAnswer checks{
            brief.status, "text/plain",
            shared(fmt::format("[+]process ok\n{}livez check {}\n", loop, well ? "passed" : "failed"))};
        for (const auto& question : questions) listener_->answer(question.ticket, question.verbose ? checks : brief);
    }
    static HttpAnswer in_full(const Health& health) {
        return {health.ok() ? 200 : 503, "application/json", shared(health.json())};
    }
    static HttpAnswer plain(const Health& health) {
        if (health.not_ready.empty()) return {200, "text/plain", shared("ok")};
        return {503, "text/plain", shared(health.not_ready)};
    }

    std::unique_ptr<HttpListener> listener_;
    const Sources sources_;
    Desk metrics_;
    Desk health_;
    Desk life_;
};

AdminHttp::AdminHttp(std::unique_ptr<Server> server) : server_(std::move(server)) {}
AdminHttp::~AdminHttp() = default;
int AdminHttp::port() const { return server_->port(); }

bool AdminHttp::is_address(const std::string& address) { return parse_endpoint(address).has_value(); }

tl::expected<std::unique_ptr<AdminHttp>, std::string> AdminHttp::start(const std::string& address, Sources sources) {
    const auto endpoint = parse_endpoint(address);
    if (!endpoint) return tl::make_unexpected(fmt::format("\"{}\" is no host:port", address));
    auto listener = HttpListener::bind(endpoint->host, endpoint->port, {});
    if (!listener) return tl::make_unexpected(fmt::format("cannot listen on {}: {}", address, listener.error()));
    return std::unique_ptr<AdminHttp>(
        new AdminHttp(std::make_unique<Server>(std::move(*listener), std::move(sources))));
}

}  // namespace lockstep::prod
