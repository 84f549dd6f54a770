// The dispatch protocol, branch by branch: what is published when, and what the job's record says afterwards.
#include "engine/wire/packet.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

class Dispatch : public SchedulerTest {
protected:
    void SetUp() override { start(); }

    /// The first sending comes to `first`; later ones are stored.
    void first_publish(Outcome<PublishAck> first, bool store_it) {
        bus.on_publish = [this, first = std::move(first), store_it,
                          sendings = 0](const ScriptedBus::Published& message) mutable -> Outcome<PublishAck> {
            if (!message.subject.starts_with("worker.") || ++sendings > 1) return bus.store(message);
            if (store_it) bus.store(message);
            return first;
        };
    }
    /// To the same server process.
    void reconnect() { ++bus.state.id; }
    /// Another process answers from now on.
    void restart_server() {
        ++bus.state.id;
        bus.state.server += "'";
    }
};

// STATE-01, SAFE-01, DISP-01, DISP-02, DISP-06
TEST_F(Dispatch, AnAllowedJobGoesToAWorkerOnceAndRuns) {
    bus.on_publish = [this](const ScriptedBus::Published& message) -> Outcome<PublishAck> {
        EXPECT_EQ(state("j1"), "DISPATCHED") << "recorded before the message goes out";
        return bus.store(message);
    };
    EXPECT_TRUE(submit("j1")->acked());
    ASSERT_EQ(dispatches().size(), 1u);
    EXPECT_EQ(dispatches()[0].subject, "worker.w1.jobs");
    EXPECT_EQ(dispatches()[0].message_id, "jobreq:j1:1");
    const auto packet = engine::wire::decode(dispatches()[0].payload);
    EXPECT_EQ(packet->job_request().job_id(), "j1");
    EXPECT_EQ(packet->trace_id(), "trace-1");
    EXPECT_EQ(history("j1"), (Texts{"PENDING", "SCHEDULED", "DISPATCHED", "RUNNING"}));
    EXPECT_EQ(field("j1", "attempts"), "1");
    EXPECT_EQ(field("j1", "ls_published"), "1");
    EXPECT_EQ(field("j1", "safety_decision"), "ALLOW");
    EXPECT_FALSE(locked("j1"));
    EXPECT_TRUE(result("j1", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_EQ(metrics.value(Metric::jobs_dispatched, {"job.default"}), 1);
}

// O13
TEST_F(Dispatch, AJobCountsAsNewOnceHoweverOftenItIsTried) {
    kernel.answer = [](const auto&) { return ScriptedKernel::unreachable(); };
    const Fate first = submit("j1");
    loop.run_for(first->nak_delay + 1s);
    submit("j1");
    EXPECT_EQ(metrics.value(Metric::jobs_received, {"job.default"}), 2);
    EXPECT_EQ(metrics.value(Metric::jobs_first_received, {"job.default"}), 1);
    kernel.answer = [](const auto&) { return ScriptedKernel::says(cap::DECISION_TYPE_ALLOW); };
    loop.run_for(1min);
    heartbeat("w1", 100);  // full
    submit("j2");
    loop.run_for(1min);
    submit("j2");
    EXPECT_EQ(metrics.value(Metric::jobs_first_received, {"job.default"}), 2);
    // A gateway has recorded it, and no scheduler has seen it.
    run({"HSET", "job:meta:j3", "state", "PENDING", "attempts", "0"});
    submit("j3");
    EXPECT_EQ(metrics.value(Metric::jobs_first_received, {"job.default"}), 3);
}

// DISP-05
TEST_F(Dispatch, AJobOfTheOneIdleWorkerSucceedsWithinTwoSeconds) {
    heartbeat("w1", 5);
    heartbeat("wd");
    const engine::MonoTime submitted = loop.monotonic();
    submit("j1");
    ASSERT_EQ(dispatches().size(), 1u);
    EXPECT_EQ(dispatches()[0].subject, "worker.wd.jobs");
    cap::JobResult done = result_of("j1", cap::JOB_STATUS_SUCCEEDED);
    done.set_worker_id("wd");
    result(done);
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_LE(loop.monotonic() - submitted, 2s);
}

TEST_F(Dispatch, FieldsOfLaterProtocolVersionsReachTheWorker) {
    auto request = request_for("j1");
    request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(999, "later");
    (*request.mutable_labels())["cordum.bus_msg_id"] = "approval:j1";
    submit(request);
    const auto packet = engine::wire::decode(dispatches().at(0).payload);
    EXPECT_EQ(packet->job_request().GetReflection()->GetUnknownFields(packet->job_request()).field_count(), 1);
    EXPECT_EQ(packet->job_request().labels_size(), 0) << "the message id label is stripped";
    EXPECT_EQ(dispatches()[0].message_id, "jobreq:j1:1");
}

// DISP-03
TEST_F(Dispatch, AMessageThatNeverLeftIsTakenBackAndTriedAgain) {
    first_publish(not_connected(), false);
    const Fate fate = submit("j1");
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::nak);
    EXPECT_GE(fate->nak_delay, 1s);
    EXPECT_LT(fate->nak_delay, 1500ms);
    EXPECT_EQ(history("j1"), (Texts{"PENDING", "SCHEDULED", "DISPATCHED", "SCHEDULED"}));
    EXPECT_EQ(field("j1", "attempts"), "1") << "taking back is no further try";
    EXPECT_EQ(field("j1", "ls_worker"), "");
    EXPECT_FALSE(locked("j1"));
    EXPECT_EQ(metrics.value(Metric::dispatch_rollback, {"job.default"}), 1);
    loop.run_for(fate->nak_delay);
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(dispatches().at(1).message_id, "jobreq:j1:2") << "another dispatch has another number";
}

TEST_F(Dispatch, ALostAcknowledgementIsFoundInTheStream) {
    first_publish(lost(), true);
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(log.times_reached("publish_found_in_stream"), 1);
    EXPECT_EQ(metrics.value(Metric::publish_unknown, {"job.default"}), 1);
}

TEST_F(Dispatch, AnotherJobsMessageToTheSameWorkerIsNotTakenForIt) {
    bus.store({.subject = "worker.w1.jobs", .payload = "", .message_id = "jobreq:j0:1", .when = {}});
    first_publish(lost(), true);
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
}

TEST_F(Dispatch, AMessageThatIsStoredLateIsFoundLate) {
    first_publish(lost(), false);
    const Fate fate = submit("j1");
    loop.run_for(3s);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::none);
    EXPECT_TRUE(locked("j1"));
    bus.store(dispatches().at(0));
    loop.run_for(2s);
    EXPECT_TRUE(fate->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(dispatches().size(), 1u);
}

// The same message, once more, and only after two looks a settling time apart on a connection that is not the carrier's.
TEST_F(Dispatch, OnANewConnectionAMissingMessageIsSentAgainOnce) {
    first_publish(lost(), false);
    const Fate fate = submit("j1");
    loop.run_for(10s);
    EXPECT_EQ(dispatches().size(), 1u) << "the carrier still lives";
    reconnect();
    loop.run_for(3999ms);
    EXPECT_EQ(dispatches().size(), 1u) << "one look is not enough";
    loop.run_for(1ms);
    ASSERT_EQ(dispatches().size(), 2u);
    EXPECT_TRUE(fate->acked());
    EXPECT_EQ(dispatches()[1].message_id, "jobreq:j1:1");
    EXPECT_EQ(dispatches()[1].payload, dispatches()[0].payload);
    EXPECT_GE(dispatches()[1].when - dispatches()[0].when, 12s);
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(history("j1"), (Texts{"PENDING", "SCHEDULED", "DISPATCHED", "RUNNING"}));
}

// A worker may have had it before the power failed, and the stream knows nothing of it any more (D-15).
TEST_F(Dispatch, AfterARestartOfTheServerNothingIsSentAgainAndTheJobIsLetGo) {
    first_publish(lost(), false);
    const Fate fate = submit("j1");
    restart_server();
    loop.run_for(10s);
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::none) << "this server did not deliver it";
    EXPECT_EQ(state("j1"), "DISPATCHED");
    EXPECT_FALSE(locked("j1")) << "a worker that has it can report";
    EXPECT_EQ(log.times_reached("publish_left_unsent"), 1);
    loop.run_for(4min);
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_TRUE(result("j1", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
}

TEST_F(Dispatch, AResultOfTheJobEndsTheSearchForItsDispatch) {
    first_publish(lost(), false);
    submit("j1");
    loop.run_for(6s);
    EXPECT_TRUE(locked("j1"));
    const Fate reported = result("j1", cap::JOB_STATUS_SUCCEEDED);
    loop.run_for(4s);
    EXPECT_TRUE(reported->acked());
    EXPECT_EQ(log.times_reached("publish_reported_on"), 1);
    EXPECT_FALSE(locked("j1"));
    EXPECT_TRUE(result("j1", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_EQ(dispatches().size(), 1u);
}

TEST_F(Dispatch, NothingIsSentAgainWhileItCannotBeReadWhetherAResultHasCome) {
    first_publish(lost(), false);
    submit("j1");
    reconnect();
    on_command("HGET", "job:meta:", [] { return CallFault::unknown; });
    loop.run_for(30s);
    EXPECT_EQ(dispatches().size(), 1u);
}

TEST_F(Dispatch, ARestartBetweenTwoLooksBringsTheProofToNothing) {
    first_publish(lost(), false);
    submit("j1");
    loop.run_for(1s);
    reconnect();
    loop.run_for(2s);  // the carrier's server has said no once
    restart_server();
    loop.run_for(30s);
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_EQ(state("j1"), "DISPATCHED");
}

TEST_F(Dispatch, AMessageThatOutlivedTheServerIsFoundByItsTime) {
    bus.on_publish = [this](const ScriptedBus::Published& message) -> Outcome<PublishAck> {
        bus.store(message);
        restart_server();
        return Unknown{{FailureCause::disconnected, "connection lost"}, bus.state.id - 1};
    };
    EXPECT_EQ(submit("j1")->answer, DeliveryFate::Answer::none) << "this server did not deliver it";
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(log.times_reached("stream_searched_by_time"), 1);
}

TEST_F(Dispatch, NothingIsSentAgainWhereNobodyKnowsWhoCarriedTheFirst) {
    bool first = true;
    bus.on_publish = [this, &first](const ScriptedBus::Published& message) -> Outcome<PublishAck> {
        if (!std::exchange(first, false)) return bus.store(message);
        // The connection was replaced under the hands of the sender.
        reconnect();
        return lost();
    };
    submit("j1");
    reconnect();
    loop.run_for(30s);
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_EQ(state("j1"), "DISPATCHED");
}

// What was known of the stream came from a process that is gone: without a number nothing proves that it was not sent.
TEST_F(Dispatch, NothingIsSentAgainByTheWordOfClocks) {
    int commits = 0;
    on_script(scripts.commit, [this, &commits] {
        if (++commits == 1) restart_server();
        return CallFault::none;
    });
    bus.on_publish = [this](const ScriptedBus::Published&) -> Outcome<PublishAck> { return lost(); };
    const Fate fate = submit("j1");
    reconnect();
    loop.run_for(30s);
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::none) << "this server did not deliver it";
    EXPECT_EQ(state("j1"), "DISPATCHED");
}

TEST_F(Dispatch, WhileDisconnectedNothingIsSentAgain) {
    first_publish(lost(), false);
    const Fate fate = submit("j1");
    bus.state = {.connected = false, .id = 2};
    loop.run_for(2min);
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::none) << "this server did not deliver it";
    EXPECT_EQ(state("j1"), "DISPATCHED");
}

TEST_F(Dispatch, ALookThatFailsIsNotAMiss) {
    first_publish(lost(), false);
    bus.on_read = [](const std::string&, engine::StreamSequence) -> Outcome<std::optional<StoredMessage>> {
        return Unknown{{FailureCause::timeout, "no answer"}, 0};
    };
    submit("j1");
    reconnect();
    loop.run_for(2min);
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_EQ(state("j1"), "DISPATCHED");
}

// Subscribers on core NATS see a message even when the stream refuses it.
TEST_F(Dispatch, AMessageThatTheStreamRefusedIsNeverSentAgainAndTheJobIsLetGo) {
    first_publish(refused(), false);
    const Fate fate = submit("j1");
    reconnect();
    EXPECT_TRUE(fate->acked());
    EXPECT_EQ(state("j1"), "DISPATCHED");
    EXPECT_FALSE(locked("j1")) << "the worker that saw it can report";
    loop.run_for(4min);
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_TRUE(result("j1", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
}

TEST_F(Dispatch, NothingIsSentAgainAfterAHundredSeconds) {
    first_publish(lost(), false);
    const Fate fate = submit("j1");
    loop.run_for(99s);
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::none);
    reconnect();
    loop.run_for(10s);
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_TRUE(fate->acked());
    EXPECT_EQ(state("j1"), "DISPATCHED");
    EXPECT_FALSE(locked("j1"));
}

// LOCK-10
TEST_F(Dispatch, WithItsLockLostAHandlerSendsNothingMoreAndHandsBack) {
    first_publish(lost(), false);
    const Fate fate = submit("j1");
    run({"SET", "cordum:scheduler:job:j1", "somebody else"});
    loop.run_for(21s);  // the renewal learns of it
    reconnect();
    loop.run_for(10s);
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_TRUE(fate->handed_back(500ms));
    EXPECT_EQ(state("j1"), "DISPATCHED");
    EXPECT_EQ(text({"GET", "cordum:scheduler:job:j1"}), "somebody else");
}

// S3, LOCK-10: policy took longer than the lock lived.
TEST_F(Dispatch, AHandlerWhoseLockIsLostDuringTheCheckCommitsNothing) {
    kernel.latency = 1s;
    const Fate fate = submit("j1");
    run({"SET", "cordum:scheduler:job:j1", "somebody else"});
    loop.run_for(2s);
    EXPECT_TRUE(fate->handed_back(500ms));
    EXPECT_EQ(history("j1"), Texts{"PENDING"});
    EXPECT_TRUE(dispatches().empty());
}

// H-04
TEST_F(Dispatch, ACommitWithoutAnAnswerIsReadBackAndGoesOnWhenItWasApplied) {
    int commits = 0;
    on_script(scripts.commit, [&commits] { return ++commits == 1 ? CallFault::unknown : CallFault::none; });
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_EQ(history("j1"), (Texts{"PENDING", "SCHEDULED", "DISPATCHED", "RUNNING"}));
    EXPECT_EQ(log.times_reached("dispatch_commit_unknown"), 1);
}

TEST_F(Dispatch, ACommitWhoseFateCannotBeReadIsHandedBackUnsent) {
    on_script(scripts.commit, [] { return CallFault::unknown; });
    EXPECT_TRUE(submit("j1")->handed_back(1s));
    EXPECT_TRUE(dispatches().empty());
    on_script(scripts.commit, nullptr);
    EXPECT_TRUE(submit("j1")->acked()) << "DISPATCHED, not in the stream: nobody may send it";
    EXPECT_TRUE(dispatches().empty());
    EXPECT_EQ(state("j1"), "DISPATCHED");
}

TEST_F(Dispatch, ACommitThatCertainlyDidNotHappenIsTriedAnew) {
    on_script(scripts.commit, [] { return CallFault::not_applied; });
    EXPECT_TRUE(submit("j1")->handed_back(1s));
    EXPECT_EQ(state("j1"), "PENDING");
    on_script(scripts.commit, nullptr);
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(dispatches().size(), 1u);
}

// H-17
TEST_F(Dispatch, AJobCancelledWhileItsMessageIsUnderWayIsCancelledAtTheWorkerToo) {
    bus.on_publish = [this](const ScriptedBus::Published& message) -> Outcome<PublishAck> {
        run({"HSET", "job:meta:j1", "state", "CANCELLED"});
        return bus.store(message);
    };
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "CANCELLED");
    EXPECT_EQ(cancellations(), 1u);
    EXPECT_EQ(log.times_reached("ended_while_dispatching"), 1);
}

// H-17: nobody after this handler would know that the worker has to be told.
TEST_F(Dispatch, ARefusalOfRunningThatWasNotHeardIsAskedForOnceMore) {
    int commits = 0;
    on_script(scripts.commit, [&commits] { return ++commits == 2 ? CallFault::unknown : CallFault::none; });
    bus.on_publish = [this](const ScriptedBus::Published& message) -> Outcome<PublishAck> {
        run({"HSET", "job:meta:j1", "state", "CANCELLED"});
        return bus.store(message);
    };
    submit("j1");
    EXPECT_EQ(cancellations(), 1u);
    EXPECT_EQ(state("j1"), "CANCELLED");
    EXPECT_FALSE(locked("j1"));
}

// A server that lost its power gives out again the numbers of what it had not synced.
TEST_F(Dispatch, AfterARestartOfTheServerTheEndOfTheStreamIsLearntAnewOnce) {
    submit("j1");
    EXPECT_EQ(field("j1", "ls_stream_server"), "server-1");
    reconnect();
    submit("j2");
    EXPECT_EQ(log.times_reached("stream_end_learnt_anew"), 0);
    restart_server();
    submit("j2b");
    submit("j3");
    EXPECT_EQ(log.times_reached("stream_end_learnt_anew"), 1);
    EXPECT_EQ(field("j3", "ls_stream_server"), "server-1'");
    EXPECT_EQ(dispatches().size(), 4u);
    bus.stream_error = "no stream";
    restart_server();
    EXPECT_TRUE(submit("j4")->handed_back(2s));
    EXPECT_EQ(state("j4"), "PENDING");
    EXPECT_EQ(dispatches().size(), 4u);
}

TEST_F(Dispatch, AJobCancelledDuringTheCheckIsNotSent) {
    kernel.answer = [this](const auto&) {
        run({"HSET", "job:meta:j1", "state", "CANCELLED"});
        return ScriptedKernel::says(cap::DECISION_TYPE_ALLOW);
    };
    EXPECT_TRUE(submit("j1")->handed_back(500ms));
    EXPECT_TRUE(dispatches().empty());
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_TRUE(dispatches().empty());
}

// H-03: crashes between the effects of a dispatch.
TEST_F(Dispatch, ACrashBeforeThePublishLeavesAJobThatIsNeverSentAndEndsVisibly) {
    bus.latency = 1s;  // the message is on its way, and the process dies
    bus.on_publish = [](const auto&) -> Outcome<PublishAck> { return not_connected(); };
    const Fate fate = submit("j1");
    EXPECT_EQ(state("j1"), "DISPATCHED");
    crash();
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::none);
    bus.latency = {};
    bus.on_publish = nullptr;
    bus.published.clear();
    loop.run_for(61s);  // its lock expires
    start();
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "DISPATCHED");
    loop.run_for(6min);
    EXPECT_EQ(state("j1"), "TIMEOUT");
    EXPECT_EQ(dead_letter_code("j1"), "timeout");
    EXPECT_EQ(dead_letters().size(), 1u);
    EXPECT_EQ(cancellations(), 1u);
    EXPECT_TRUE(dispatches().empty());
}

