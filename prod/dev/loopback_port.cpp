#include "prod/dev/loopback_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace lockstep::prod {

// A free one is bound without the permission to share, so that the system finds a port that is nobody's. A wanted one is bound with
// it: connections of a server that is gone may still hold it for a minute, which is in nobody's way; a server that listens is.
LoopbackPort::LoopbackPort(int wanted) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(wanted));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const int share = 1;
    const auto permit = [&] { return ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &share, sizeof share) == 0; };
    const bool bound = socket_ >= 0 && (wanted == 0 || permit()) &&
                       ::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0 && permit() &&
                       ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    if (!bound) {
        const int error = errno;
        if (socket_ >= 0) ::close(socket_);
        throw std::system_error(error, std::generic_category());
    }
    number_ = ntohs(address.sin_port);
}

LoopbackPort::~LoopbackPort() { ::close(socket_); }

}  // namespace lockstep::prod
