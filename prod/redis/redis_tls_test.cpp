// The binding over TLS, against a real redis-server that speaks nothing else.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <fstream>

#include "fakes/testing/server_lines.h"
#include "fakes/testing/server_process.h"
#include "prod/loop/test_wait.h"
#include "prod/redis/hiredis_client.h"
#include "prod/tls/test_authority.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;
using engine::RedisValue;
using fakes::testing::ServerProcess;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class RedisTlsTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!fakes::testing::find_program("redis-server")) GTEST_SKIP() << "redis-server is not installed";
    }
    [[nodiscard]] ServerProcess::CommandLine server_line(const char* auth_clients) const {
        return [this, auth_clients](int port, const std::filesystem::path& at) {
            auto line = fakes::testing::redis_server_line(port, at);
            line.insert(line.end(), {"--port", "0", "--tls-port", std::to_string(port), "--tls-cert-file",
                                     server_files.certificate, "--tls-key-file", server_files.key, "--tls-ca-cert-file",
                                     authority.certificate_file(), "--tls-auth-clients", auth_clients});
            return line;
        };
    }
    RedisValue ask(HiredisClient& client, engine::RedisCommand command) {
        auto outcome = carry_out(loop, client.command(std::move(command), loop.monotonic() + 5s));
        EXPECT_TRUE(outcome.applied()) << (outcome.applied() ? "" : outcome.failure().detail);
        return outcome.applied() ? outcome.value() : RedisValue();
    }
    std::string refused(const RedisAddress& address) {
        HiredisClient client(loop, address);
        std::string why;
        client.on_state([&why](bool connected, const std::string& said) { why = connected ? "connected" : said; });
        return loop.run_until([&] { return !why.empty(); }, 10s) ? why : "nothing is heard";
    }

    UvLoop loop;
    fakes::testing::TemporaryFolder folder;
    TestAuthority authority{folder.path()};
    TestAuthority::Files server_files = authority.sign("server");
    TlsOptions trusting{.ca_file = authority.certificate_file()};
};

TEST_F(RedisTlsTest, CarriesCommandsAndRepliesOfAnySize) {
    ServerProcess server(server_line("no"));
    HiredisClient client(loop, {.host = "localhost", .port = server.port(), .tls = trusting});
    const std::string much(5 << 20, 'x');
    EXPECT_EQ(ask(client, {"SET", "much", much}).status()->text, "OK");
    EXPECT_EQ(*ask(client, {"GET", "much"}).bulk(), much);
    server.kill();
    server.start();
    ASSERT_TRUE(loop.run_until([&] { return client.connections() == 2; }, 10s)) << client.last_error();
    EXPECT_TRUE(ask(client, {"GET", "much"}).is_nil());
}

TEST_F(RedisTlsTest, SaysWhyItDoesNotConnect) {
    ServerProcess server(server_line("yes"));
    RedisAddress address{.host = "127.0.0.1", .port = server.port(), .tls = trusting};
    EXPECT_THAT(refused(address), AnyOf(HasSubstr("certificate required"), HasSubstr("reset by peer")));
    address.tls->ca_file = TestAuthority(folder.path(), "other").certificate_file();
    EXPECT_THAT(refused(address), HasSubstr("its certificate is not accepted"));
    address.tls->ca_file = "/nowhere/ca.pem";
    EXPECT_THAT(refused(address), HasSubstr("/nowhere/ca.pem"));
    address.tls.reset();
    EXPECT_THAT(refused(address), AnyOf(HasSubstr("the server closed the connection"), HasSubstr("reset by peer")));
}

TEST_F(RedisTlsTest, ACertificateThatWasRenewedOnDiskCountsFromTheNextConnectionOn) {
    ServerProcess server(server_line("yes"));
    const std::string certificate = (folder.path() / "own.pem").string(),
                      key = (folder.path() / "own-key.pem").string();
    const auto put = [&](const TestAuthority::Files& files) {
        std::filesystem::copy_file(files.certificate, certificate, std::filesystem::copy_options::overwrite_existing);
        std::filesystem::copy_file(files.key, key, std::filesystem::copy_options::overwrite_existing);
    };
    put(TestAuthority(folder.path(), "other").sign("replica"));
    RedisAddress address{.host = "127.0.0.1", .port = server.port(), .tls = trusting};
    address.tls->certificate_file = certificate;
    address.tls->key_file = key;
    HiredisClient client(loop, address);
    bool refused = false;
    client.on_state([&refused](bool connected, const std::string&) { refused |= !connected; });
    ASSERT_TRUE(loop.run_until([&] { return refused; }, 10s));
    put(authority.sign("replica"));
    EXPECT_TRUE(loop.run_until([&] { return client.connected(); }, 10s)) << client.last_error();
}

}  // namespace
}  // namespace lockstep::prod