TEST_F(Dispatch, ACrashAfterThePublishIsMadeGoodFromTheStream) {
    bus.latency = 1s;
    submit("j1");
    bus.store(dispatches().at(0));
    crash();
    bus.latency = {};
    loop.run_for(61s);
    start();
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(dispatches().size(), 1u);
}

// Whoever recovers the job knows the time of its commit from Redis, and a number that means nothing to this server.
TEST_F(Dispatch, ACrashOfReplicaAndServerIsMadeGoodFromTheStream) {
    bus.latency = 1s;
    submit("j1");
    bus.store(dispatches().at(0));
    crash();
    bus.latency = {};
    run({"HSET", "job:meta:j1", "ls_stream_floor", "7000"});
    restart_server();
    loop.run_for(61s);
    start();
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(dispatches().size(), 1u);
}

// An older replica does not say whose number it is.
TEST_F(Dispatch, ANumberWithoutItsServerIsNotUsedToRecover) {
    bus.latency = 1s;
    submit("j1");
    bus.store(dispatches().at(0));
    crash();
    bus.latency = {};
    run({"HSET", "job:meta:j1", "ls_stream_floor", "7000"});
    run({"HDEL", "job:meta:j1", "ls_stream_server"});
    loop.run_for(61s);
    start();
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
}

