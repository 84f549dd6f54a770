#include "fakes/redis/test_real_server.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "fakes/redis/resp.h"
#include "fakes/testing/server_lines.h"

namespace lockstep::fakes::redis {

using engine::RedisValue;

std::vector<std::string> redis_command_line(int port, const std::filesystem::path& folder) {
    auto words = testing::redis_server_line(port, folder);
    words.insert(words.end(), {"--databases", "1"});
    return words;
}

RealConnection::RealConnection(int port) : descriptor_(testing::connect_to_loopback(port)) {
    if (descriptor_ < 0) throw std::runtime_error("redis-server refuses the connection");
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

RealConnection::~RealConnection() { ::close(descriptor_); }

RedisValue RealConnection::run(const engine::RedisCommand& command) {
    std::string bytes;
    append_resp(bytes, command);
    for (std::size_t sent = 0; sent < bytes.size();) {
        const ssize_t written = ::send(descriptor_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (written <= 0) throw std::runtime_error("cannot send to redis-server");
        sent += static_cast<std::size_t>(written);
    }
    return read_reply();
}

void RealConnection::fill() {
    buffer_.erase(0, position_);
    position_ = 0;
    char chunk[16384];
    ssize_t received = 0;
    do {  // a wait that has a limit ends when the process is continued after a stop
        received = ::recv(descriptor_, chunk, sizeof chunk, 0);
    } while (received < 0 && errno == EINTR);
    if (received <= 0) throw std::runtime_error(received == 0 ? "redis-server hung up" : "redis-server does not answer");
    buffer_.append(chunk, static_cast<std::size_t>(received));
}

std::string RealConnection::read_line() {
    while (true) {
        const std::size_t end = buffer_.find("\r\n", position_);
        if (end != std::string::npos) {
            std::string line = buffer_.substr(position_, end - position_);
            position_ = end + 2;
            return line;
        }
        fill();
    }
}

std::string RealConnection::read_bytes(std::size_t count) {
    while (buffer_.size() - position_ < count) fill();
    std::string bytes = buffer_.substr(position_, count);
    position_ += count;
    return bytes;
}

RedisValue RealConnection::read_reply() {
    const std::string line = read_line();
    const std::string rest = line.substr(1);
    switch (line.front()) {
        case '+': return RedisValue::Status{rest};
        case '-': return RedisValue::Error{rest};
        case ':': return std::int64_t{std::stoll(rest)};
        case '$': {
            const long long length = std::stoll(rest);
            if (length < 0) return {};
            std::string bytes = read_bytes(static_cast<std::size_t>(length) + 2);
            bytes.resize(bytes.size() - 2);
            return bytes;
        }
        case '*': {
            const long long length = std::stoll(rest);
            if (length < 0) return {};
            RedisValue::Array elements;
            for (long long i = 0; i < length; ++i) elements.push_back(read_reply());
            return elements;
        }
        default: throw std::runtime_error("not a reply: " + line);
    }
}

}  // namespace lockstep::fakes::redis
