#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "engine/wire/messages.h"
#include "fakes/kernel/client.h"
#include "fakes/kernel/server.h"
#include "fakes/kernel/test_actor_world.h"
#include "fakes/policy/parse.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;

constexpr NodeId kKernelNode{1};
constexpr NodeId kScheduler{2};

policy::Evaluator kernel_rules() {
    auto document = policy::parse_document(nlohmann::json::parse(R"({"default_decision": "allow",
        "rules": [{"id": "no", "match": {"topics": ["job.no"]}, "decision": "deny", "reason": "never"}],
        "output_rules": [{"id": "q", "decision": "quarantine", "match": {"keywords": ["secret"]}}]})"));
    return policy::Evaluator(std::move(*document), "snap-1");
}

class SimulatedKernel : public ::testing::Test {
protected:
    using Answer = std::optional<tl::expected<cap::PolicyCheckResponse, engine::RpcFailure>>;

    Answer check(const char* topic, engine::Duration patience = 2s) {
        cap::PolicyCheckRequest request;
        request.set_job_id("j1");
        request.set_topic(topic);
        return world_.run(client_->check(std::move(request), world_.monotonic(kScheduler) + patience));
    }
    /// The decision's name, `status:<code>`, or `pending`.
    std::string verdict(const char* topic = "job.a", engine::Duration patience = 2s) {
        const Answer answer = check(topic, patience);
        if (!answer) return "pending";
        if (!*answer) return "status:" + std::to_string(answer->error().code);
        return std::string(policy::recorded_name((*answer)->decision()));
    }
    engine::Duration took(const std::function<void()>& action) {
        const auto start = world_.base.now();
        action();
        return world_.base.now() - start;
    }

    testing::ActorWorld world_;
    KernelServer server_{world_, kKernelNode, kernel_rules()};
    std::optional<KernelClient> client_{std::in_place, world_, kScheduler, kKernelNode, server_};
};

TEST_F(SimulatedKernel, AnswersByTheRulesAfterItsLatency) {
    verdict();  // connects
    EXPECT_EQ(took([&] { EXPECT_EQ(verdict("job.no"), "DENY"); }), 2ms + 200us);
    const Answer answer = check("job.no");
    EXPECT_EQ((*answer)->reason(), "never");
    EXPECT_EQ((*answer)->policy_snapshot(), "snap-1");
}

TEST_F(SimulatedKernel, TellsOfACheckThreeTimes) {
    verdict("job.no");
    const auto asked = world_.of(EventKind::kernel_check, When::before);
    const auto applied = world_.of(EventKind::kernel_check, When::applied);
    const auto answered = world_.of(EventKind::kernel_check, When::answered);
    ASSERT_EQ(asked.size(), 1u);
    ASSERT_EQ(applied.size(), 1u);
    ASSERT_EQ(answered.size(), 1u);
    EXPECT_EQ(asked[0].job, "j1");
    EXPECT_EQ(applied[0].node, kScheduler);
    EXPECT_EQ(applied[0].to, "DENY");
    EXPECT_EQ(answered[0].to, "DENY");
}

TEST_F(SimulatedKernel, ChecksOutputs) {
    cap_output::OutputCheckRequest request;
    request.set_job_id("j1");
    request.set_output_content("a secret");
    const auto answer = world_.run(client_->check_output(request, world_.monotonic(kScheduler) + 1s));
    ASSERT_TRUE(answer && *answer);
    EXPECT_EQ((*answer)->decision(), cap_output::OUTPUT_DECISION_QUARANTINE);
    EXPECT_EQ(world_.of(EventKind::output_check, When::answered).at(0).to, "QUARANTINE");
}

TEST_F(SimulatedKernel, AFaultAnswersWithItsStatusAndNothingIsApplied) {
    world_.base.fault.kernel.status = 13;
    EXPECT_EQ(verdict(), "status:13");
    EXPECT_TRUE(world_.of(EventKind::kernel_check, When::applied).empty());
    EXPECT_EQ(world_.of(EventKind::kernel_check, When::answered).at(0).to, "status:13");
}