TEST_F(Dispatch, ARecoveryThatCannotLookIntoTheStreamIsHandedBack) {
    bus.latency = 1s;
    submit("j1");
    bus.store(dispatches().at(0));
    crash();
    loop.run_for(61s);
    start();
    bus.on_read = [](const std::string&, engine::StreamSequence) -> Outcome<std::optional<StoredMessage>> {
        return not_connected();
    };
    EXPECT_TRUE(submit("j1")->handed_back(2s));
    EXPECT_EQ(state("j1"), "DISPATCHED");
    bus.on_read = nullptr;
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(dispatches().size(), 1u);
}

TEST_F(Dispatch, ARunningThatCouldNotBeStoredIsMadeGoodAtTheRedelivery) {
    int commits = 0;
    on_script(scripts.commit, [&commits] {
        const bool fails = ++commits == 2 || commits == 3;
        return fails ? CallFault::not_applied : CallFault::none;
    });
    EXPECT_TRUE(submit("j1")->handed_back(1s));
    EXPECT_EQ(state("j1"), "DISPATCHED");
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(dispatches().size(), 1u);
}

// H-25: jobs that are routed while commits are under way do not all find the same worker idle.
TEST_F(Dispatch, ABurstIsSpreadOverTheWorkers) {
    heartbeat("w2");
    slow_redis.latency = 1ms;
    for (int i = 0; i < 10; ++i) submit("j" + std::to_string(i));
    loop.run_for(1s);
    EXPECT_EQ(bus.published_on("worker.w1.jobs").size(), 5u);
    EXPECT_EQ(bus.published_on("worker.w2.jobs").size(), 5u);
}

