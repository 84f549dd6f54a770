#include "prod/integration/nats_peer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "fakes/testing/server_process.h"

namespace lockstep::prod::testing {

NatsPeer::NatsPeer(int port, const std::string& user, const std::string& password)
    : socket_(fakes::testing::connect_to_loopback(port)) {
    if (socket_ < 0) throw std::runtime_error("nobody listens on port " + std::to_string(port));
    nlohmann::json options{{"verbose", false}, {"pedantic", false}};
    if (!user.empty()) options.update({{"user", user}, {"pass", password}});
    say("CONNECT " + options.dump() + "\r\n");
    settle();
}

NatsPeer::~NatsPeer() { ::close(socket_); }

void NatsPeer::publish(std::string_view subject, std::string_view payload, std::string_view reply) {
    std::string text = "PUB " + std::string(subject) + " ";
    if (!reply.empty()) text += std::string(reply) + " ";
    text += std::to_string(payload.size()) + "\r\n";
    say(text.append(payload).append("\r\n"));
}

void NatsPeer::subscribe(std::string_view subject, std::string_view queue) {
    say("SUB " + std::string(subject) + " " + std::string(queue) + " " + std::to_string(++subscriptions_) + "\r\n");
}

void NatsPeer::settle() {
    say("PING\r\n");
    while (true) {
        const std::string said = line();
        if (said.starts_with("PONG")) return;
        if (said.starts_with("PING")) say("PONG\r\n");
        if (said.starts_with("-ERR")) refusals_.push_back(said);
        if (!said.starts_with("MSG ")) continue;
        const std::size_t size = std::stoul(said.substr(said.rfind(' ') + 1));
        received_.push_back(bytes(size));
        bytes(2);
    }
}

void NatsPeer::say(std::string_view text) {
    while (!text.empty()) {
        const auto sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) throw std::runtime_error("nats-server hung up");
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
}

std::string NatsPeer::line() {
    std::string heard;
    while (!heard.ends_with("\r\n")) heard += bytes(1);
    heard.resize(heard.size() - 2);
    return heard;
}

std::string NatsPeer::bytes(std::size_t count) {
    std::string heard(count, '\0');
    for (std::size_t have = 0; have < count;) {
        const auto got = ::recv(socket_, heard.data() + have, count - have, 0);
        if (got <= 0) throw std::runtime_error("nats-server hung up");
        have += static_cast<std::size_t>(got);
    }
    return heard;
}

}  // namespace lockstep::prod::testing
