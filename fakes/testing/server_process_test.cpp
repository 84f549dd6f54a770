#include "fakes/testing/server_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace lockstep::fakes::testing {
namespace {

std::optional<std::string> redis_server() { return find_program("redis-server"); }

ServerProcess::CommandLine redis_in_memory(const std::string& program) {
    return [program](int port, const std::filesystem::path& folder) {
        return std::vector<std::string>{program, "--port", std::to_string(port), "--bind", "127.0.0.1", "--save",
                                        "",      "--dir",  folder.string()};
    };
}

TEST(ServerProcess, AcceptsConnectionsOnceConstructedAndNoMoreWhenKilled) {
    const auto program = redis_server();
    if (!program) GTEST_SKIP() << "redis-server is not installed";
    ServerProcess server(redis_in_memory(*program));
    const int connection = connect_to_loopback(server.port());
    EXPECT_GE(connection, 0);
    ::close(connection);

    server.kill();
    EXPECT_FALSE(server.running());
    EXPECT_EQ(connect_to_loopback(server.port()), -1);
}

TEST(ServerProcess, StartsAgainOnTheSamePort) {
    const auto program = redis_server();
    if (!program) GTEST_SKIP() << "redis-server is not installed";
    ServerProcess server(redis_in_memory(*program));
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