TEST_F(Dispatch, ACommitThatFailsGivesTheWorkersPlaceBack) {
    on_script(scripts.commit, [] { return CallFault::not_applied; });
    for (int i = 0; i < 3; ++i) submit("j1");
    heartbeat("w2", 1);
    on_script(scripts.commit, nullptr);
    submit("j1");
    EXPECT_EQ(bus.published_on("worker.w1.jobs").size(), 1u);
}

// BACK-06, BACK-05, ROUTE-03
TEST_F(Dispatch, AJobWithoutWorkersBacksOffFiftyTimesAndFails) {
    auto request = request_for("j1");
    request.set_topic("job.unmapped");
    for (int tries = 0; tries < 50; ++tries) {
        const Fate fate = submit(request);
        ASSERT_EQ(fate->answer, DeliveryFate::Answer::nak);
        const Duration base = tries >= 5 ? Duration{29500ms} : Duration{1s * (1 << tries)};
        EXPECT_GE(fate->nak_delay, base);
        EXPECT_LE(fate->nak_delay, std::min<Duration>(base + 500ms, 30s));
        EXPECT_EQ(state("j1"), "PENDING");
        EXPECT_EQ(field("j1", "attempts"), std::to_string(tries + 1));
        loop.run_for(fate->nak_delay);
    }
    EXPECT_TRUE(bus.published.empty());
    EXPECT_TRUE(submit(request, 51)->acked());
    EXPECT_EQ(state("j1"), "FAILED");
    EXPECT_EQ(dead_letter_code("j1"), "max_scheduling_retries");
    EXPECT_NE(text({"GET", "dlq:entry:j1"}).find("not dispatched in 50 tries; the last one: no_pool_mapping: "),
              std::string::npos)
        << text({"GET", "dlq:entry:j1"});  // C-10b
    EXPECT_EQ(dead_letters().size(), 1u);
    EXPECT_TRUE(dispatches().empty());
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
