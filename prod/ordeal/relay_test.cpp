#include "prod/ordeal/relay.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace lockstep::prod::ordeal {
namespace {

/// A listener that a test answers by hand, the relay before it, and a client of the relay.
class RelayTest : public ::testing::Test {
protected:
    RelayTest() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int share = 1;
        ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &share, sizeof share);
        address.sin_port = htons(static_cast<std::uint16_t>(port_.number()));
        EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(listener_, 8), 0);
        relay_ = std::make_unique<Relay>(port_.number());
        client_ = fakes::testing::connect_to_loopback(relay_->port());
        server_ = ::accept(listener_, nullptr, nullptr);
    }
    ~RelayTest() override {
        ::close(client_);
        ::close(server_);
        relay_.reset();
        ::close(listener_);
    }

    static void say(int socket, const std::string& text) {
        EXPECT_EQ(::send(socket, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    }
    /// All until the end of the connection, or until there are so many bytes.
    static std::string hear(int socket, std::size_t most) {
        std::string heard;
        char byte = 0;
        while (heard.size() < most && ::recv(socket, &byte, 1, 0) == 1) heard += byte;
        return heard;
    }
    static bool silent(int socket) {
        pollfd watched{socket, POLLIN, 0};
        return ::poll(&watched, 1, 0) == 0;
    }

    fakes::testing::ReservedPort port_;
    int listener_;
    std::unique_ptr<Relay> relay_;
    int client_ = -1;
    int server_ = -1;
};

TEST_F(RelayTest, CarriesBothWays) {
    say(client_, "question");
    EXPECT_EQ(hear(server_, 8), "question");
    say(server_, "answer");
    EXPECT_EQ(hear(client_, 6), "answer");
}

TEST_F(RelayTest, IsCutBetweenTwoBytesOfAMessage) {
    relay_->cut_after(5, Relay::Direction::to_client);
    say(client_, "not counted");
    EXPECT_EQ(hear(server_, 11), "not counted");
    say(server_, "MSG sys.job.submit");
    EXPECT_EQ(hear(client_, 100), "MSG s");
    EXPECT_EQ(hear(server_, 1), "");
    EXPECT_FALSE(relay_->spare());
}

TEST_F(RelayTest, ACutThatIsTakenBackDoesNotHappen) {
    relay_->cut_after(5, Relay::Direction::to_client);
    EXPECT_TRUE(relay_->spare());
    say(server_, "MSG sys.job.submit");
    EXPECT_EQ(hear(client_, 18), "MSG sys.job.submit");
}

TEST_F(RelayTest, AStalledRelayCarriesLater) {
    relay_->stall();
    say(client_, "question");
    relay_->resume();
    EXPECT_EQ(hear(server_, 8), "question");
    EXPECT_TRUE(silent(server_));
}

TEST_F(RelayTest, MuchMoreThanABufferIsCarriedToASlowReader) {
    const std::string much(3'000'000, 'x');
    std::thread speaker([&] {
        std::size_t sent = 0;
        while (sent < much.size()) {
            const ssize_t now = ::send(client_, much.data() + sent, much.size() - sent, MSG_NOSIGNAL);
            ASSERT_GT(now, 0);
            sent += static_cast<std::size_t>(now);
        }
    });
    std::string heard;
    std::vector<char> bytes(100'000);
    while (heard.size() < much.size()) {
        const ssize_t got = ::recv(server_, bytes.data(), bytes.size(), 0);
        ASSERT_GT(got, 0);
        heard.append(bytes.data(), static_cast<std::size_t>(got));
    }
    speaker.join();
    EXPECT_EQ(heard, much);
}

}  // namespace
}  // namespace lockstep::prod::ordeal
