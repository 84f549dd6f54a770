#include "prod/observe/http_listener.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/runtime/invariant.h"

namespace lockstep::prod {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kBacklog = 128;
/// How long the end of a connection is waited for, so that a client that still sends reads its answer before it is reset.
constexpr milliseconds kLinger{1000};
/// Without descriptors to accept with; somebody may have given one back by then.
constexpr milliseconds kAcceptPause{100};

class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    [[nodiscard]] int get() const { return number_; }

private:
    int number_;
};

std::string_view reason_of(int status) {
    switch (status) {
        case 200: return "OK";
        case 400: return "Bad Request";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 431: return "Request Header Fields Too Large";
        default: return "Service Unavailable";
    }
}

/// The address without its port: what makes two connections those of one client.
std::string client_of(const sockaddr_storage& address) {
    if (address.ss_family == AF_INET6) {
        const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
        return {reinterpret_cast<const char*>(&in6.sin6_addr), sizeof in6.sin6_addr};
    }
    const auto& in4 = reinterpret_cast<const sockaddr_in&>(address);
    return {reinterpret_cast<const char*>(&in4.sin_addr), sizeof in4.sin_addr};
}

struct RequestLine {
    std::string method;
    std::string target;
};

std::optional<RequestLine> parse_request_line(std::string_view head) {
    std::string_view line = head.substr(0, head.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto first = line.find(' ');
    const auto second = line.find(' ', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
    const std::string_view target = line.substr(first + 1, second - first - 1);
    if (!target.starts_with('/') || !line.substr(second + 1).starts_with("HTTP/1.")) return std::nullopt;
    return RequestLine{std::string(line.substr(0, first)), std::string(target)};
}

bool has_whole_head(std::string_view text) {
    return text.find("\r\n\r\n") != std::string_view::npos || text.find("\n\n") != std::string_view::npos;
}

}  // namespace

class HttpListener::Server {
public:
    Server(Descriptor socket, Descriptor wake, int bound_port, Limits limits)
        : port(bound_port), socket_(std::move(socket)), wake_(std::move(wake)), limits_(limits) {}
    ~Server() { stop(); }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    void start(Handler handler) {
        PRECONDITION(!std::exchange(started_, true), "port {} is served already", port);
        handler_ = std::move(handler);
        thread_ = std::thread([this] { run(); });
    }
    void stop() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake();
        if (thread_.joinable()) thread_.join();
    }
    void answer(Ticket ticket, HttpAnswer answer) {
        {
            const std::lock_guard lock(mutex_);
            answers_.emplace_back(ticket, std::move(answer));
        }
        wake();
    }

    const int port;

private:
    enum class State : std::uint8_t { reading, waiting, writing, lingering, closed };

    struct Connection {
        Descriptor socket;
        std::string client;
        Ticket ticket;
        steady_clock::time_point until;
        State state = State::reading;
        bool head_only = false;
        std::string in{};
        std::string head{};
        std::shared_ptr<const std::string> body{};
        std::size_t written = 0;
    };
    using Connections = std::list<Connection>;  // the oldest first

    void wake() const {
        const std::uint64_t one = 1;
        (void)!::write(wake_.get(), &one, sizeof one);
    }

    void run() {
        while (!stopping()) {
            wait();
            take_answers();
            for (Connection& connection : connections_) advance(connection);
            // After those who are here already: what they have sent by now counts as asked.
            accept_all();
            hang_up_on_the_late();
            connections_.remove_if([](const Connection& c) { return c.state == State::closed; });
        }
        connections_.clear();
    }
    bool stopping() {
        const std::lock_guard lock(mutex_);
        return stopping_;
    }

    void wait() {
        std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}};
        const auto now = steady_clock::now();
        auto until = now + std::chrono::hours(1);
        if (accept_again_ <= now)
            polled.push_back({socket_.get(), POLLIN, 0});
        else
            until = accept_again_;
        for (const Connection& connection : connections_) {
            until = std::min(until, connection.until);
            const int events = connection.state == State::writing   ? POLLOUT
                               : connection.state == State::waiting ? 0
                                                                    : POLLIN;
            polled.push_back({connection.socket.get(), static_cast<short>(events), 0});
        }
        const auto left = std::chrono::ceil<milliseconds>(until - now).count();
        (void)::poll(polled.data(), polled.size(), static_cast<int>(std::max<std::int64_t>(0, left)));
        std::uint64_t count = 0;
        (void)!::read(wake_.get(), &count, sizeof count);
    }

    void take_answers() {
        std::vector<std::pair<Ticket, HttpAnswer>> answers;
        {
            const std::lock_guard lock(mutex_);
            answers.swap(answers_);
        }
        for (auto& [ticket, answer] : answers) {
            const auto found = std::ranges::find(connections_, ticket, &Connection::ticket);
            if (found != connections_.end() && found->state == State::waiting) respond(*found, std::move(answer));
        }
    }

    void accept_all() {
        if (accept_again_ > steady_clock::now()) return;
        while (true) {
            sockaddr_storage address{};
            socklen_t size = sizeof address;
            Descriptor socket(
                ::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (socket.get() < 0) {
                const bool short_of_something =
                    errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
                if (short_of_something) accept_again_ = steady_clock::now() + kAcceptPause;
                if (errno == EINTR || errno == ECONNABORTED) continue;
                return;
            }
            connections_.push_back(
                {std::move(socket), client_of(address), ++tickets_, steady_clock::now() + limits_.patience});
            advance(connections_.back());
            make_room(connections_.back().client);
        }
    }

    /// Of the client that has just come if that has too many, else of the one that has most.
    void make_room(const std::string& newcomer) {
        std::map<std::string_view, std::size_t> count;
        std::size_t all = 0;
        for (const Connection& connection : connections_) {
            if (connection.state == State::closed) continue;
            ++count[connection.client];
            ++all;
        }
        std::string_view greedy;
        if (count[newcomer] > limits_.per_client)
            greedy = newcomer;
        else if (all > limits_.connections)
            greedy = std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; })->first;
        else
            return;
        // One that has asked is not given up while there is one that has not.
        for (const State state : {State::reading, State::lingering, State::writing, State::waiting}) {
            const auto victim = std::ranges::find_if(
                connections_, [&](const Connection& c) { return c.state == state && c.client == greedy; });
            if (victim == connections_.end()) continue;
            victim->state = State::closed;
            return;
        }
    }

    void hang_up_on_the_late() {
        const auto now = steady_clock::now();
        for (Connection& connection : connections_)
            if (connection.until <= now) connection.state = State::closed;
    }

    /// Whatever can be done without waiting.
    void advance(Connection& connection) {
        if (connection.state == State::reading) read(connection);
        if (connection.state == State::waiting) notice_end(connection);
        if (connection.state == State::writing) write(connection);
        if (connection.state == State::lingering) discard(connection);
    }

    void read(Connection& connection) {
        std::array<char, 4096> bytes;
        while (connection.state == State::reading) {
            const auto got = ::recv(connection.socket.get(), bytes.data(), bytes.size(), 0);
            if (got > 0) {
                connection.in.append(bytes.data(), static_cast<std::size_t>(got));
                if (has_whole_head(connection.in))
                    ask(connection);
                else if (connection.in.size() > limits_.request_bytes)
                    refuse(connection, 431, "the request is too large\n");
            } else {
                if (got == 0 || (errno != EAGAIN && errno != EINTR)) connection.state = State::closed;
                return;
            }
        }
    }

    void ask(Connection& connection) {
        const auto request = parse_request_line(connection.in);
        connection.in.clear();
        if (!request) return refuse(connection, 400, "this is no HTTP request\n");
        connection.head_only = request->method == "HEAD";
        if (request->method != "GET" && !connection.head_only)
            return refuse(connection, 405, "GET and HEAD are understood\n");
        connection.state = State::waiting;
        // Its owner answers in its own time, which is bounded; this is for an owner that never does.
        connection.until = steady_clock::now() + 6 * limits_.patience;
        handler_(request->target, connection.ticket);
    }

    /// A client that asked and left needs no answer. One that only says no more may still read.
    static void notice_end(Connection& connection) {
        pollfd polled{connection.socket.get(), 0, 0};
        if (::poll(&polled, 1, 0) > 0 && (polled.revents & (POLLERR | POLLHUP)) != 0) connection.state = State::closed;
    }

    void refuse(Connection& connection, int status, std::string why) {
        respond(connection, {status, "text/plain", std::make_shared<const std::string>(std::move(why))});
    }

    void respond(Connection& connection, HttpAnswer answer) {
        connection.body = answer.body ? std::move(answer.body) : std::make_shared<const std::string>();
        connection.head =
            fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}Connection: close\r\n\r\n",
                        answer.status, reason_of(answer.status), answer.type, connection.body->size(),
                        answer.status == 405 ? "Allow: GET, HEAD\r\n" : "");
        if (connection.head_only) connection.body = std::make_shared<const std::string>();
        connection.until = steady_clock::now() + limits_.patience;
        connection.state = State::writing;
        write(connection);
    }

    void write(Connection& connection) {
        const std::size_t head = connection.head.size();
        const std::size_t all = head + connection.body->size();
        while (connection.written < all) {
            const bool in_head = connection.written < head;
            const std::string_view rest = in_head
                                              ? std::string_view(connection.head).substr(connection.written)
                                              : std::string_view(*connection.body).substr(connection.written - head);
            const auto sent = ::send(connection.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) continue;
            if (sent < 0) {
                if (errno != EAGAIN) connection.state = State::closed;
                return;
            }
            connection.written += static_cast<std::size_t>(sent);
        }
        ::shutdown(connection.socket.get(), SHUT_WR);
        connection.until = steady_clock::now() + kLinger;
        connection.state = State::lingering;
        discard(connection);
    }

    static void discard(Connection& connection) {
        std::array<char, 4096> bytes;
        // A little at a time: an endless sender gets no more of this thread than others.
        for (int i = 0; i < 16; ++i) {
            const auto got = ::recv(connection.socket.get(), bytes.data(), bytes.size(), 0);
            if (got > 0) continue;
            if (got == 0 || (errno != EAGAIN && errno != EINTR)) connection.state = State::closed;
            return;
        }
    }

    const Descriptor socket_;
    const Descriptor wake_;
    const Limits limits_;
    Handler handler_;
    bool started_ = false;  // by the owner's thread
    std::thread thread_;

    // The thread's own.
    Connections connections_;
    Ticket tickets_ = 0;
    steady_clock::time_point accept_again_{};

    std::mutex mutex_;
    bool stopping_ = false;                               // guarded by mutex_
    std::vector<std::pair<Ticket, HttpAnswer>> answers_;  // guarded by mutex_
};

