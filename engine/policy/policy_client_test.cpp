#include "engine/policy/policy_client.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/routing/backoff.h"
#include "engine/testing/recorders.h"
#include "engine/testing/scripted_kernel.h"
#include "engine/testing/scripted_redis.h"

namespace lockstep::engine {
namespace {

using engine::testing::ScriptedKernel;
using engine::testing::ScriptedRedis;

class PolicyClientTest : public ::testing::Test {
protected:
    PolicyClientTest() {
        request.set_job_id("j1");
        request.set_topic("job.default");
        redis.answer = [this](const auto&) { return ScriptedRedis::reply(input); };
    }
    SafetyDecision check() { return loop.wait(client.check(request, CircuitGlimpse{})); }

    Tunables tunables;
    engine::testing::VirtualLoop loop;
    engine::testing::VirtualClock clock{loop};
    ScriptedRedis redis{clock};
    ScriptedKernel kernel{clock};
    engine::testing::LogRecorder log;
    StoreScripts scripts;
    Mechanisms mechanisms;
    LargeContent room;
    PolicyClient client{kernel, redis, clock, log, room, tunables, scripts, mechanisms};
    cap::JobRequest request;
    RedisValue input;
};

TEST_F(PolicyClientTest, TheQuestionCarriesWhatTheJobIs) {
    request.set_tenant_id(" acme ");
    request.set_principal_id("alice");
    request.set_memory_id("m1");
    request.set_priority(cap::JOB_PRIORITY_CRITICAL);
    (*request.mutable_labels())["k"] = "v";
    (*request.mutable_env())["CORDUM_EFFECTIVE_CONFIG"] = "{\"a\":1}";
    request.mutable_budget()->set_deadline_ms(5);
    request.mutable_meta()->set_capability("ocr");
    EXPECT_EQ(check().decision, Decision::allow);
    const auto& question = kernel.questions.at(0);
    EXPECT_EQ(question.job_id(), "j1");
    EXPECT_EQ(question.topic(), "job.default");
    EXPECT_EQ(question.tenant(), "acme");
    EXPECT_EQ(question.principal_id(), "alice");
    EXPECT_EQ(question.memory_id(), "m1");
    EXPECT_EQ(question.priority(), cap::JOB_PRIORITY_CRITICAL);
    EXPECT_EQ(question.labels().at("k"), "v");
    EXPECT_EQ(question.effective_config(), "{\"a\":1}");
    EXPECT_EQ(question.budget().deadline_ms(), 5);
    EXPECT_EQ(question.meta().capability(), "ocr");
    EXPECT_TRUE(redis.calls().empty()) << "no context pointer, nothing to load";
}

// SAFE-11
TEST_F(PolicyClientTest, TheJobsInputGoesWithTheQuestion) {
    request.set_context_ptr(" redis://ctx:j1 ");
    (*request.mutable_labels())["content_type"] = "text/plain";
    input = std::string("\0bytes", 6);
    check();
    EXPECT_EQ(redis.calls().at(0), (RedisCommand{"GETRANGE", "ctx:j1", "0", "65535"}));
    EXPECT_EQ(kernel.questions.at(0).input_content(), std::string("\0bytes", 6));
    EXPECT_EQ(kernel.questions.at(0).input_size_bytes(), 6);
    EXPECT_EQ(kernel.questions.at(0).input_content_type(), "text/plain");
}

TEST_F(PolicyClientTest, OfALongInputOnlyWhatIsShownIsReadAndItsSizeIsTold) {
    request.set_context_ptr("ctx:j1");
    redis.answer = [](const std::vector<RedisCommand>& commands) {
        const RedisCommand& command = commands.front();
        return command.front() == "STRLEN" ? ScriptedRedis::reply(std::int64_t{300'000'000})
                                           : ScriptedRedis::reply(std::string(std::stoul(command.at(3)) + 1, 'x'));
    };
    EXPECT_EQ(check().input, InputSeen::yes);
    EXPECT_EQ(kernel.questions.at(0).input_content().size(), 2'097'152u);
    EXPECT_EQ(kernel.questions.at(0).input_size_bytes(), 300'000'000);
    const std::vector<RedisCommand> calls{
        {"GETRANGE", "ctx:j1", "0", "65535"}, {"GETRANGE", "ctx:j1", "0", "2097151"}, {"STRLEN", "ctx:j1"}};
    EXPECT_EQ(redis.calls(), calls) << "no more is read than is shown";
}

TEST_F(PolicyClientTest, OfOneTenantsLargeInputsAFewAreJudgedAtOnceAndOthersAreNotHeldUp) {
    kernel.latency = std::chrono::seconds{1};
    redis.answer = [](const auto&) { return ScriptedRedis::reply(std::string(70'000, 'x')); };
    request.set_context_ptr("ctx:j1");
    request.set_tenant_id("hostile");
    std::vector<cap::JobRequest> requests(60, request);
    requests.push_back(request);
    requests.back().set_tenant_id("honest");
    int judged = 0, crowded_out = 0;
    Scope tasks(loop);
    const auto ask = [&](const cap::JobRequest& one) -> Task<void> {
        const SafetyDecision decision = co_await client.check(one, CircuitGlimpse{});
        ++(decision.crowded_out ? crowded_out : judged);
    };
    for (const cap::JobRequest& one : requests) tasks.spawn(ask(one));
    loop.settle();
    ASSERT_EQ(kernel.questions.size(), 3u) << "two of one tenant, and the other's at once";
    EXPECT_EQ(kernel.questions.back().tenant(), "honest");
    EXPECT_EQ(crowded_out, 26) << "behind 32 that stand";
    loop.run_for(std::chrono::seconds{1});
    EXPECT_EQ(kernel.questions.size(), 5u) << "the next two";
    loop.run_for(std::chrono::seconds{10});
    EXPECT_EQ(kernel.questions.size(), 11u);
    EXPECT_EQ(judged, 11);
    EXPECT_EQ(crowded_out, 50) << "what has stood for five seconds";
}

TEST_F(PolicyClientTest, ManyLargeInputsAreJudgedInAboutTheTimeThatTheyTakeAndTheOldestFirst) {
    kernel.latency = 1s;
    redis.answer = [](const auto&) { return ScriptedRedis::reply(std::string(70'000, 'x')); };
    request.set_context_ptr("ctx:j1");
    engine::testing::SeededEntropy entropy;
    std::vector<Duration> judged;  // when, by those that came first
    Scope tasks(loop);
    const MonoTime began = loop.monotonic();
    const auto be_judged = [&](bool first) -> Task<void> {
        const MonoTime came = loop.monotonic();
        while (true) {
            const WallTime since{came.time_since_epoch()};
            const SafetyDecision decision = co_await client.check(request, CircuitGlimpse{}, since);
            if (!decision.crowded_out) break;
            co_await clock.sleep(delay_without_room(loop.monotonic() - came, tunables, entropy));
        }
        if (first) judged.push_back(loop.monotonic() - began);
    };
    for (int i = 0; i < 200; ++i) tasks.spawn(be_judged(true));
    for (int i = 0; i < 60; ++i) {
        loop.run_for(1s);
        for (int more = 0; more < 2; ++more) tasks.spawn(be_judged(false));
    }
    loop.run_for(10min);
    ASSERT_EQ(judged.size(), 200u);
    EXPECT_EQ(kernel.questions.size(), 320u);
    EXPECT_LE(judged.back(), 100s + tunables.backoff_max + 5s)
        << "two at a time, beside others that come at the same rate";
}

// D-09: policy is asked all the same, for a denial needs no content.
TEST_F(PolicyClientTest, AMissingOrUnreadableInputIsLeftOutAndSaidToBe) {
    request.set_context_ptr("redis://ctx:j1");
    (*request.mutable_labels())["content_type"] = "text/plain";
    const std::vector<std::pair<ScriptedRedis::Replies, InputSeen>> cases{
        {ScriptedRedis::reply(RedisValue()), InputSeen::missing},
        {ScriptedRedis::reply(std::string()), InputSeen::missing},
        {ScriptedRedis::reply(RedisValue::Error{"WRONGTYPE Operation against a key"}), InputSeen::missing},
        {ScriptedRedis::reply(RedisValue::Error{"NOPERM this user has no permissions"}), InputSeen::missing},
        {ScriptedRedis::reply(RedisValue::Error{"LOADING Redis is loading"}), InputSeen::unread},
        {ScriptedRedis::not_applied(), InputSeen::unread},
        {ScriptedRedis::unknown(), InputSeen::unread}};
    for (const auto& [reply, seen] : cases) {
        redis.answer = [&reply](const auto&) { return reply; };
        const SafetyDecision decision = check();
        EXPECT_EQ(decision.decision, Decision::allow);
        EXPECT_EQ(decision.input, seen);
        EXPECT_EQ(kernel.questions.back().input_size_bytes(), 0);
        EXPECT_TRUE(kernel.questions.back().input_content_type().empty());
    }
}

// D-09 (1)
TEST_F(PolicyClientTest, WhatLiesElsewhereIsNotLookedFor) {
    for (const char* pointer : {"s3://bucket/input", "https://example.org/x", "rediss://ctx:j1", " redis:// ", "  "}) {
        request.set_context_ptr(pointer);
        EXPECT_EQ(check().input, InputSeen::yes) << pointer;
        EXPECT_TRUE(redis.calls().empty()) << pointer;
    }
    request.set_context_ptr("ctx:j1");
    input = std::string("x");
    check();
    EXPECT_EQ(redis.calls().at(0), (RedisCommand{"GETRANGE", "ctx:j1", "0", "65535"}));
}

TEST_F(PolicyClientTest, NoAnswerIsUnavailableWithTheReason) {
    kernel.answer = [](const auto&) { return ScriptedKernel::unreachable(); };
    const auto decision = check();
    EXPECT_EQ(decision.decision, Decision::unavailable);
    EXPECT_EQ(decision.reason, "safety kernel error: connection refused");
}

// A store that is slow is no kernel that fails: the call has two seconds of its own.
TEST_F(PolicyClientTest, TheInputTakesNothingFromTheTimeOfTheAnswer) {
    request.set_context_ptr("redis://ctx:j1");
    input = std::string("x");
    redis.latency = 900ms;
    kernel.latency = 1900ms;
    EXPECT_EQ(check().decision, Decision::allow);
}

// H-21
TEST_F(PolicyClientTest, AFailureIsRecordedWithTimeOfItsOwn) {
    redis.latency = 1500ms;
    kernel.latency = 2100ms;
    const MonoTime asked = loop.monotonic();
    EXPECT_EQ(check().decision, Decision::unavailable);
    EXPECT_EQ(loop.monotonic() - asked, 2s + redis.latency);
}

}  // namespace
}  // namespace lockstep::engine
