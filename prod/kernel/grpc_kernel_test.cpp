// The contract of the kernel port, held by the binding against the reference kernel and against servers that misbehave.
#include "prod/kernel/grpc_kernel.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/runtime/scope.h"
#include "engine/wire/messages.h"
#include "fakes/policy/parse.h"
#include "prod/kernel/kernel_service.h"
#include "prod/kernel/test_silent_server.h"
#include "prod/loop/test_wait.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;

LoadedPolicy policy(const char* text, std::string snapshot) {
    auto document = fakes::policy::parse_document(nlohmann::json::parse(text));
    EXPECT_TRUE(document);
    return {std::move(*document), std::move(snapshot)};
}

constexpr const char* kAllowEtl = R"({"default_decision":"deny","rules":[
  {"id":"etl","decision":"allow","match":{"topics":["job.etl"]}}],
  "output_rules":[{"id":"no-keys","decision":"quarantine","match":{"keywords":["AKIA"]}}]})";

class GrpcKernelTest : public testing::Test {
protected:
    template <class T>
    T wait(engine::Task<T> task) {
        return carry_out(loop, std::move(task));
    }
    [[nodiscard]] engine::MonoTime in(engine::Duration delay) const { return loop.monotonic() + delay; }
    static std::string at(int port) { return "127.0.0.1:" + std::to_string(port); }
    static cap::PolicyCheckRequest request(const char* topic) {
        cap::PolicyCheckRequest made;
        made.set_job_id("J");
        made.set_topic(topic);
        return made;
    }

    UvLoop loop;
};

TEST_F(GrpcKernelTest, BringsTheDecisionOfTheKernel) {
    const KernelServer server("127.0.0.1:0", policy(kAllowEtl, "v1"));
    GrpcKernel kernel(loop, {.address = at(server.port())});
    const auto allowed = wait(kernel.check(request("job.etl"), in(5s)));
    ASSERT_TRUE(allowed) << allowed.error().message;
    EXPECT_EQ(allowed->decision(), cap::DECISION_TYPE_ALLOW);
    EXPECT_EQ(allowed->policy_snapshot(), "v1");
    EXPECT_EQ(wait(kernel.check(request("job.other"), in(5s)))->decision(), cap::DECISION_TYPE_DENY);

    cap_output::OutputCheckRequest output;
    output.set_topic("job.etl");
    output.set_output_content("AKIA...");
    const auto checked = wait(kernel.check_output(output, in(5s)));
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->decision(), cap_output::OUTPUT_DECISION_QUARANTINE);
}

TEST_F(GrpcKernelTest, ManyCallsAtOnceGetTheirOwnAnswers) {
    const KernelServer server("127.0.0.1:0", policy(kAllowEtl, "v1"));
    GrpcKernel kernel(loop, {.address = at(server.port())});
    using Answer = tl::expected<cap::PolicyCheckResponse, engine::RpcFailure>;
    std::vector<std::optional<Answer>> slots(200);
    engine::Scope scope(loop);
    for (std::size_t i = 0; i < slots.size(); ++i)
        scope.spawn(keep(kernel.check(request(i % 2 == 0 ? "job.etl" : "job.other"), in(10s)), slots[i]));
    ASSERT_TRUE(loop.run_until([&] { return scope.empty(); }, 20s));
    for (std::size_t i = 0; i < slots.size(); ++i)
        EXPECT_EQ((*slots[i])->decision(), i % 2 == 0 ? cap::DECISION_TYPE_ALLOW : cap::DECISION_TYPE_DENY);
}

TEST_F(GrpcKernelTest, ASilentKernelRunsIntoTheDeadline) {
    const SilentServer silent;
    GrpcKernel kernel(loop, {.address = at(silent.port())});
    const auto start = loop.monotonic();
    const auto answer = wait(kernel.check(request("job.etl"), in(200ms)));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, 4);
    EXPECT_LT(loop.monotonic() - start, 2s);
}

TEST_F(GrpcKernelTest, AKernelThatIsNotThereIsUnavailableAndFoundWhenItComes) {
    auto server = std::make_unique<KernelServer>("127.0.0.1:0", policy(kAllowEtl, "v1"));
    const int port = server->port();
    server.reset();
    GrpcKernel kernel(loop, {.address = at(port)});
    const auto answer = wait(kernel.check(request("job.etl"), in(5s)));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, 14);
    server = std::make_unique<KernelServer>(at(port), policy(kAllowEtl, "v2"));
    const auto limit = in(10s);
    bool found = false;
    while (!found && loop.monotonic() < limit) {
        found = wait(kernel.check(request("job.etl"), in(1s))).has_value();
        loop.run_until([] { return false; }, 50ms);
    }
    EXPECT_TRUE(found);
}

TEST_F(GrpcKernelTest, AnAbandonedCallHarmsNobody) {
    const SilentServer silent;
    {
        GrpcKernel kernel(loop, {.address = at(silent.port())});
        std::optional<tl::expected<cap::PolicyCheckResponse, engine::RpcFailure>> slot;
        engine::Scope scope(loop);
        scope.spawn(keep(kernel.check(request("job.etl"), in(60s)), slot));
        loop.run_until([] { return false; }, 50ms);
        scope.cancel();
    }
    loop.run_until([] { return false; }, 50ms);
}

TEST_F(GrpcKernelTest, ServesAReplacedPolicy) {
    KernelServer server("127.0.0.1:0", policy(kAllowEtl, "v1"));
    GrpcKernel kernel(loop, {.address = at(server.port())});
    EXPECT_EQ(wait(kernel.check(request("job.etl"), in(5s)))->decision(), cap::DECISION_TYPE_ALLOW);
    server.replace(policy(R"({"default_decision":"deny"})", "v2"));
    const auto after = wait(kernel.check(request("job.etl"), in(5s)));
    EXPECT_EQ(after->decision(), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(after->policy_snapshot(), "v2");
}

}  // namespace
}  // namespace lockstep::prod
