// The kernel port over TLS, and over several addresses, against the reference kernel.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

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

TEST_F(KernelTlsTest, GoesOnWithAnotherAddressWhenOneIsGone) {
    auto first = std::make_unique<KernelServer>("127.0.0.1:0", policy("first"));
    const KernelServer second("127.0.0.1:0", policy("second"));
    GrpcKernel kernel(loop, {.address = fmt::format("ipv4:{},{}", at(*first), at(second))});
    EXPECT_EQ(ask(kernel), "first");
    first.reset();
    const auto limit = loop.monotonic() + 10s;
    std::string answered;
    while (answered != "second" && loop.monotonic() < limit) answered = ask(kernel);
    EXPECT_EQ(answered, "second");
}

}  // namespace
}  // namespace lockstep::prod
