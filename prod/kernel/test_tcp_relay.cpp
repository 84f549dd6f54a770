#include "prod/kernel/test_tcp_relay.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace lockstep::prod {

namespace {

bool send_all(int to, const char* bytes, std::size_t count) {
    while (count > 0) {
        const ssize_t written = ::send(to, bytes, count, MSG_NOSIGNAL);
        if (written <= 0) return false;
        bytes += written;
        count -= static_cast<std::size_t>(written);
    }
    return true;
}

}  // namespace

TcpRelay::TcpRelay(int target) : target_(target), wake_(::eventfd(0, EFD_CLOEXEC)) {
    listen();
    thread_ = std::thread([this] { run(); });
}

TcpRelay::~TcpRelay() {
    ask([this] { stopped_ = true; });
    thread_.join();
    close_all();
    ::close(listener_);
    ::close(wake_);
}

void TcpRelay::cut() {
    ask([this] { close_all(); });
}

void TcpRelay::refuse() {
    ask([this] {
        ::close(std::exchange(listener_, -1));
        close_all();
    });
}

void TcpRelay::accept_again() {
    ask([this] { listen(); });
}

void TcpRelay::ask(std::function<void()> what) {
    std::packaged_task<void()> request(std::move(what));
    auto done = request.get_future();
    {
        const std::lock_guard lock(mutex_);
        requests_.push_back(std::move(request));
    }
    ::eventfd_write(wake_, 1);
    done.get();
}

void TcpRelay::listen() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int share = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &share, sizeof share);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener_, 16) != 0) {
        throw std::runtime_error("the relay cannot listen");
    }
}

void TcpRelay::run() {
    while (!stopped_) {
        std::vector<pollfd> watched{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
        for (const Pair& pair : pairs_) {
            watched.push_back({pair.client, POLLIN, 0});
            watched.push_back({pair.server, POLLIN, 0});
        }
        if (::poll(watched.data(), watched.size(), -1) < 0) continue;
        // Pairs first: what is asked or accepted below changes their number.
        std::size_t place = 2;
        for (auto pair = pairs_.begin(); pair != pairs_.end(); place += 2) {
            const bool from_client = watched[place].revents != 0;
            const bool from_server = watched[place + 1].revents != 0;
            const bool lives = (!from_client || relay(pair->client, pair->server)) &&
                               (!from_server || relay_answer(pair->server, pair->client));
            if (!lives) {
                ::close(pair->client);
                ::close(pair->server);
            }
            pair = lives ? std::next(pair) : pairs_.erase(pair);
        }
        if (watched[1].revents != 0) accept_one();
        if (watched[0].revents != 0) take_requests();
    }
}

void TcpRelay::take_requests() {
    eventfd_t count = 0;
    ::eventfd_read(wake_, &count);
    std::vector<std::packaged_task<void()>> taken;
    {
        const std::lock_guard lock(mutex_);
        taken.swap(requests_);
    }
    for (auto& request : taken) request();
}

void TcpRelay::accept_one() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const int server = fakes::testing::connect_to_loopback(target_);
    if (server < 0) {
        ::close(client);
        return;
    }
    // Small parts are to arrive as such and at once.
    const int at_once = 1;
    for (const int socket : {client, server}) ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    pairs_.push_back({client, server});
}

void TcpRelay::cut_after(std::size_t bytes) {
    ask([this, bytes] { allowance_ = bytes; });
}

bool TcpRelay::relay(int from, int to) {
    std::array<char, 65536> bytes{};
    const ssize_t received = ::recv(from, bytes.data(), bytes.size(), 0);
    return received > 0 && send_all(to, bytes.data(), static_cast<std::size_t>(received));
}

bool TcpRelay::relay_answer(int from, int to) {
    if (!allowance_) return relay(from, to);
    std::array<char, 65536> bytes{};
    const ssize_t received = ::recv(from, bytes.data(), bytes.size(), 0);
    if (received <= 0) return false;
    const std::size_t passed = std::min(static_cast<std::size_t>(received), *allowance_);
    *allowance_ -= passed;
    const bool cut = passed < static_cast<std::size_t>(received);
    if (cut) allowance_.reset();
    return send_all(to, bytes.data(), passed) && !cut;
}

void TcpRelay::close_all() {
    for (const Pair& pair : pairs_) {
        ::close(pair.client);
        ::close(pair.server);
    }
    pairs_.clear();
}

}  // namespace lockstep::prod
