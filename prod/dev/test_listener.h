// For tests: a server that is in the way.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace lockstep::prod::testing {

/// Listens on a port of loopback as servers do, with the permission to share it with who does not listen.
class Listener {
public:
    explicit Listener(int port) {
        const int share = 1;
        ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &share, sizeof share);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        listens_ =
            ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(socket_, 1) == 0;
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener() { ::close(socket_); }
    [[nodiscard]] bool listens() const { return listens_; }

private:
    int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool listens_ = false;
};

}  // namespace lockstep::prod::testing
