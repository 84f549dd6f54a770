// The kernel port over TLS, and over several addresses, against the reference kernel.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/wire/messages.h"
#include "fakes/policy/parse.h"
#include "fakes/testing/server_process.h"
#include "prod/kernel/grpc_kernel.h"
#include "prod/kernel/kernel_service.h"
#include "prod/loop/test_wait.h"
#include "prod/tls/test_authority.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;

class KernelTlsTest : public ::testing::Test {
protected:
    static LoadedPolicy policy(std::string snapshot) {
        auto document = fakes::policy::parse_document(nlohmann::json::parse(R"({"default_decision":"allow"})"));
        return {std::move(*document), std::move(snapshot)};
    }
    /// The name of the policy that answered, or why nobody did.
    std::string ask(GrpcKernel& kernel) {
        cordum::agent::v1::PolicyCheckRequest request;
        request.set_job_id("a");
        request.set_topic("job.default");
        const auto answer = carry_out(loop, kernel.check(std::move(request), loop.monotonic() + 5s));
        return answer ? answer->policy_snapshot() : fmt::format("status {}", answer.error().code);
    }
    std::string ask(const KernelOptions& options) {
        GrpcKernel kernel(loop, options);
        return ask(kernel);
    }
    /// Tries until it holds: gRPC's own threads connect and look at files when they do.
    bool eventually(const std::function<bool()>& holds) {
        const auto limit = loop.monotonic() + 15s;
        while (loop.monotonic() < limit) {
            if (holds()) return true;
            (void)loop.run_until([] { return false; }, 20ms);
        }
        return false;
    }
    static std::string at(const KernelServer& server) { return fmt::format("127.0.0.1:{}", server.port()); }

    UvLoop loop;
    fakes::testing::TemporaryFolder folder;
    TestAuthority authority{folder.path()};
    TestAuthority::Files server_files = authority.sign("kernel", "DNS:kernel.example,IP:127.0.0.1");
    TestAuthority::Files own = authority.sign("replica");
    TlsOptions trusting{.ca_file = authority.certificate_file()};
    const std::string unavailable = fmt::format("status {}", static_cast<int>(grpc::StatusCode::UNAVAILABLE));
};

TEST_F(KernelTlsTest, AsksOnlyWhomItsAuthorityNamesSo) {
    const KernelServer server("127.0.0.1:0", policy("p"),
                              KernelCertificates{server_files.certificate, server_files.key, ""});
    EXPECT_EQ(ask({.address = at(server), .tls = trusting}), "p");
    EXPECT_EQ(ask({.address = at(server)}), unavailable);
    const TestAuthority other(folder.path(), "other");
    EXPECT_EQ(ask({.address = at(server), .tls = TlsOptions{.ca_file = other.certificate_file()}}), unavailable);
    TlsOptions named = trusting;
    named.server_name = "kernel.example";
    EXPECT_EQ(ask({.address = at(server), .tls = named}), "p");
    named.server_name = "another.example";
    EXPECT_EQ(ask({.address = at(server), .tls = named}), unavailable);
}

TEST_F(KernelTlsTest, ShowsItsOwnCertificateToAKernelThatAsks) {
    const KernelServer server(
        "127.0.0.1:0", policy("p"),
        KernelCertificates{server_files.certificate, server_files.key, authority.certificate_file()});
    EXPECT_EQ(ask({.address = at(server), .tls = trusting}), unavailable);
    TlsOptions known = trusting;
    known.certificate_file = own.certificate;
    known.key_file = own.key;
    EXPECT_EQ(ask({.address = at(server), .tls = known}), "p");
}

// O5
TEST_F(KernelTlsTest, ShowsACertificateThatWasRenewedOnDiskWithoutARestart) {
    KernelCertificates watched{server_files.certificate, server_files.key, ""};
    watched.reread = 1s;
    const KernelServer server("127.0.0.1:0", policy("p"), watched);
    TlsOptions renewed = trusting;
    renewed.server_name = "renewed.example";
    EXPECT_EQ(ask({.address = at(server), .tls = renewed}), unavailable);
    static_cast<void>(authority.sign("kernel", "DNS:renewed.example"));
    EXPECT_TRUE(eventually([&] { return ask({.address = at(server), .tls = renewed}) == "p"; }));
}

// O5: one channel from before the renewal to after it; what it trusts and what it shows are both of another authority at first.
TEST_F(KernelTlsTest, CallsWithFilesThatWereRenewedOnDiskWithoutARestart) {
    const KernelServer server(
        "127.0.0.1:0", policy("p"),
        KernelCertificates{server_files.certificate, server_files.key, authority.certificate_file()});
    TestAuthority before(folder.path(), "renewed");
    const auto shown = before.sign("replica");
    KernelOptions options{.address = at(server),
                          .tls = TlsOptions{.ca_file = before.certificate_file(),
                                            .certificate_file = shown.certificate,
                                            .key_file = shown.key},
                          .certificates_reread = 1s};
    GrpcKernel kernel(loop, options);
    EXPECT_EQ(ask(kernel), unavailable);
    for (const auto& [from, to] : {std::pair{own.key, shown.key}, std::pair{own.certificate, shown.certificate},
                                   std::pair{authority.certificate_file(), before.certificate_file()}})
        std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
    EXPECT_TRUE(eventually([&] { return ask(kernel) == "p"; }));
}

TEST_F(KernelTlsTest, GoesOnWithAnotherAddressWhenOneIsGone) {
    auto first = std::make_unique<KernelServer>("127.0.0.1:0", policy("first"));
    const KernelServer second("127.0.0.1:0", policy("second"));
    GrpcKernel kernel(loop, {.address = fmt::format("ipv4:{},{}", at(*first), at(second))});
    EXPECT_EQ(ask(kernel), "first");
    first.reset();
    EXPECT_TRUE(eventually([&] { return ask(kernel) == "second"; }));
}

}  // namespace
}  // namespace lockstep::prod
