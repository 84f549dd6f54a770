#include "fakes/testing/server_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "fakes/testing/server_lines.h"

namespace lockstep::fakes::testing {
namespace {

bool installed() { return find_program("redis-server").has_value(); }

std::vector<std::string> redis_in_memory(int port, const std::filesystem::path& folder) {
    return redis_server_line(port, folder);
}

TEST(ServerProcess, AcceptsConnectionsOnceConstructedAndNoMoreWhenKilled) {
    if (!installed()) GTEST_SKIP() << "redis-server is not installed";
    ServerProcess server(redis_in_memory);
    const int connection = connect_to_loopback(server.port());
    EXPECT_GE(connection, 0);
    ::close(connection);

    server.kill();
    EXPECT_FALSE(server.running());
    EXPECT_EQ(connect_to_loopback(server.port()), -1);
}

TEST(ServerProcess, StartsAgainOnTheSamePort) {
    if (!installed()) GTEST_SKIP() << "redis-server is not installed";
    ServerProcess server(redis_in_memory);
    const int port = server.port();
    server.stop();
    server.start();
    EXPECT_EQ(server.port(), port);
    EXPECT_TRUE(server.running());
}

TEST(ServerProcess, RemovesItsFolder) {
    std::filesystem::path folder;
    {
        const TemporaryFolder temporary;
        folder = temporary.path();
        EXPECT_TRUE(std::filesystem::exists(folder));
    }
    EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(ServerProcess, ReportsAServerThatDoesNotStart) {
    const auto broken = [](int, const std::filesystem::path&) {
        return std::vector<std::string>{"/bin/sh", "-c", "echo no such option; exit 3"};
    };
    try {
        const ServerProcess server(broken);
        FAIL() << "constructed";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("no such option"), std::string::npos);
    }
}

}  // namespace
}  // namespace lockstep::fakes::testing
