// C14 and O5: what a kernel tells whoever asks how it is.
#include "prod/kernel/kernel_probe.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>

#include "fakes/policy/parse.h"
#include "fakes/testing/server_process.h"
#include "prod/kernel/kernel_service.h"
#include "prod/kernel/test_silent_server.h"
#include "prod/tls/test_authority.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;

LoadedPolicy policy_named(std::string snapshot) {
    auto document = fakes::policy::parse_document(nlohmann::json::parse(R"({"default_decision":"allow"})"));
    return {std::move(*document), std::move(snapshot)};
}

std::string on_loopback(int port) { return "127.0.0.1:" + std::to_string(port); }

TEST(KernelProbe, TellsThatItServesAndWhichPolicyIsInForce) {
    KernelServer server("127.0.0.1:0", policy_named("old"));
    server.replace(policy_named("new"));
    const auto facts = ask_kernel({.address = on_loopback(server.port())}, 5s);
    ASSERT_TRUE(facts.serving && facts.policies);
    EXPECT_TRUE(*facts.serving);
    EXPECT_EQ(*facts.policies, (std::vector<std::string>{"new", "old"}));
}

TEST(KernelProbe, ShowsItsCertificateAndIsRefusedWithoutOne) {
    const fakes::testing::TemporaryFolder folder;
    TestAuthority authority{folder.path()};
    const auto files = authority.sign("kernel");
    const auto own = authority.sign("doctor");
    const KernelServer server("127.0.0.1:0", policy_named("p"),
                              KernelCertificates{files.certificate, files.key, authority.certificate_file()});
    TlsOptions tls{.ca_file = authority.certificate_file()};
    const auto refused = ask_kernel({.address = on_loopback(server.port()), .tls = tls}, 5s);
    ASSERT_FALSE(refused.serving || refused.policies);
    EXPECT_EQ(refused.serving.error().code, grpc::StatusCode::UNAVAILABLE);
    tls.certificate_file = own.certificate;
    tls.key_file = own.key;
    EXPECT_TRUE(ask_kernel({.address = on_loopback(server.port()), .tls = tls}, 5s).serving);
}

TEST(KernelProbe, TellsNobodyFromSomebodyWhoKeepsSilent) {
    std::string nobody;
    {
        const fakes::testing::ReservedPort port;
        nobody = on_loopback(port.number());
    }
    const auto away = ask_kernel({.address = nobody}, 5s);
    ASSERT_FALSE(away.serving || away.policies);
    EXPECT_EQ(away.serving.error().code, grpc::StatusCode::UNAVAILABLE);
    const SilentServer silent;
    const auto mute = ask_kernel({.address = on_loopback(silent.port())}, 100ms);
    ASSERT_FALSE(mute.serving || mute.policies);
    EXPECT_EQ(mute.policies.error().code, grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST(KernelProbe, AnswersNoReflection) {
    const KernelServer server("127.0.0.1:0", policy_named("p"));
    grpc::GenericStub stub(kernel_channel({.address = on_loopback(server.port())}));
    grpc::ClientContext context;
    const grpc::Slice nothing("");
    const grpc::ByteBuffer question(&nothing, 1);
    grpc::ByteBuffer answer;
    std::promise<grpc::StatusCode> told;
    stub.UnaryCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", {}, &question, &answer,
                   [&](grpc::Status status) { told.set_value(status.error_code()); });
    EXPECT_EQ(told.get_future().get(), grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace lockstep::prod
