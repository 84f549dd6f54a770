#include "prod/ordeal/relay.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace lockstep::prod::ordeal {

namespace {

constexpr std::size_t kChunk = 65536;

void never_wait(int socket) {
    ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int listen_on(int port) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int share = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &share, sizeof share);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener, 64) != 0)
        throw std::runtime_error("the relay cannot listen on port " + std::to_string(port));
    return listener;
}

bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Relay::Relay(int target)
    : target_(target), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), listener_(listen_on(reserved_.number())) {
    thread_ = std::thread([this] { run(); });
}

Relay::~Relay() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    wake();
    thread_.join();
    close_all();
    ::close(listener_);
    ::close(wake_);
}

void Relay::wake() const { ::eventfd_write(wake_, 1); }

void Relay::cut_after(std::size_t bytes, Direction direction) {
    const std::lock_guard lock(mutex_);
    left_until_cut_ = bytes;
    cut_direction_ = direction;
}

bool Relay::spare() {
    const std::lock_guard lock(mutex_);
    return std::exchange(left_until_cut_, std::nullopt).has_value();
}

void Relay::stall() {
    {
        const std::lock_guard lock(mutex_);
        stalled_ = true;
    }
    wake();
}

void Relay::resume() {
    {
        const std::lock_guard lock(mutex_);
        stalled_ = false;
    }
    wake();
}

void Relay::run() {
    while (true) {
        bool stalled = false;
        {
            const std::lock_guard lock(mutex_);
            if (stopped_) return;
            stalled = stalled_;
        }
        std::vector<pollfd> watched{{wake_, POLLIN, 0}};
        if (!stalled) {
            watched.push_back({listener_, POLLIN, 0});
            for (const Pair& pair : pairs_) {
                // What has been read and not yet written holds up its sender, as a full socket does.
                const auto events = [&pair](Direction in, Direction out) {
                    return static_cast<short>((pair.waiting[static_cast<std::size_t>(in)].empty() ? POLLIN : 0) |
                                              (pair.waiting[static_cast<std::size_t>(out)].empty() ? 0 : POLLOUT));
                };
                watched.push_back({pair.client, events(Direction::to_server, Direction::to_client), 0});
                watched.push_back({pair.server, events(Direction::to_client, Direction::to_server), 0});
            }
        }
        if (::poll(watched.data(), watched.size(), -1) < 0) continue;
        eventfd_t ignored = 0;
        (void)::eventfd_read(wake_, &ignored);
        if (stalled) continue;
        std::size_t place = 2;
        for (auto pair = pairs_.begin(); pair != pairs_.end(); place += 2) {
            const short client = watched[place].revents;
            const short server = watched[place + 1].revents;
            const bool lives = carry(*pair, Direction::to_server, client, server) &&
                               carry(*pair, Direction::to_client, server, client);
            if (!lives) {
                ::close(pair->client);
                ::close(pair->server);
            }
            pair = lives ? std::next(pair) : pairs_.erase(pair);
        }
        if (watched[1].revents != 0) accept_one();
        if (std::exchange(cut_now_, false)) close_all();
    }
}

void Relay::accept_one() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const int server = fakes::testing::connect_to_loopback(target_);
    if (server < 0) {
        ::close(client);
        return;
    }
    never_wait(client);
    never_wait(server);
    pairs_.push_back({client, server, {}});
}

std::size_t Relay::allowance(std::size_t size, Direction direction) {
    const std::lock_guard lock(mutex_);
    if (!left_until_cut_ || direction != cut_direction_) return size;
    const std::size_t granted = std::min(size, *left_until_cut_);
    *left_until_cut_ -= granted;
    if (*left_until_cut_ == 0) {
        left_until_cut_.reset();
        cut_now_ = true;
    }
    return granted;
}

bool Relay::carry(Pair& pair, Direction direction, short from_events, short to_events) {
    const bool readable = from_events != 0 && from_events != POLLOUT;
    const bool broken = (from_events & (POLLHUP | POLLERR)) != 0;
    bool writable = (to_events & POLLOUT) != 0;
    const bool to_server = direction == Direction::to_server;
    const int from = to_server ? pair.client : pair.server;
    const int to = to_server ? pair.server : pair.client;
    std::vector<char>& waiting = pair.waiting[static_cast<std::size_t>(direction)];
    if (!waiting.empty() && broken) return false;
    if (waiting.empty() && readable) {
        waiting.resize(kChunk);
        const ssize_t received = ::recv(from, waiting.data(), waiting.size(), 0);
        if (received <= 0) {
            waiting.clear();
            return received < 0 && would_wait();
        }
        // What lies behind the cut is lost.
        waiting.resize(allowance(static_cast<std::size_t>(received), direction));
        writable = true;
    }
    if (waiting.empty() || !writable) return true;
    const ssize_t sent = ::send(to, waiting.data(), waiting.size(), MSG_NOSIGNAL);
    if (sent < 0) return would_wait();
    waiting.erase(waiting.begin(), waiting.begin() + sent);
    return true;
}

void Relay::close_all() {
    for (const Pair& pair : pairs_) {
        ::close(pair.client);
        ::close(pair.server);
    }
    pairs_.clear();
}

}  // namespace lockstep::prod::ordeal
