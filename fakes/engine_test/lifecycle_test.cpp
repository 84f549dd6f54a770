// Results, cancellations, time-outs, and a scheduler's own beginning and end.
#include <algorithm>

#include "engine/wire/packet.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

class Results : public SchedulerTest {
protected:
    void SetUp() override { start(); }
};

// OUT-01
TEST_F(Results, ASuccessEndsTheJobAndKeepsItsPointer) {
    run_job("j1");
    cap::JobResult success;
    success.set_job_id("j1");
    success.set_status(cap::JOB_STATUS_SUCCEEDED);
    success.set_worker_id("w1");
    success.set_result_ptr("redis://res:j1");
    EXPECT_TRUE(result(success)->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_EQ(field("j1", "result_ptr"), "redis://res:j1");
    EXPECT_EQ(field("j1", "worker_id"), "w1");
    EXPECT_TRUE(dead_letters().empty());
    EXPECT_FALSE(locked("j1"));
    EXPECT_EQ(metrics.value(Metric::jobs_completed, {"job.default", "JOB_STATUS_SUCCEEDED"}), 1);
}

// STATE-10
TEST_F(Results, TheFirstEndCounts) {
    run_job("j1");
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_TRUE(result("j1", cap::JOB_STATUS_FAILED)->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_TRUE(dead_letters().empty());
}

// OUT-03
TEST_F(Results, AFailureHasADeadLetterUnlessItMayBeRetried) {
    run_job("j1");
    run_job("j2");
    result("j1", cap::JOB_STATUS_FAILED_RETRYABLE);
    EXPECT_EQ(state("j1"), "FAILED");
    EXPECT_TRUE(dead_letters().empty());
    result("j2", cap::JOB_STATUS_FAILED, "permission_denied");
    EXPECT_EQ(state("j2"), "FAILED");
    EXPECT_EQ(dead_letter_code("j2"), "permission_denied");
    EXPECT_EQ(dead_letters().size(), 1u);
}

TEST_F(Results, AResultBeforeRunningWaitsForTheDispatchAndIsKept) {
    bus.latency = 1s;
    const Fate submission = submit("j1");
    const Fate early = result("j1", cap::JOB_STATUS_SUCCEEDED);
    loop.run_for(5s);
    EXPECT_TRUE(submission->acked());
    EXPECT_TRUE(early->acked());
    EXPECT_EQ(history("j1"), (Texts{"PENDING", "SCHEDULED", "DISPATCHED", "RUNNING", "SUCCEEDED"}));
}

// H-37, VALID-02, H-36
TEST_F(Results, WhatIsNoEndOfThisJobIsIgnored) {
    run_job("j1");
    EXPECT_TRUE(result("j1", cap::JOB_STATUS_RUNNING)->acked());
    cap::JobResult anonymous;
    anonymous.set_job_id("j1");
    anonymous.set_status(cap::JOB_STATUS_SUCCEEDED);
    EXPECT_TRUE(result(anonymous)->acked());
    EXPECT_TRUE(result("j1", cap::JOB_STATUS_DENIED)->acked()) << "no such transition, today or ever";
    EXPECT_TRUE(result("nobody", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(state("nobody"), "");
}

// C-46
TEST_F(Results, AStateThatCannotBeReadHandsTheResultBack) {
    run_job("j1");
    on_script(scripts.take_lock, [] { return CallFault::unknown; });
    const cap::JobResult success = result_of("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_TRUE(result(success, 50)->handed_back(1s));
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_FALSE(locked("j1"));
    on_script(scripts.take_lock, nullptr);
    EXPECT_TRUE(result(success, 50)->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
}

// H-08
TEST_F(Results, AFailureStoredWithoutAnAnswerKeepsItsDeadLetter) {
    run_job("j1");
    on_script(scripts.commit, [] { return CallFault::unknown; });
    EXPECT_TRUE(result("j1", cap::JOB_STATUS_FAILED)->handed_back(1s));
    on_script(scripts.commit, nullptr);
    EXPECT_EQ(state("j1"), "FAILED");
    EXPECT_TRUE(result("j1", cap::JOB_STATUS_FAILED)->acked());
    loop.run_for(90s);
    EXPECT_EQ(dead_letters().size(), 1u);
}

TEST_F(Results, ABusyLockHandsTheResultBack) {
    run_job("j1");
    run({"SET", "cordum:scheduler:job:j1", "somebody else"});
    const Fate fate = result("j1", cap::JOB_STATUS_SUCCEEDED);
    loop.run_for(3s);
    EXPECT_TRUE(fate->handed_back(500ms));
}

class Cancels : public SchedulerTest {
protected:
    void SetUp() override { start(); }
    void cancel(const std::string& job) {
        cap::JobCancel request;
        request.set_job_id(job);
        bus.tell("sys.job.cancel", engine::wire::make_packet(std::move(request), "", "gateway", clock.now()));
        loop.settle();
    }
};

// CANC-02
TEST_F(Cancels, ACancelMessageEndsARunningJob) {
    run_job("j1");
    cancel("j1");
    EXPECT_EQ(state("j1"), "CANCELLED");
    EXPECT_EQ(metrics.value(Metric::job_cancel_failures), 0);
    EXPECT_EQ(cancellations(), 0u) << "workers had the same message";
}

// Permissions are given by subject: whoever may say that it lives may not cancel, submit or report by saying so.
TEST_F(Cancels, APacketOnASubjectThatIsNotForItsKindChangesNothing) {
    run_job("j1");
    cap::JobCancel unwanted;
    unwanted.set_job_id("j1");
    const auto cancellation = engine::wire::make_packet(std::move(unwanted), "", "w1", clock.now());
    const auto submission = engine::wire::make_packet(request_for("j2"), "", "w1", clock.now());
    const auto report =
        engine::wire::make_packet(result_of("j1", cap::JOB_STATUS_SUCCEEDED), "", "api-gateway", clock.now());

    for (const char* subject : {"sys.heartbeat", "sys.handshake"}) bus.tell(subject, cancellation);
    std::vector<Fate> fates;
    std::uint64_t sequence = 100;
    const auto deliver = [&](const char* subject, const cap::BusPacket& packet) {
        fates.push_back(
            bus.deliver({.subject = subject, .payload = engine::wire::serialise(packet), .sequence = ++sequence}));
    };
    deliver("sys.job.submit", cancellation);
    deliver("sys.job.result", cancellation);
    deliver("sys.job.result", submission);
    deliver("sys.job.submit", report);
    loop.settle();

    for (const Fate& fate : fates) EXPECT_TRUE(fate->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(state("j2"), "");
    EXPECT_EQ(metrics.value(Metric::validation_rejections), 6);
}

// CANC-03
TEST_F(Cancels, ACancelThatCannotBeStoredIsCounted) {
    run_job("j1");
    on_script(scripts.cancel, [] { return CallFault::not_applied; });
    cancel("j1");
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(metrics.value(Metric::job_cancel_failures), 1);
}

// Whoever may publish on core NATS may publish as fast as he likes.
TEST_F(Cancels, AFloodIsWorkedOffAFewAtATimeAndCountedWhereItIsTooMuch) {
    run_job("j1");
    slow_redis.latency = 100ms;
    for (int i = 0; i < 11'000; ++i) {
        cap::JobCancel request;
        request.set_job_id("nobody-" + std::to_string(i));
        bus.tell("sys.job.cancel", engine::wire::make_packet(std::move(request), "", "gateway", clock.now()));
    }
    const std::size_t before = redis.commands();
    loop.run_for(100ms);
    EXPECT_EQ(redis.commands() - before, 32u);
    EXPECT_EQ(metrics.value(Metric::cancels_dropped), 11'000 - 10'000);
    EXPECT_EQ(log.times_reached("cancel_dropped"), 1);
    loop.run_for(60s);
    cancel("j1");
    loop.run_for(1s);
    EXPECT_EQ(state("j1"), "CANCELLED");
    EXPECT_EQ(metrics.value(Metric::cancels_dropped), 1'000);
}

TEST_F(Cancels, RepetitionsThatWaitAreOne) {
    run_job("j1");
    slow_redis.latency = 100ms;
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 50; ++i) {
            cap::JobCancel request;
            request.set_job_id(i == 49 ? "j1" : "nobody-" + std::to_string(i));
            bus.tell("sys.job.cancel", engine::wire::make_packet(std::move(request), "", "gateway", clock.now()));
        }
    }
    const std::size_t before = redis.commands();
    loop.run_for(1s);
    EXPECT_LE(redis.commands() - before, 100u);
    EXPECT_EQ(state("j1"), "CANCELLED");
}

class Reconciling : public SchedulerTest {
protected:
    void SetUp() override {
        tunables.dispatch_timeout = 1min;
        tunables.running_timeout = 1min;
        start();
    }
};

// RECON-01, RECON-03
TEST_F(Reconciling, AJobThatNobodyMovesEndsWithDeadLetterAndCancellation) {
    run_job("j1");
    submit("done");
    result("done", cap::JOB_STATUS_SUCCEEDED);
    loop.run_for(80s);
    heartbeat("w1");
    run_job("fresh");
    loop.run_for(20s);
    EXPECT_EQ(state("j1"), "TIMEOUT");
    EXPECT_EQ(field("j1", "failure_reason"), "timeout: RUNNING >1m");
    EXPECT_EQ(dead_letter_code("j1"), "timeout");
    EXPECT_EQ(state("fresh"), "RUNNING");
    EXPECT_EQ(state("done"), "SUCCEEDED");
    EXPECT_EQ(dead_letters().size(), 1u);
    EXPECT_EQ(cancellations(), 1u);
}

// D-13
TEST_F(Reconciling, MembersOfFinalIndexesWhoseJobsHaveExpiredAreRemovedSoManyAtATick) {
    tunables.reconciler_batch = 10;
    tunables.reconciler_max_iterations = 3;
    crash();
    start();
    for (int i = 0; i < 45; ++i)
        run({"ZADD", "job:index:succeeded", std::to_string(i + 1), "expired-" + std::to_string(i)});
    run({"ZADD", "job:index:denied", "1", "expired"});
    run({"RPUSH", "job:events:expired", "1|DENIED"});  // by a gateway, and no scheduler has moved the job
    submit("done");
    result("done", cap::JOB_STATUS_SUCCEEDED);
    loop.run_for(31s);
    EXPECT_EQ(*run({"ZCARD", "job:index:succeeded"}).integer(), 45 + 1 - 30);
    EXPECT_EQ(*run({"EXISTS", "job:index:denied", "job:events:expired"}).integer(), 0);
    loop.run_for(30s);
    EXPECT_EQ(*run({"ZCARD", "job:index:succeeded"}).integer(), 1);
    EXPECT_FALSE(run({"ZSCORE", "job:index:succeeded", "done"}).is_nil());
    EXPECT_EQ(metrics.value(Metric::index_members_pruned, {"SUCCEEDED"}), 45);
}

// One letter that nobody takes is one failure, however often it is tried.
TEST_F(Reconciling, ALetterInTheOutboxIsCountedOnce) {
    run_job("j1");
    bus.on_publish = [this](const auto& message) -> Outcome<PublishAck> {
        if (message.subject == "sys.job.dlq") return refused();
        return bus.store(message);
    };
    result("j1", cap::JOB_STATUS_FAILED, "broken");
    loop.run_for(5min);
    EXPECT_GE(log.times_reached("dead_letter_swept"), 3);
    EXPECT_EQ(metrics.value(Metric::dlq_emit_failures, {"job.default"}), 1);
    EXPECT_EQ(std::ranges::count(log.messages(), "dead letter not announced, will be tried again"), 1);
    bus.published.clear();
    bus.on_publish = nullptr;
    loop.run_for(60s);
    EXPECT_EQ(dead_letters().size(), 1u);
    EXPECT_EQ(*run({"ZCARD", "lockstep:dead_letter:outbox"}).integer(), 0);
}

// Each try takes all the time of a sweep.
TEST_F(Reconciling, ALetterThatNobodyTakesHidesNoneBehindIt) {
    const auto refuses = [this](std::string_view letters_of) {
        bus.on_publish = [this, letters_of](const auto& message) -> Outcome<PublishAck> {
            if (message.subject == "sys.job.dlq" && message.payload.find(letters_of) != std::string::npos)
                return refused();
            return bus.store(message);
        };
    };
    refuses("");
    for (const char* job : {"older", "younger"}) {
        run_job(job);
        result(job, cap::JOB_STATUS_FAILED, "broken");
        loop.run_for(1s);
    }
    refuses("older");
    bus.latency = tunables.publish_timeout;
    loop.run_for(3min);
    EXPECT_FALSE(run({"ZSCORE", "lockstep:dead_letter:outbox", "older"}).is_nil());
    EXPECT_TRUE(run({"ZSCORE", "lockstep:dead_letter:outbox", "younger"}).is_nil());
}

// RECON-04
TEST_F(Reconciling, APassedDeadlineEndsAJob) {
    auto request = request_for("j1");
    request.mutable_budget()->set_deadline_ms(20'000);
    submit(request);
    loop.run_for(35s);
    EXPECT_EQ(state("j1"), "TIMEOUT");
    EXPECT_EQ(field("j1", "failure_reason"), "timeout: deadline expired");
}

// RECON-02
TEST_F(Reconciling, ScheduledJobsAreLeftAloneUnlessALimitIsSet) {
    for (const Duration limit : {Duration{0s}, Duration{1min}}) {
        tunables.reconciler_scheduled_timeout = limit;
        scheduler.reset();
        run({"DEL", "cordum:reconciler:default"});
        start();
        bus.on_publish = [](const auto&) -> Outcome<PublishAck> { return not_connected(); };
        submit("j1");
        EXPECT_EQ(state("j1"), "SCHEDULED");
        loop.run_for(3min);
        EXPECT_EQ(state("j1"), limit > Duration{0} ? "TIMEOUT" : "SCHEDULED");
    }
}

TEST_F(Reconciling, ATimeOutThatFailsIsTriedAgainInTheSameTick) {
    run_job("j1");
    int calls = 0;
    on_script(scripts.time_out, [&calls] { return ++calls < 3 ? CallFault::not_applied : CallFault::none; });
    loop.run_for(91s);
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(state("j1"), "TIMEOUT");
}

TEST_F(Reconciling, OneReplicaTicksAndAnotherTakesOverWithinTwoIntervals) {
    run({"SET", "cordum:reconciler:default", "another replica", "PX", "50000"});
    run({"ZADD", "job:index:running", "5", "stray"});
    loop.run_for(45s);
    EXPECT_FALSE(run({"ZSCORE", "job:index:running", "stray"}).is_nil()) << "not its turn";
    loop.run_for(20s);
    EXPECT_TRUE(run({"ZSCORE", "job:index:running", "stray"}).is_nil());
    for (int i = 0; i < 6; ++i) {
        loop.run_for(25s);
        EXPECT_EQ(*run({"EXISTS", "cordum:reconciler:default"}).integer(), 1) << "kept";
    }
}

class Lifecycle : public SchedulerTest {};

TEST_F(Lifecycle, AStartThatFailsSaysWhyAndCanBeRepeated) {
    engine::SchedulerConfig config;
    config.pools = *engine::parse_pools(R"({"topics": {"job.default": "default"}})");
    engine::Scheduler stubborn(engine::Ports{loop, clock, entropy, redis, bus, kernel, metrics, log},
                               std::move(config));
    for (std::string* error : {&bus.stream_error, &bus.consumer_error}) {
        *error = "not there yet";
        const auto failed = loop.wait(stubborn.start());
        ASSERT_FALSE(failed);
        EXPECT_NE(failed.error().find("not there yet"), std::string::npos) << failed.error();
        error->clear();
    }
    ASSERT_TRUE(loop.wait(stubborn.start()));
    EXPECT_EQ(bus.listeners("sys.heartbeat"), 1u);
    EXPECT_EQ(std::ranges::count(bus.broadcast, std::string("sys.handshake"), &ScriptedBus::Published::subject), 1);
}

// STATE-16
TEST_F(Lifecycle, ADrainFinishesWhatIsAtWorkAndTakesNothingMore) {
    start();
    run_job("j1");
    bus.latency = 2s;
    const Fate at_work = submit("j2");
    EXPECT_EQ(scheduler->in_flight(), 1u);
    loop.wait(scheduler->drain());
    EXPECT_TRUE(at_work->acked());
    EXPECT_EQ(state("j2"), "RUNNING");
    EXPECT_EQ(scheduler->in_flight(), 0u);
    EXPECT_EQ(bus.listeners("sys.heartbeat"), 0u);
    scheduler.reset();
    EXPECT_TRUE(loop.idle());
}

// SAFE-12
TEST_F(Lifecycle, AJobWhosePolicyIsBeingAskedWhenItStopsIsHandedBack) {
    for (const auto decision : {cap::DECISION_TYPE_DENY, cap::DECISION_TYPE_ALLOW}) {
        start();
        kernel.latency = 1s;
        kernel.answer = [decision](const auto&) { return ScriptedKernel::says(decision); };
        const Fate fate = submit("j1");
        loop.wait(scheduler->drain());
        EXPECT_TRUE(fate->handed_back(Duration{0}));
        EXPECT_EQ(state("j1"), "PENDING");
        EXPECT_TRUE(dispatches().empty());
        EXPECT_FALSE(locked("j1"));
    }
}

TEST_F(Lifecycle, AHandlerThatDoesNotFinishIsStoppedAndItsLockReleased) {
    start();
    bus.latency = 1h;
    const Fate fate = submit("j1");
    const auto began = loop.monotonic();
    loop.wait(scheduler->drain());
    EXPECT_EQ(loop.monotonic() - began, 10s);
    EXPECT_TRUE(fate->handed_back(Duration{0}));
    EXPECT_FALSE(locked("j1"));
    EXPECT_EQ(state("j1"), "DISPATCHED") << "what it was about to learn nobody knows";
}

TEST_F(Lifecycle, ACrashSaysNothingToAnybodyAndLeavesItsLockToExpire) {
    start();
    bus.latency = 1h;
    const Fate fate = submit("j1");
    crash();
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::none);
    EXPECT_TRUE(fate->dropped);
    EXPECT_TRUE(locked("j1"));
    EXPECT_TRUE(loop.idle()) << "nothing of it is left in the loop";
    loop.run_for(61s);
    EXPECT_FALSE(locked("j1"));
}

// ROUTE-10
TEST_F(Lifecycle, EachReplicaHearsEveryWorker) {
    boot();
    for (const char* subject : {"sys.heartbeat", "sys.handshake"}) {
        EXPECT_EQ(bus.listeners(subject), 1u);
        EXPECT_EQ(bus.queue_groups.at(subject), "") << subject;
    }
    EXPECT_NE(bus.queue_groups.at("sys.job.cancel"), "") << "a cancellation is one replica's business";
}

// STALE-03
TEST_F(Lifecycle, SilentWorkersAreForgotten) {
    start();
    EXPECT_EQ(scheduler->workers().size(), 1u);
    loop.run_for(61s);
    EXPECT_EQ(scheduler->workers().size(), 0u);
    EXPECT_EQ(submit("j1")->answer, DeliveryFate::Answer::nak);
}

// D-35
class Deployments : public SchedulerTest {
protected:
    static constexpr const char* kKey = "lockstep:deployment";
    [[nodiscard]] std::string in_redis() { return std::string(run({"GET", kKey}).text()); }
    engine::ConsumerState& submissions() { return bus.consumer_states["dur_cordum-scheduler__sys_job_submit"]; }
    engine::ConsumerState& results() { return bus.consumer_states["dur_cordum-scheduler__sys_job_result"]; }
    /// Why a scheduler does not start; empty: it does.
    std::string refusal() {
        scheduler = make_scheduler();
        const auto started = loop.wait(scheduler->start());
        return started ? std::string{} : started.error();
    }
};

TEST_F(Deployments, TheFirstStartMakesAnIdForRedisAndBothDurables) {
    boot();
    EXPECT_NE(in_redis(), "");
    EXPECT_EQ(submissions().deployment, in_redis());
    EXPECT_EQ(results().deployment, in_redis());
    const std::string made = in_redis();
    crash();
    boot();
    EXPECT_EQ(in_redis(), made);
}

TEST_F(Deployments, DurablesThatNameNoneAreAdopted) {
    submissions() = {};
    run({"SET", kKey, "mine"});  // also what a crash between the two writes leaves
    boot();
    EXPECT_EQ(submissions().deployment, "mine");
}

TEST_F(Deployments, ARedisWithoutAnIdBesideADurableWithOneIsRefused) {
    results().deployment = "lost";
    const std::string why = refusal();
    EXPECT_NE(why.find("belongs to deployment lost"), std::string::npos) << why;
    EXPECT_NE(why.find("lockstepctl consumers adopt"), std::string::npos) << why;
    EXPECT_EQ(in_redis(), "") << "a start that is refused writes nothing";
    run({"SET", kKey, "lost"});  // as the command does
    EXPECT_EQ(refusal(), "");
}

TEST_F(Deployments, DurablesOfAnotherDeploymentAreRefused) {
    run({"SET", kKey, "mine"});
    submissions().deployment = "theirs";
    EXPECT_NE(refusal().find("deployment theirs"), std::string::npos);
}

TEST_F(Deployments, AReplicaThatStartsBesideTheFirstOneTakesItsId) {
    // The other one writes Redis and the durable after this one has found Redis without an id.
    on_command("GET", kKey, [this, reads = 0]() mutable {
        if (++reads == 1)
            submissions().deployment = "first";
        else
            redis.run({"SET", kKey, "first"});
        return CallFault::none;
    });
    EXPECT_EQ(refusal(), "");
    EXPECT_EQ(results().deployment, "first");
}

TEST_F(Deployments, ARunningReplicaWritesAnIdThatWasEvictedAgain) {
    boot();
    const std::string made = in_redis();
    run({"DEL", kKey});
    loop.run_for(11s);
    EXPECT_EQ(in_redis(), made);
    EXPECT_TRUE(log.told("Redis has lost the deployment's id; it is written again", "id", made));
    run({"SET", kKey, "another"});
    loop.run_for(31s);
    EXPECT_EQ(in_redis(), "another") << "it is only logged, and once";
    EXPECT_EQ(std::ranges::count_if(
                  log.messages(),
                  [](const std::string& one) { return one.starts_with("Redis holds another deployment's id"); }),
              1);
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
