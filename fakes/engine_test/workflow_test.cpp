// Runs of workflows by a whole engine: what is committed, what is sent, and what a crash between the two leaves.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "engine/wire/json.h"
#include "engine/workflow/run_scripts.h"
#include "fakes/engine_test/workflow_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

json worker(json more = json::object()) {
    json step{{"type", "worker"}, {"topic", "job.default"}};
    step.update(more);
    return step;
}

class Workflows : public WorkflowTest {
protected:
    /// A change of a run: its key is the lock's, which ends in the run's id.
    [[nodiscard]] static bool is_commit(const RedisCommand& command) {
        const engine::RedisScript& script = engine::RunScripts::shared().commit_run;
        return command.size() > 3 && (command[1] == script.sha1() || command[1] == script.text());
    }
};

// H-11
TEST_F(Workflows, ARunGoesFromStepToStepAndLeavesNothingBehind) {
    put({{"a", worker()}, {"b", worker({{"depends_on", {"a"}}, {"input", {{"got", "${steps.a.output.n}"}}}})}});
    boot_engine();
    begin("run-1");
    EXPECT_THAT(submitted(), ElementsAre("run-1:a@1"));
    EXPECT_EQ(status("run-1"), "running");
    EXPECT_EQ(text({"GET", "ctx:run-1:a@1"}), "{}");
    EXPECT_TRUE(end_job("run-1:a@1", "SUCCEEDED", R"({"n":5})")->acked());
    EXPECT_THAT(submitted(), ElementsAre("run-1:a@1", "run-1:b@1"));
    EXPECT_EQ(text({"GET", "ctx:run-1:b@1"}), R"({"got":5})");
    EXPECT_TRUE(end_job("run-1:b@1")->acked());
    EXPECT_EQ(status("run-1"), "succeeded");
    EXPECT_EQ(text({"ZSCORE", "wf:runs:status:succeeded", "run-1"}).empty(), false);
    EXPECT_EQ(text({"ZSCORE", "wf:runs:status:running", "run-1"}), "");
    EXPECT_EQ(*run({"SCARD", "wf:runs:active:acme"}).integer(), 0);
    EXPECT_FALSE(exists("cordum:wf:run:lock:run-1"));
    EXPECT_FALSE(exists("lockstep:wf:outbox:run-1"));
    EXPECT_FALSE(exists("lockstep:wf:outbox"));
    EXPECT_FALSE(exists("lockstep:wf:asked"));
    EXPECT_FALSE(exists("lockstep:wf:open:run-1"));
    EXPECT_GT(*run({"LLEN", "wf:run:timeline:run-1"}).integer(), 4);
    EXPECT_EQ(engine_->in_flight(), 0u);
}

TEST_F(Workflows, ASubmissionIsAWholeJobRequestUnderItsOwnMessageId) {
    put({{"a", worker()}});
    boot_engine();
    begin("run-1");
    const auto messages = bus.published_on("sys.job.submit");
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].message_id, "jobreq:run-1:a@1");
    const auto packet = engine::wire::decode(messages[0].payload);
    EXPECT_EQ(packet->job_request().labels().at("run_id"), "run-1");
    EXPECT_EQ(packet->sender_id(), "workflow-engine");
}

// H-26
TEST_F(Workflows, WhatACrashLeftUnsentIsSentByTheNextReplicaUnderTheSameId) {
    put({{"a", worker()}});
    boot_engine();
    bus.on_publish = [](const ScriptedBus::Published&) -> Outcome<PublishAck> { return not_connected(); };
    begin("run-1");
    EXPECT_EQ(status("run-1", "a"), "running");
    EXPECT_TRUE(exists("lockstep:wf:outbox:run-1"));
    crash_engine();
    bus.published.clear();
    bus.on_publish = nullptr;
    boot_engine();
    loop.run_for(30s);
    EXPECT_THAT(submitted(), ElementsAre("run-1:a@1"));
    EXPECT_FALSE(exists("lockstep:wf:outbox:run-1"));
}