TEST_F(SimulatedKernel, AFaultForcesADecision) {
    world_.base.fault.kernel.decision = "throttle";
    EXPECT_EQ(verdict(), "THROTTLE");
    world_.base.fault.kernel.decision = "unspecified";
    EXPECT_EQ(verdict(), "UNSPECIFIED");
}

TEST_F(SimulatedKernel, AForcedDecisionCountsWhereTheRulesHadDecidedOtherwise) {
    std::uint64_t effective = 0;
    world_.base.fault.kernel.forced = Effect(effective);
    world_.base.fault.kernel.decision = "allow";
    EXPECT_EQ(verdict(), "ALLOW");
    EXPECT_EQ(effective, 0U);
    world_.base.fault.kernel.decision = "throttle";
    world_.base.fault.kernel.status = 13;
    EXPECT_EQ(verdict(), "status:13");
    EXPECT_EQ(effective, 0U) << "nobody has heard it";
    world_.base.fault.kernel.status = 0;
    EXPECT_EQ(verdict(), "THROTTLE");
    EXPECT_EQ(effective, 1U);
}

TEST_F(SimulatedKernel, AnOutageRunsIntoTheDeadline) {
    world_.base.fault.kernel.no_answer = true;
    EXPECT_EQ(took([&] { EXPECT_EQ(verdict(), "status:4"); }), 2s);
    world_.base.fault.kernel.no_answer = false;
    EXPECT_EQ(verdict(), "ALLOW");
}

TEST_F(SimulatedKernel, WithARateOneQuestionIsJudgedAfterTheOtherAndALargeOneTakesLonger) {
    constexpr NodeId kSlowNode{3};
    KernelServer slow{world_, kSlowNode, kernel_rules(), {.judging_rate = 1'000'000}};
    KernelClient client{world_, kScheduler, kSlowNode, slow};
    std::vector<engine::Duration> took;
    const auto ask = [&](std::size_t bytes) -> engine::Task<void> {
        const auto began = world_.base.now();
        cap::PolicyCheckRequest request;
        request.set_topic("job.a");
        request.set_input_content(std::string(bytes, 'x'));
        const auto answer = co_await client.check(std::move(request), world_.monotonic(kScheduler) + 5s);
        EXPECT_TRUE(answer);
        took.push_back(world_.base.now() - began);
    };
    engine::Scope scope(world_.executor());
    for (const std::size_t bytes : {10, 1'000'000, 10}) scope.spawn(ask(bytes));
    world_.run_for(5s);
    ASSERT_EQ(took.size(), 3u);
    EXPECT_LT(took[0], 5ms);
    EXPECT_GT(took[1], 1s);
    EXPECT_GT(took[2], took[1]) << "behind the large one";
    EXPECT_LT(took[2], took[1] + 1ms);
}

TEST_F(SimulatedKernel, ALateAnswerIsDropped) {
    world_.base.fault.kernel.latency = 3s;
    EXPECT_EQ(verdict(), "status:4");
    world_.run_for(5s);
    EXPECT_EQ(world_.of(EventKind::kernel_check, When::applied).size(), 1u);
    EXPECT_EQ(world_.of(EventKind::kernel_check, When::answered).size(), 1u);
}

TEST_F(SimulatedKernel, ARefusedConnectionFailsAtOnceAndBacksOff) {
    world_.base.node_down(kKernelNode);
    EXPECT_LT(took([&] { EXPECT_EQ(verdict(), "status:14"); }), 1ms);
    EXPECT_EQ(took([&] { EXPECT_EQ(verdict(), "status:14"); }), 0s);
    world_.base.node_up(kKernelNode);
    EXPECT_EQ(verdict(), "status:14");  // still backing off
    world_.run_for(1s);
    EXPECT_EQ(verdict(), "ALLOW");
}

TEST_F(SimulatedKernel, ABrokenConnectionFailsCallsInProgressAndIsMadeAgain) {
    verdict();
    world_.base.fault.kernel.latency = 1s;
    world_.base.after(kScheduler, 500ms, [&] { world_.base.break_connections(kScheduler, kKernelNode); });
    EXPECT_EQ(verdict(), "status:14");
    world_.base.fault.kernel.latency = {};
    EXPECT_EQ(verdict(), "ALLOW");
}

