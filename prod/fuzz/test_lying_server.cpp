#include "prod/fuzz/test_lying_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "engine/runtime/invariant.h"

namespace lockstep::prod {

namespace {

/// A client that says nothing more has said all.
constexpr timeval kPatience{1, 0};

void say(int socket, std::string_view text) {
    while (!text.empty()) {
        const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
}

int listen_on(int port) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int share = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &share, sizeof share);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener, 1) != 0)
        throw std::runtime_error("the lying server cannot listen");
    ::setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
    return listener;
}

void serve(int client, const std::vector<LyingServer::Turn>& turns) {
    ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
    std::string heard;
    std::array<char, 4096> bytes{};
    for (const LyingServer::Turn& turn : turns) {
        while (heard.find(turn.hear) == std::string::npos) {
            const ssize_t received = ::recv(client, bytes.data(), bytes.size(), 0);
            if (received <= 0) break;
            heard.append(bytes.data(), static_cast<std::size_t>(received));
        }
        say(client, turn.say);
    }
    ::shutdown(client, SHUT_WR);
    // Until the client hangs up, too: an early end could take back what it has not read yet.
    while (::recv(client, bytes.data(), bytes.size(), 0) > 0) {
    }
    ::close(client);
}

}  // namespace

LyingServer::~LyingServer() { finish(); }

void LyingServer::play(std::vector<Turn> turns) {
    PRECONDITION(!thread_.joinable(), "a play of {} turns begins before the last one is over", turns.size());
    const int listener = listen_on(port());
    thread_ = std::thread([listener, turns = std::move(turns)] {
        const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        ::close(listener);
        if (client >= 0) serve(client, turns);
    });
}

void LyingServer::finish() {
    if (thread_.joinable()) thread_.join();
}

}  // namespace lockstep::prod