HttpListener::HttpListener(std::unique_ptr<Server> server) : server_(std::move(server)) {}
HttpListener::~HttpListener() = default;
int HttpListener::port() const { return server_->port; }
void HttpListener::start(Handler handler) { server_->start(std::move(handler)); }
void HttpListener::stop() { server_->stop(); }
void HttpListener::answer(Ticket ticket, HttpAnswer answer) { server_->answer(ticket, std::move(answer)); }

tl::expected<std::unique_ptr<HttpListener>, std::string> HttpListener::bind(const std::string& host, int port,
                                                                            Limits limits) {
    const auto refuse = [](std::string why) { return tl::make_unexpected(std::move(why)); };
    addrinfo hints{};
    hints.ai_family = host.empty() ? AF_INET : AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    const std::string service = std::to_string(port);
    if (const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &found);
        error != 0)
        return refuse(gai_strerror(error));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);

    Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int yes = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(socket.get(), kBacklog) != 0)
        return refuse(std::strerror(errno));
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
        return refuse(std::strerror(errno));
    const int bound_port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                                             : reinterpret_cast<sockaddr_in&>(bound).sin_port);
    Descriptor wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (wake.get() < 0) return refuse(std::strerror(errno));
    return std::unique_ptr<HttpListener>(
        new HttpListener(std::make_unique<Server>(std::move(socket), std::move(wake), bound_port, limits)));
}

}  // namespace lockstep::prod