TEST_F(SimulatedKernel, ACrashOfTheKernelDropsWhatItWasDoing) {
    verdict();
    world_.base.fault.kernel.latency = 1s;
    world_.base.after(kScheduler, 500ms, [&] { world_.base.node_down(kKernelNode); });
    EXPECT_EQ(verdict(), "status:14");
    EXPECT_EQ(world_.of(EventKind::kernel_check, When::applied).size(), 1u);
}

TEST_F(SimulatedKernel, AConnectionThatHearsNothingIsGivenUpAndTriedAgainInTheBackground) {
    world_.base.partition(kScheduler, kKernelNode);
    EXPECT_EQ(verdict("job.a", 500ms), "status:4");
    EXPECT_EQ(took([&] { EXPECT_EQ(verdict(), "status:14"); }), 500ms);
    EXPECT_EQ(took([&] { EXPECT_EQ(verdict(), "status:14"); }), 0s);
    world_.base.heal();
    EXPECT_EQ(verdict(), "status:14");  // nobody has found out yet
    world_.run_for(3s);
    EXPECT_EQ(verdict(), "ALLOW");
}

TEST_F(SimulatedKernel, APartitionOfAConnectionThatIsThereRunsIntoTheDeadline) {
    verdict();
    world_.base.partition(kScheduler, kKernelNode);
    EXPECT_EQ(verdict(), "status:4");
    world_.base.heal();
    EXPECT_EQ(verdict(), "ALLOW");
}

TEST_F(SimulatedKernel, ARequestLongerThanGrpcTakesIsRefusedUnseen) {
    cap::PolicyCheckRequest request;
    request.set_topic("job.a");
    request.set_input_content(std::string(kRequestBytesMax, ' '));
    const auto answer = world_.run(client_->check(std::move(request), world_.monotonic(kScheduler) + 2s));
    ASSERT_TRUE(answer && !*answer);
    EXPECT_EQ(answer->error().code, kStatusResourceExhausted);
    EXPECT_TRUE(world_.of(EventKind::kernel_check, When::applied).empty());
}

TEST_F(SimulatedKernel, ACallAfterItsDeadlineIsNotMade) {
    EXPECT_EQ(verdict("job.a", 0s), "status:4");
    EXPECT_TRUE(world_.of(EventKind::kernel_check, When::applied).empty());
}

TEST_F(SimulatedKernel, ADeadNodeIsToldNothing) {
    world_.kill_when = [](const Event& event) { return event.when == When::before; };
    EXPECT_EQ(verdict(), "pending");
    EXPECT_TRUE(world_.of(EventKind::kernel_check, When::applied).empty());
    world_.kill_when = [](const Event& event) { return event.when == When::answered; };
    EXPECT_EQ(verdict(), "pending");
}

TEST_F(SimulatedKernel, TheClientMayGoAtAnyMoment) {
    // Destroys the calling coroutine and then the client after every span up to the length of a whole call.
    for (engine::Duration at{}; at < 4ms; at += 50us) {
        client_.emplace(world_, kScheduler, kKernelNode, server_);
        {
            engine::Scope scope(world_.executor());
            const auto ask = [](KernelClient& client, engine::MonoTime deadline) -> engine::Task<void> {
                const auto answer = co_await client.check({}, deadline);
                EXPECT_TRUE(answer.has_value());
            };
            scope.spawn(ask(*client_, world_.monotonic(kScheduler) + 1s));
            world_.run_for(at);
        }
        client_.reset();
        world_.run_for(5ms);
    }
}

TEST_F(SimulatedKernel, ListsItsSnapshotsNewestFirst) {
    server_.replace_policy({}, "snap-2");
    const auto snapshots = world_.run(client_->list_snapshots(world_.monotonic(kScheduler) + 1s));
    ASSERT_TRUE(snapshots && *snapshots);
    EXPECT_EQ(**snapshots, (std::vector<std::string>{"snap-2", "snap-1"}));
    EXPECT_EQ(verdict(), "DENY");  // the new policy is empty
}

}  // namespace
}  // namespace lockstep::fakes
