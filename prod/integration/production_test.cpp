// A deployment in production mode: TLS to everybody, who have all to show who they are.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "fakes/testing/server_lines.h"
#include "prod/integration/deployment_fixture.h"
#include "prod/tls/test_authority.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;
using fakes::testing::ServerProcess;

class ProductionTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Deployment::possible()) GTEST_SKIP() << "redis-server or nats-server is not installed";
        redis = std::make_unique<ServerProcess>([this](int port, const std::filesystem::path& at) {
            auto line = fakes::testing::redis_server_line(port, at, fakes::testing::AppendOnly::always);
            line.insert(line.end(), {"--port", "0", "--tls-port", std::to_string(port), "--tls-cert-file",
                                     server.certificate, "--tls-key-file", server.key, "--tls-ca-cert-file",
                                     authority.certificate_file(), "--tls-auth-clients", "yes"});
            return line;
        });
        world = std::make_unique<Deployment>(Durability::none, [this](int port, const std::filesystem::path& at) {
            // As an operator would: what it needs to know from the environment of the server.
            for (const char* role : {"SCHEDULER", "GATEWAY", "WORKFLOW_ENGINE", "W1", "W2", "OBSERVER", "NOBODY"})
                ::setenv((std::string("NATS_PASSWORD_") + role).c_str(), "a-secret", 1);
            ::setenv("NATS_SERVER_TLS_CERT", server.certificate.c_str(), 1);
            ::setenv("NATS_SERVER_TLS_KEY", server.key.c_str(), 1);
            ::setenv("NATS_SERVER_TLS_CA", authority.certificate_file().c_str(), 1);
            auto line = fakes::testing::nats_server_line(port, at);
            line.insert(line.end(), {"-c", LOCKSTEP_DEPLOY_FOLDER "/nats-server-production.conf"});
            return line;
        });
        world->stop_kernel();
        std::ofstream(folder.path() / "nats-password") << "a-secret\n";
        const Program::Environment secure{{"CORDUM_ENV", "production"},
                                          {"REDIS_URL", "rediss://127.0.0.1:" + std::to_string(redis->port())},
                                          {"REDIS_TLS_CA", authority.certificate_file()},
                                          {"REDIS_TLS_CERT", own.certificate},
                                          {"REDIS_TLS_KEY", own.key},
                                          {"NATS_URL", "tls://127.0.0.1:" + std::to_string(world->nats().port())},
                                          {"NATS_TLS_CA", authority.certificate_file()},
                                          {"NATS_TLS_CERT", own.certificate},
                                          {"NATS_TLS_KEY", own.key},
                                          {"NATS_TLS_SERVER_NAME", "localhost"},
                                          {"NATS_USERNAME", "gateway"},  // lockstepctl is one
                                          {"NATS_PASSWORD_FILE", folder.path() / "nats-password"},
                                          {"SAFETY_KERNEL_TLS_CA", authority.certificate_file()},
                                          {"SAFETY_KERNEL_TLS_CERT", own.certificate},
                                          {"SAFETY_KERNEL_TLS_KEY", own.key}};
        for (const auto& [name, value] : secure) world->environment[name] = value;
        kernel = std::make_unique<Program>(
            world->launch("lockstep-kernel",
                          {"--listen", world->environment.at("SAFETY_KERNEL_ADDR"), "--tls-cert", server.certificate,
                           "--tls-key", server.key, "--tls-client-ca", authority.certificate_file()}));
        ASSERT_TRUE(kernel->says("with TLS")) << kernel->output();
    }
    void TearDown() override {
        if (world && HasFailure()) std::fputs(world->logs().c_str(), stderr);
    }

    fakes::testing::TemporaryFolder folder;
    TestAuthority authority{folder.path()};
    TestAuthority::Files server = authority.sign("server");
    TestAuthority::Files own = authority.sign("replica");
    std::unique_ptr<ServerProcess> redis;
    std::unique_ptr<Deployment> world;
    std::unique_ptr<Program> kernel;
};

TEST_F(ProductionTest, JobsRunWhereEverybodyHasToShowWhoTheyAre) {
    world->add_scheduler({{"NATS_USERNAME", "scheduler"}});
    world->add_scheduler({{"NATS_USERNAME", "scheduler"}});
    world->add_worker("w1", {"--service-time", "5ms"}, {{"NATS_USERNAME", "w1"}});
    for (int i = 0; i < 20; ++i)
        ASSERT_EQ(world->ctl({"submit", "--topic", "job.default", "--id", "j" + std::to_string(i)}).exit_code, 0);
    redis->kill();
    redis->start();
    ASSERT_TRUE(world->all_end(20, 60s));
    EXPECT_EQ(world->states()["SUCCEEDED"], 20);
    for (const auto& [job, count] : world->executions()) EXPECT_EQ(count, 1) << job;
    EXPECT_EQ(world->logs().find("a-secret"), std::string::npos);  // O2
}

TEST_F(ProductionTest, AFileThatCannotBeUsedIsNamedBeforeAnythingStarts) {
    for (const char* variable : {"REDIS_TLS_CA", "NATS_TLS_CA", "SAFETY_KERNEL_TLS_KEY", "NATS_CREDS"}) {
        Program check = world->launch("lockstepd", {"--check"}, {{variable, "/nowhere/at-all.pem"}});
        EXPECT_EQ(check.wait(20s).value_or(-1), 2) << variable;
        const std::string prefix = std::string(variable).substr(0, 9);
        EXPECT_NE(check.output().find(prefix), std::string::npos) << check.output();
    }
}

}  // namespace
}  // namespace lockstep::prod::testing