TEST_F(Workflows, APublishOfUnknownFateIsMadeAgainWithTheSameId) {
    put({{"a", worker()}});
    boot_engine();
    int calls = 0;
    bus.on_publish = [&](const ScriptedBus::Published& message) -> Outcome<PublishAck> {
        if (++calls == 1) return lost();
        return bus.store(message);
    };
    begin("run-1");
    loop.run_for(2s);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(bus.published[0].message_id, bus.published[1].message_id);
    EXPECT_EQ(run({"HGET", "wf:run:x", "y"}).is_nil(), true);
    EXPECT_EQ(document("run-1").at("steps").at("a").at("attempts"), 1);
}

// H-27
TEST_F(Workflows, AResultThatCouldNotBeAppliedComesAgain) {
    put({{"a", worker()}});
    boot_engine();
    begin("run-1");
    on_command("EVALSHA", "", [] { return CallFault::not_applied; });
    record_end("run-1:a@1", "SUCCEEDED");
    const Fate fate = result("run-1:a@1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_TRUE(fate->handed_back(1s));
    on_command("", "", nullptr);
    EXPECT_TRUE(result("run-1:a@1", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(status("run-1"), "succeeded");
}

// H-18
TEST_F(Workflows, ResultsCountAsTheSchedulerHasRecordedThem) {
    put({{"a", worker()}});
    boot_engine();
    begin("run-1");
    run({"HSET", "job:meta:run-1:a@1", "state", "RUNNING"});
    const Fate fate = result("run-1:a@1", cap::JOB_STATUS_SUCCEEDED);
    loop.run_for(3s);
    EXPECT_TRUE(fate->handed_back(500ms)) << "the scheduler has not judged it yet";
    EXPECT_EQ(status("run-1", "a"), "running");
    record_end("run-1:a@1", "OUTPUT_QUARANTINED");
    EXPECT_TRUE(result("run-1:a@1", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(status("run-1", "a"), "denied");
    EXPECT_EQ(status("run-1"), "denied");
}

TEST_F(Workflows, AnOutputThatIsStillToBeScannedIsWaitedFor) {
    put({{"a", worker()}, {"b", worker({{"depends_on", {"a"}}})}});
    boot_engine();
    begin("run-1");
    record_end("run-1:a@1", "SUCCEEDED");
    run({"ZADD", "lockstep:output:scan_pending", "1", "run-1:a@1"});
    EXPECT_TRUE(result("run-1:a@1", cap::JOB_STATUS_SUCCEEDED)->acked());
    loop.run_for(20s);
    EXPECT_EQ(status("run-1", "a"), "running");
    run({"ZREM", "lockstep:output:scan_pending", "run-1:a@1"});
    loop.run_for(10s);
    EXPECT_EQ(status("run-1", "a"), "succeeded") << "found by the reconciler";
}

TEST_F(Workflows, TheReconcilerFindsEndsThatNoMessageTellsOf) {
    put({{"a", worker()}, {"ask", {{"type", "approval"}}}});
    boot_engine();
    begin("run-1");
    EXPECT_EQ(status("run-1"), "waiting");
    record_end("run-1:a@1", "TIMEOUT");
    loop.run_for(6s);
    EXPECT_EQ(status("run-1", "a"), "timed_out") << "of a waiting run, too";
}

TEST_F(Workflows, ARunThatAGatewayHasStoredIsFound) {
    put({{"a", worker()}});
    boot_engine();
    store_run("run-1");
    loop.run_for(6s);
    EXPECT_THAT(submitted(), ElementsAre("run-1:a@1"));
}

// H-58
TEST_F(Workflows, AnOlderCopyWrittenOverARunIsNoticedAndItsEndedJobsAreTakenFromTheirRecords) {
    put({{"a", worker()}, {"b", worker({{"depends_on", {"a"}}})}});
    boot_engine();
    begin("run-1");
    const std::string older = text({"GET", "wf:run:run-1"});
    EXPECT_TRUE(end_job("run-1:a@1", "SUCCEEDED", R"({"n":5})")->acked());
    ASSERT_EQ(status("run-1", "b"), "running");
    run({"SET", "wf:run:run-1", older});
    ASSERT_EQ(status("run-1", "a"), "running");
    loop.run_for(20s);
    EXPECT_EQ(status("run-1", "a"), "succeeded");
    EXPECT_EQ(status("run-1", "b"), "running");
    EXPECT_TRUE(end_job("run-1:b@1")->acked());
    EXPECT_EQ(status("run-1"), "succeeded");
    EXPECT_FALSE(exists("lockstep:wf:open:run-1"));
}

// D-34: a gateway checks no id of a workflow.
TEST_F(Workflows, NoRunIsForgottenForOneWhoseWorkflowHasAColonInItsName) {
    boot_engine();
    store_run("c", json::object(), "a:b");
    wake("c");
    ASSERT_TRUE(exists("lockstep:wf:ended")) << "it has no definition";
    store_run("b:c", json::object(), "a");
    EXPECT_FALSE(run({"ZSCORE", "lockstep:wf:ended", "a%3Ab:c"}).is_nil());
    run({"ZADD", "lockstep:wf:ended", "1", "a%3Ab:c"});
    run({"ZADD", "lockstep:wf:ended", "1", "z:b:c"});  // of workflow z:b, by an older version
    loop.run_for(1min);
    EXPECT_FALSE(exists("wf:run:c"));
    EXPECT_TRUE(exists("wf:run:b:c")) << "another workflow's";
    EXPECT_FALSE(run({"ZSCORE", "wf:runs:a", "b:c"}).is_nil());
}

TEST_F(Workflows, ARunThatAGatewayTakesBackFromItsEndIsKeptUntilItEndsAgain) {
    put({{"a", worker()}});
    boot_engine();
    begin("run-1");
    const std::string older = text({"GET", "wf:run:run-1"});
    EXPECT_TRUE(end_job("run-1:a@1")->acked());
    ASSERT_EQ(status("run-1"), "succeeded");
    run({"SET", "wf:run:run-1", older});
    run({"ZREM", "wf:runs:status:succeeded", "run-1"});
    run({"ZADD", "wf:runs:status:running", "1", "run-1"});
    loop.run_for(6s);
    EXPECT_EQ(status("run-1", "a"), "running");
    EXPECT_FALSE(exists("lockstep:wf:ended")) << "it would be deleted while it is under way";
    EXPECT_EQ(*run({"PTTL", "lockstep:wf:def:run-1"}).integer(), -1);
    loop.run_for(20s);
    EXPECT_EQ(status("run-1"), "succeeded");
    EXPECT_TRUE(exists("lockstep:wf:ended"));
}

// H-58
TEST_F(Workflows, AnEndOfAStepThatSomebodyElseHasTakenBackIsNotForgotten) {
    put({{"a", worker()}});
    boot_engine();
    store_run("run-1");
    const std::string older = text({"GET", "wf:run:run-1"});
    wake("run-1");
    ASSERT_THAT(submitted(), ElementsAre("run-1:a@1"));
    run({"SET", "wf:run:run-1", older});
    EXPECT_TRUE(end_job("run-1:a@1")->acked());
    EXPECT_EQ(status("run-1", "a"), "running") << "with the same job, of which the scheduler will say nothing again";
    loop.run_for(20s);
    EXPECT_EQ(status("run-1"), "succeeded");
    EXPECT_FALSE(exists("lockstep:wf:open:run-1"));
}

TEST_F(Workflows, AForeignWriteThatLeavesNothingToDoIsLookedAtOnce) {
    put({{"a", worker()}});
    boot_engine();
    begin("run-1");
    json touched = document("run-1");
    touched["updated_at"] = "2026-01-01T00:00:01Z";
    run({"SET", "wf:run:run-1", touched.dump()});
    loop.run_for(30s);
    EXPECT_EQ(log.times_reached("run_written_by_others"), 1);
}

TEST_F(Workflows, ManyRunsAllHaveTheirTurn) {
    tunables.wf_run_scan_limit = 10;
    put({{"a", worker()}});
    boot_engine();
    for (int n = 0; n < 45; ++n) store_run("run-" + std::to_string(n));
    loop.run_for(30s);
    EXPECT_EQ(submitted().size(), 45u);
}

// FLOW-03, C-25, H-43
TEST_F(Workflows, ARunThatAnotherReplicaHasIsLeftToItAndTheResultComesAgain) {
    put({{"a", worker()}});
    boot_engine();
    begin("run-1");
    run({"SET", "cordum:wf:run:lock:run-1", "somebody", "PX", "60000"});
    record_end("run-1:a@1", "SUCCEEDED");
    const Fate fate = result("run-1:a@1", cap::JOB_STATUS_SUCCEEDED);
    loop.run_for(3s);
    EXPECT_TRUE(fate->handed_back(500ms));
    EXPECT_EQ(text({"GET", "cordum:wf:run:lock:run-1"}), "somebody");
    EXPECT_EQ(status("run-1"), "running");
    run({"DEL", "cordum:wf:run:lock:run-1"});
    EXPECT_TRUE(result("run-1:a@1", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(status("run-1"), "succeeded");
}

// H-58
TEST_F(Workflows, ADocumentThatSomebodyElseWroteMeanwhileIsReadAgain) {
    put({{"a", worker()}, {"b", worker()}});
    boot_engine();
    begin("run-1");
    bool done = false;
    slow_redis.latency = 1ms;
    record_end("run-1:a@1", "SUCCEEDED");
    // Between the read and the commit, a gateway rewrites the document without any lock.
    bus.deliver({.subject = "sys.job.result",
                 .payload = engine::wire::serialise(engine::wire::make_packet(
                     result_of("run-1:a@1", cap::JOB_STATUS_SUCCEEDED), "", "w1", clock.now()))});
    on_command("EVALSHA", "", [&] {
        if (std::exchange(done, true)) return CallFault::none;
        json other = document("run-1");
        other["labels"] = {{"by", "gateway"}};
        redis.run({"SET", "wf:run:run-1", other.dump()});
        return CallFault::none;
    });
    loop.run_for(5s);
    on_command("", "", nullptr);
    EXPECT_EQ(status("run-1", "a"), "succeeded");
    EXPECT_EQ(document("run-1").at("labels").at("by"), "gateway") << "nothing of theirs is lost";
}

TEST_F(Workflows, TenResultsOfOneRunAreOneOrTwoChanges) {
    json items = json::array();
    for (int n = 0; n < 10; ++n) items.push_back(n);
    put({{"each", worker({{"for_each", "input.list"}})}});
    boot_engine();
    begin("run-1", {{"list", items}});
    ASSERT_EQ(submitted().size(), 10u);
    slow_redis.latency = 5ms;
    std::vector<Fate> fates;
    for (int n = 0; n < 10; ++n) {
        const std::string job = "run-1:each[" + std::to_string(n) + "]@1";
        record_end(job, "SUCCEEDED", std::to_string(n));
        fates.push_back(bus.deliver({.subject = "sys.job.result",
                                     .payload = engine::wire::serialise(engine::wire::make_packet(
                                         result_of(job, cap::JOB_STATUS_SUCCEEDED), "", "w1", clock.now()))}));
    }
    std::size_t writes = 0;
    redis.on_executed([&](const RedisCommand& command) { writes += is_commit(command) ? 1 : 0; });
    loop.run_for(2s);
    EXPECT_TRUE(std::ranges::all_of(fates, [](const Fate& fate) { return fate->acked(); }));
    EXPECT_EQ(status("run-1"), "succeeded");
    EXPECT_EQ(document("run-1").at("steps").at("each").at("output"), items);
    EXPECT_GE(writes, 1u);
    EXPECT_LE(writes, 3u);
}

json chain_against_the_order_of_ids(int count) {
    json steps = json::object();
    for (int n = 0; n < count; ++n) {
        json step{{"type", "transform"}};
        if (n > 0) step["depends_on"] = {fmt::format("s{:04}", count - n)};
        steps[fmt::format("s{:04}", count - 1 - n)] = step;
    }
    return steps;
}

TEST_F(Workflows, AVisitToALongRunGivesWayAndTheNextOneGoesOn) {
    put(chain_against_the_order_of_ids(1'000));
    put({{"a", worker()}}, {{"id", "wf-2"}});
    boot_engine();
    std::vector<std::size_t> done;  // steps that have ended, at each change of the long run
    bool other_began = false;
    redis.on_executed([&](const RedisCommand& command) {
        if (!is_commit(command)) return;
        if (command[3].ends_with(":beside")) other_began = done.size() < 2;
        if (!command[3].ends_with(":long")) return;
        const json steps = document("long").value("steps", json::object());
        const std::size_t ended =
            std::ranges::count_if(steps, [](const json& step) { return step.value("status", "") == "succeeded"; });
        if (ended > 0 && (done.empty() || done.back() != ended)) done.push_back(ended);
    });
    store_run("long");
    store_run("beside", json::object(), "wf-2");
    slow_redis.latency = 1ms;
    bus.tell_bytes(engine::kSubjectRunWake, "long");
    bus.tell_bytes(engine::kSubjectRunWake, "beside");
    loop.run_for(100ms);
    EXPECT_TRUE(other_began) << "between two visits to the long one";
    EXPECT_EQ(status("long"), "succeeded");
    EXPECT_THAT(done, ElementsAre(500, 1'000));
}

TEST_F(Workflows, WhatACrashedVisitHasLeftTheNextLookBegins) {
    put(chain_against_the_order_of_ids(700));
    boot_engine();
    int changes = 0;
    on_command("EVALSHA", "", [&] { return ++changes > 2 ? CallFault::not_applied : CallFault::none; });
    begin("long");
    crash_engine();
    on_command("", "", nullptr);
    ASSERT_EQ(status("long"), "running");
    boot_engine();
    loop.run_for(30s);
    EXPECT_EQ(status("long"), "succeeded");
}

TEST_F(Workflows, AVisitReadsABoundedSizeOfResultsAndAllOfThemInTheEnd) {
    constexpr int kItems = 20;
    json items = json::array();
    for (int n = 0; n < kItems; ++n) items.push_back(n);
    put({{"each", worker({{"for_each", "input.list"}, {"result_data_path", "n"}})}});
    boot_engine();
    begin("run-1", {{"list", items}});
    std::vector<Fate> fates;
    for (int n = 0; n < kItems; ++n) {
        const std::string job = "run-1:each[" + std::to_string(n) + "]@1";
        record_end(job, "SUCCEEDED", json{{"n", n}, {"ballast", std::string(250'000, 'x')}}.dump());
        fates.push_back(bus.deliver({.subject = "sys.job.result",
                                     .payload = engine::wire::serialise(engine::wire::make_packet(
                                         result_of(job, cap::JOB_STATUS_SUCCEEDED), "", "w1", clock.now()))}));
    }
    std::size_t changes = 0;
    redis.on_executed([&](const RedisCommand& command) { changes += is_commit(command) ? 1 : 0; });
    slow_redis.latency = 5ms;
    loop.run_for(5s);
    EXPECT_TRUE(std::ranges::all_of(fates, [](const Fate& fate) { return fate->acked(); }));
    EXPECT_EQ(document("run-1").at("steps").at("each").at("output"), items);
    EXPECT_GE(changes, 5u) << "five of them are more than a mebibyte";
    EXPECT_LE(changes, 8u);
}

TEST_F(Workflows, ARunThatAnotherHasBegunFailsTheStepThatWouldBeginIt) {
    put({{"s", {{"type", "subworkflow"}, {"input", {{"workflow_id", "wf-2"}}}}}});
    put({{"x", worker()}}, {{"id", "wf-2"}});
    boot_engine();
    store_run("run-1.s.1", json::object(), "wf-2");
    wake("run-1.s.1");
    begin("run-1");
    loop.run_for(20s);
    EXPECT_EQ(status("run-1", "s"), "failed");
    EXPECT_EQ(document("run-1").at("steps").at("s").at("error").at("message"),
              "there is a run run-1.s.1 already, and this step has not begun it");
    EXPECT_EQ(status("run-1.s.1"), "running") << "it is left alone";
}

// D-29
TEST_F(Workflows, AStepUnderWhoseIdAnotherJobIsRecordedFailsAndNeverTakesItForItsOwn) {
    put({{"gate", {{"type", "approval"}}},
         {"pay", worker({{"depends_on", {"gate"}}})},
         {"a", worker({{"on_error", "mend"}})},
         {"mend", worker()}});
    run({"HSET", "job:meta:run-1:gate@1", "state", "SUCCEEDED", "tenant", "initech", "topic",
         "job.cordum.approval-gate"});
    run({"HSET", "job:meta:run-1:a@1", "state", "PENDING", "tenant", "acme", "topic", "job.other"});
    boot_engine();
    begin("run-1");
    for (const std::string step : {"gate", "a"}) {
        const json record = document("run-1").at("steps").at(step);
        EXPECT_EQ(record.at("status"), "failed");
        EXPECT_EQ(record.at("error").at("code"), "job_id_taken");
        EXPECT_FALSE(record.contains("job_id")) << "nobody cancels what is not the run's";
    }
    EXPECT_THAT(submitted(), ElementsAre("run-1:mend@1"));
    EXPECT_EQ(field("run-1:gate@1", "state"), "SUCCEEDED") << "it is left alone";
    loop.run_for(20s);
    EXPECT_THAT(submitted(), ElementsAre("run-1:mend@1"));
}

TEST_F(Workflows, AStepGoesOnWithItsOwnJobThatIsRecordedAlready) {
    put({{"a", worker()}, {"b", worker()}});
    boot_engine();
    begin("run-1");
    const auto packet = engine::wire::decode(bus.published_on("sys.job.submit").front().payload);
    ASSERT_EQ(packet->job_request().job_id(), "run-1:a@1");
    auto request = packet->job_request();
    const auto record = [&](const std::string& job) {
        run({"HSET", "job:meta:" + job, "state", "RUNNING", "tenant", "acme", "topic", "job.default"});
        run({"SET", "job:req:" + job, engine::wire::to_json(request, engine::wire::Unpopulated::emit)});
    };
    record("run-1:a@1");
    request.set_job_id("run-1:b@1");
    record("run-1:b@1");
    // A gateway has written the run as it was before it began, and nothing here remembers the jobs.
    run({"DEL", "lockstep:wf:open:run-1"});
    begin("run-1");
    EXPECT_EQ(status("run-1", "a"), "running");
    EXPECT_EQ(document("run-1").at("steps").at("b").at("error").at("code"), "job_id_taken")
        << "the request is another one: it names another step";
}

// D-29: what somebody records between the two effects of beginning a job is noticed when it ends.
TEST_F(Workflows, AResultOfAnotherTenantsJobOrAnotherTopicsIsNone) {
    put({{"a", worker()}});
    boot_engine();
    const auto end_of = [this](const std::string& id, const std::string& tenant, const std::string& topic,
                               const std::string& labels) {
        begin(id);
        const std::string job = id + ":a@1";
        run({"HSET", "job:meta:" + job, "tenant", tenant, "topic", topic});
        if (!labels.empty())
            run({"SET", "job:req:" + job,
                 R"({"jobId":")" + job + R"(","topic":"job.default","tenantId":"acme","labels":)" + labels + "}"});
        end_job(job);
        return document(id).at("steps").at("a").at("status") == "succeeded"
                   ? std::string("succeeded")
                   : document(id).at("steps").at("a").at("error").value("code", "");
    };
    EXPECT_EQ(end_of("run-1", "initech", "job.default", ""), "job_id_taken");
    EXPECT_EQ(end_of("run-2", "acme", "job.other", ""), "job_id_taken");
    EXPECT_EQ(end_of("run-3", "acme", "job.default", R"({"run_id":"run-4"})"), "job_id_taken");
    EXPECT_EQ(end_of("run-4", "acme", "job.default", R"({"run_id":"run-4"})"), "succeeded");
    EXPECT_EQ(end_of("run-5", "acme", "job.default", "{}"), "succeeded");
    EXPECT_EQ(end_of("run-6", "acme", "job.default", ""), "succeeded");
}

TEST_F(Workflows, AJobThatNoStreamTakesHoldsUpNoCancellationOfAnother) {
    put({{"a", worker()}, {"b", worker()}});
    boot_engine();
    bus.on_publish = [&](const ScriptedBus::Published& message) -> Outcome<PublishAck> {
        if (message.message_id.ends_with(":a@1")) return not_connected();
        return bus.store(message);
    };
    begin("run-1");
    run({"HSET", "job:meta:run-1:b@1", "state", "RUNNING"});
    run({"RPUSH", "lockstep:wf:asks:run-1", R"({"do":"cancel","reason":"no more"})"});
    run({"ZADD", "lockstep:wf:asked", "1", "run-1"});
    wake("run-1");
    loop.run_for(3s);
    EXPECT_EQ(status("run-1"), "cancelled");
    Texts cancelled;
    for (const auto& message : bus.broadcast)
        if (message.subject == "sys.job.cancel")
            cancelled.push_back(engine::wire::decode(message.payload)->job_cancel().job_id());
    EXPECT_THAT(cancelled, ElementsAre("run-1:b@1"));
    bus.on_publish = nullptr;
    loop.run_for(5s);
    EXPECT_GE(cancellations(), 2u) << "that of a goes behind its submission";
    EXPECT_FALSE(exists("lockstep:wf:outbox:run-1"));
}

TEST_F(Workflows, ACancelledRunIsCancelledAtOnceAndItsJobsUntilTheyEnd) {
    put({{"a", worker()}});
    boot_engine();
    begin("run-1");
    run({"HSET", "job:meta:run-1:a@1", "state", "RUNNING"});
    run({"RPUSH", "lockstep:wf:asks:run-1", R"({"do":"cancel","reason":"no more"})"});
    run({"ZADD", "lockstep:wf:asked", "1", "run-1"});
    wake("run-1");
    EXPECT_EQ(status("run-1"), "cancelled");
    EXPECT_EQ(cancellations(), 1u);
    loop.run_for(11s);
    EXPECT_GE(cancellations(), 2u) << "nobody may have heard the first";
    record_end("run-1:a@1", "CANCELLED");
    loop.run_for(11s);
    const std::size_t before = cancellations();
    loop.run_for(30s);
    EXPECT_EQ(cancellations(), before);
    EXPECT_FALSE(exists("lockstep:wf:cancelling"));
}

TEST_F(Workflows, RunsWhoseJobsNeverEndHideNoneFromBeingCancelledAgain) {
    boot_engine();
    for (int i = 0; i <= 100; ++i) {
        const std::string ended = i < 100 ? "stuck-" + std::to_string(i) : "behind";
        run({"HSET", "lockstep:wf:open:" + ended, ended + ":a@1", "a"});
        run({"ZADD", "lockstep:wf:cancelling", std::to_string(i), ended});
    }
    loop.run_for(11s);
    EXPECT_GE(cancellations(), 101u);
    record_end("behind:a@1", "CANCELLED");
    loop.run_for(11s);
    EXPECT_TRUE(run({"ZSCORE", "lockstep:wf:cancelling", "behind"}).is_nil());
}

TEST_F(Workflows, ARunThatHasFailedIsTriedAgainFromThereAndHearsWhatRanOnMeanwhile) {
    tunables.wf_run_retention = 2min;
    put({{"a", worker()}, {"b", worker({{"depends_on", {"a"}}})}, {"c", worker()}});
    boot_engine();
    begin("run-1");
    end_job("run-1:a@1");
    end_job("run-1:b@1", "FAILED");
    ASSERT_EQ(status("run-1"), "failed");
    end_job("run-1:c@1");
    ASSERT_EQ(status("run-1", "c"), "running") << "of a run that is over";
    ASSERT_TRUE(exists("lockstep:wf:ended"));
    run({"RPUSH", "lockstep:wf:asks:run-1", R"({"do":"retry","by":"ann"})"});
    run({"ZADD", "lockstep:wf:asked", "1", "run-1"});
    wake("run-1");
    EXPECT_EQ(status("run-1"), "running");
    EXPECT_EQ(submitted().back(), "run-1:b@2");
    EXPECT_FALSE(exists("lockstep:wf:ended"));
    EXPECT_FALSE(exists("lockstep:wf:cancelling"));
    EXPECT_EQ(*run({"PTTL", "lockstep:wf:def:run-1"}).integer(), -1);
    EXPECT_EQ(*run({"SISMEMBER", "wf:runs:active:acme", "run-1"}).integer(), 1);
    loop.run_for(20s);
    EXPECT_EQ(status("run-1", "c"), "succeeded") << "the look at all runs finds it";
    EXPECT_EQ(cancellations(), 0u);
    loop.run_for(3min);
    EXPECT_EQ(status("run-1"), "running") << "nobody forgets a run that goes on";
    end_job("run-1:b@2");
    EXPECT_EQ(status("run-1"), "succeeded");
    EXPECT_EQ(text({"ZSCORE", "wf:runs:status:failed", "run-1"}), "");
}

TEST_F(Workflows, ARunIsGivenUpWhereItsDefinitionIsMissingOrWrong) {
    boot_engine();
    begin("run-1");
    EXPECT_EQ(status("run-1"), "failed");
    EXPECT_EQ(document("run-1").at("error").at("message"), "its workflow does not exist");
    put({{"a", worker({{"depends_on", {"b"}}})}});
    begin("run-2");
    EXPECT_EQ(status("run-2"), "failed");
    EXPECT_EQ(document("run-2").at("error").at("message"),
              "its workflow has mistakes: /steps/a/depends_on/0: there is no step \"b\"; did you mean \"a\"?");
}

TEST_F(Workflows, ARunKeepsTheDefinitionThatItBeganWith) {
    put({{"a", worker()}, {"b", worker({{"depends_on", {"a"}}})}});
    boot_engine();
    begin("run-1");
    put({{"a", worker()}});
    end_job("run-1:a@1");
    EXPECT_THAT(submitted(), ElementsAre("run-1:a@1", "run-1:b@1"));
}

TEST_F(Workflows, ARunThatGrowsTooLargeFails) {
    tunables.wf_run_max_bytes = 2000;
    put({{"a", worker()}, {"b", worker({{"depends_on", {"a"}}})}});
    boot_engine();
    begin("run-1");
    end_job("run-1:a@1", "SUCCEEDED", json(std::string(3000, 'x')).dump());
    EXPECT_EQ(status("run-1"), "failed");
    EXPECT_LE(text({"GET", "wf:run:run-1"}).size(), 2000u);
}

TEST_F(Workflows, ASubworkflowRunsAndItsEndIsHeardAtOnce) {
    put({{"s", {{"type", "subworkflow"}, {"input", {{"workflow_id", "wf-2"}}}}}});
    put({{"x", worker()}}, {{"id", "wf-2"}});
    boot_engine();
    begin("run-1");
    loop.settle();
    EXPECT_THAT(submitted(), ElementsAre("run-1.s.1:x@1"));
    end_job("run-1.s.1:x@1");
    EXPECT_EQ(status("run-1.s.1"), "succeeded");
    EXPECT_EQ(status("run-1"), "succeeded");
}

TEST_F(Workflows, EndedRunsAreKeptForTheirTimeAndThenGoWithAllThatBelongsToThem) {
    tunables.wf_run_retention = 1min;
    put({{"a", worker()}});
    boot_engine();
    begin("run-1");
    end_job("run-1:a@1");
    loop.run_for(50s);
    EXPECT_EQ(status("run-1"), "succeeded");
    loop.run_for(20s);
    EXPECT_FALSE(exists("wf:run:run-1"));
    EXPECT_FALSE(exists("wf:run:timeline:run-1"));
    EXPECT_FALSE(exists("wf:runs:all"));
    EXPECT_FALSE(exists("wf:runs:status:succeeded"));
    const auto keys = run({"KEYS", "lockstep:wf:*"});
    EXPECT_THAT(*keys.array(), IsEmpty());
}

TEST_F(Workflows, ARunWithoutAWorkflowIsForgottenLikeAnyOther) {
    tunables.wf_run_retention = 1min;
    boot_engine();
    run({"SET", "wf:run:odd", R"({"id":"odd","status":"pending"})"});
    run({"ZADD", "wf:runs:status:pending", "1", "odd"});
    put({{"a", worker()}});
    begin("run-1");
    end_job("run-1:a@1");
    loop.run_for(75s);
    EXPECT_FALSE(exists("wf:run:odd"));
    EXPECT_FALSE(exists("wf:run:run-1")) << "nothing holds up the others";
}

TEST_F(Workflows, ADrainFinishesWhatIsInHandAndHandsBackTheRest) {
    put({{"a", worker()}});
    boot_engine();
    begin("run-1");
    loop.wait(engine_->drain());
    EXPECT_EQ(engine_->in_flight(), 0u);
    EXPECT_FALSE(exists("cordum:wf:run:lock:run-1"));
}

TEST_F(Workflows, ResultsOfJobsThatNoRunHasAreNoConcernOfRuns) {
    boot_engine();
    EXPECT_TRUE(result("job-7", cap::JOB_STATUS_SUCCEEDED)->acked());
    run({"HSET", "job:meta:run-9:a@1", "state", "SUCCEEDED"});
    EXPECT_TRUE(result("run-9:a@1", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_FALSE(exists("cordum:wf:run:lock:run-9"));
}

TEST_F(Workflows, AResultOfAJobThatNobodyHasRecordedCostsOneLookAndNoWaiting) {
    boot_engine();
    int looks = 0;
    on_command("HGET", "job:meta:run-9", [&looks] {
        ++looks;
        return CallFault::none;
    });
    EXPECT_TRUE(result("run-9:a@1", cap::JOB_STATUS_SUCCEEDED)->acked()) << "at once";
    EXPECT_EQ(looks, 1);
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
