#include <fmt/format.h>

#include "engine/wire/json.h"
#include "engine/wire/packet.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

/// Jobs of the workflow "travel", which one replica rolls back.
struct SagaExact : RuleTest {
    SagaExact() : RuleTest(rules::saga_exact) {
        tunables.saga_rollback_timeout = 30s;
        tunables.saga_lock_ttl = 60s;
        tunables.saga_entry_max_age = 1h;
    }

    static cap::JobRequest request(const std::string& job, std::string_view run = "") {
        cap::JobRequest made = undoing(job, run);
        *made.mutable_compensation()->mutable_meta() = made.meta();
        made.mutable_compensation()->set_topic(made.topic());
        made.clear_parent_job_id();
        made.set_job_id(job);
        return made;
    }
    static cap::JobRequest undoing(const std::string& job, std::string_view run = "", std::string_view principal = "") {
        return *engine::wire::from_json<cap::JobRequest>(fmt::format(
            R"({{"parentJobId":"{0}","topic":"job.undo","tenantId":"acme","workflowId":"travel","principalId":"{2}",)"
            R"("priority":"JOB_PRIORITY_CRITICAL","meta":{{"idempotencyKey":"undo {0}"}},"labels":{{"run_id":"{1}"}}}})",
            job, run, principal));
    }
    void store(const cap::JobRequest& stored) {
        set_text("job:req:" + stored.job_id(), engine::wire::to_json(stored), Topology::kGateway);
    }
    void record(const cap::JobRequest& undo, const std::string& stack = kStack) {
        keys.act_for(kReplica);
        keys.list_insert(at<List>(stack), 0, undo.SerializeAsString());
    }
    void take_off(const std::string& stack = kStack, NodeId by = kReplica) {
        keys.act_for(by);
        keys.list_remove(*keys.find(stack), 0);
    }
    void lock(std::string_view key = kLock, NodeId by = kReplica) { grant_lock(key, by); }
    void state(const std::string& job, std::string_view state) { set_field(job, "state", state); }
    void succeed(const std::string& job) {
        store(request(job));
        state(job, "SUCCEEDED");
        record(undoing(job));
    }
    void fail(const std::string& job, std::string_view run = "", std::string_view by = "w",
              cap::JobStatus status = cap::JOB_STATUS_FAILED_FATAL) {
        store(request(job, run));
        set_field(job, "ls_worker", "w");
        deliver_result(job, {.status = status, .worker = by});
        state(job, "FAILED");
    }
    void submit(cap::JobRequest undo, std::string name = "", const char* topic_in_stream = "job.undo") {
        if (name.empty()) name = "comp-" + undo.parent_job_id();
        undo.set_job_id(name);
        for (auto* marks : {undo.mutable_labels(), undo.mutable_env()}) {
            (*marks)["saga_compensation"] = (*marks)["is_compensation"] = "true";
            (*marks)["saga_workflow_id"] = "travel";
        }
        cap::BusPacket packet = engine::wire::make_packet(std::move(undo), "trace", std::string(kSagaSender), {});
        const std::string id = "jobreq:" + name;
        fakes::Event event = event_of(EventKind::publish, name, When::before);
        event.subject = engine::wire::kSubjectSubmit;
        event.message_id = id;
        event.packet = &packet;
        tell(event);
        packet.mutable_job_request()->set_topic(topic_in_stream);
        event.kind = EventKind::stored;
        event.when = When::applied;
        tell(event);
    }
    void policy_says(std::string_view decision, const std::string& job) {
        cap::PolicyCheckRequest question;
        question.set_tenant("acme");
        (*question.mutable_labels())["saga_workflow_id"] = "travel";
        question.mutable_meta()->set_idempotency_key("undo " + job);
        const std::string bytes = question.SerializeAsString(), name = "comp-" + job;
        for (const When when : {When::before, When::applied, When::answered}) {
            const bool asks = when == When::before;
            observe(EventKind::kernel_check, name,
                    {.to = asks ? std::string_view{} : decision, .payload = asks ? bytes : std::string_view{}}, when);
        }
    }
    void undo(const std::string& job) {
        submit(undoing(job));
        take_off();
        state("comp-" + job, "SUCCEEDED");
    }
    void keep_aside(const std::string& letter, const cap::JobRequest& entry) {
        set_text("lockstep:saga:unreadable:" + letter, entry.SerializeAsString());
    }
    [[nodiscard]] std::string last() const { return found.empty() ? "" : found.back(); }
    [[nodiscard]] std::vector<std::string> found_at_rest() {
        rest();
        return std::exchange(found, {});
    }

    static constexpr const char* kStack = "saga:travel:stack";
    static constexpr const char* kOwed = "lockstep:saga:owed";
    static constexpr const char* kLock = "saga:travel:lock";
    static constexpr const char* kStackOfRun = "lockstep:saga:4:acme:trip";
    static constexpr const char* kLockOfRun = "lockstep:saga:lock:4:acme:trip";
};

TEST_F(SagaExact, WhatWasRecordedIsUndoneLastFirst) {
    succeed("a");
    succeed("b");
    fail("f");
    EXPECT_TRUE(model().waits());
    lock();
    undo("b");
    undo("a");
    EXPECT_FALSE(model().waits());
    EXPECT_THAT(found_at_rest(), IsEmpty());
    EXPECT_EQ(times_exercised(), 4U) << "two were recorded, and two submitted";
}

TEST_F(SagaExact, IsRecordedOnceAndAsDueAndNotForACompensation) {
    succeed("a");
    record(undoing("a"));
    EXPECT_THAT(last(), "a: its compensation was recorded a second time in the saga of workflow acme/travel");
    store(request("b"));
    record(undoing("b", "", "eve"));
    EXPECT_THAT(last(), HasSubstr("b: its compensation is recorded otherwise: its principalId is 'eve'"));
    cap::JobRequest compensation = request("c");
    for (const auto& [label, variable, is_one] : {std::tuple{"", "", false}, {"False", "", false}, {"", "yes", true}}) {
        (*compensation.mutable_labels())["saga_compensation"] = label;
        (*compensation.mutable_env())["saga_compensation"] = variable;
        EXPECT_EQ(is_marked_as_compensation(compensation), is_one);
    }
    store(compensation);
    record(undoing("c"));
    EXPECT_THAT(last(), "c: it is a compensation, and another one is recorded for it");
    EXPECT_EQ(found.size(), 3U);
}

TEST_F(SagaExact, WhatOthersRecordOrWhatUndoesNoJobIsNobodysSecond) {
    const auto record_twice = [this](const cap::JobRequest& undo, fakes::NodeId by) {
        for (int i = 0; i < 2; ++i) {
            keys.act_for(by);
            keys.list_insert(at<List>(kStack), 0, undo.SerializeAsString());
        }
    };
    cap::JobRequest of_no_job = undoing("");
    record_twice(of_no_job, kReplica);
    record_twice(undoing("a"), Topology::kGateway);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SagaExact, ASuccessIsRecordedAndNothingElse) {
    store(request("a"));
    record(undoing("a"));
    EXPECT_THAT(found_at_rest(), ElementsAre("a: its compensation was recorded although it did not succeed"));
    set_text("dlq:entry:a", R"({"reason_code":"invalid_result_pointer"})");
    EXPECT_THAT(found_at_rest(), IsEmpty()) << "its worker has done it";
    store(request("b"));
    state("b", "OUTPUT_QUARANTINED");
    EXPECT_THAT(found_at_rest(), ElementsAre(HasSubstr("b: it succeeded, and its compensation was not recorded")));
}

TEST_F(SagaExact, WhatUndoesAJobIsKnownByItsRequestAtItsEnd) {
    for (const std::string job : {"ended before, evicted", "ended before, cut", "evicted", "cut"}) {
        store(request(job));
        if (job.starts_with("ended")) state(job, "SUCCEEDED");
        if (job.ends_with("cut")) set_text("job:req:" + job, R"({"job_id":"J","workflow_id":"tra)", {});
        if (job.ends_with("evicted")) evict("job:req:" + job);
        state(job, "SUCCEEDED");
    }
    EXPECT_THAT(found_at_rest(), ElementsAre(HasSubstr("ended before, evicted: "), HasSubstr("ended before, cut: ")));
}

TEST_F(SagaExact, AnEntryIsTakenOffUnderTheLockOfItsOwnSaga) {
    for (const char* job : {"a", "b", "c"}) record(undoing(job));
    lock("saga:all:lock");
    lock(kLock, kOther);
    take_off(kStack, kOther);
    take_off(kStack, Topology::kGateway);
    EXPECT_THAT(found, IsEmpty());
    take_off();
    EXPECT_THAT(last(), "a: its compensation is taken off saga:travel:stack without saga:travel:lock");
    record(undoing("d", "trip"), kStackOfRun);
    lock(kLockOfRun);
    observe(EventKind::lock_released, "", {.key = kLockOfRun});
    take_off(kStackOfRun);
    EXPECT_THAT(last(), HasSubstr("without lockstep:saga:lock:4:acme:trip"));
}

TEST_F(SagaExact, NothingIsUndoneForNothing) {
    succeed("a");
    submit(undoing("a"));
    EXPECT_THAT(last(), HasSubstr("a: it is undone by comp-a, and no job of the saga of workflow acme/travel fa"));
    fail("f");
    submit(undoing("f"));
    EXPECT_THAT(last(), "f: it is undone by comp-f, which was not recorded");
    lock();
    take_off();
    succeed("b");
    submit(undoing("b"));
    EXPECT_THAT(last(), HasSubstr("nothing of the saga of workflow acme/travel has failed since"));
    fail("g", "trip");
    record(undoing("c", "trip"));
    submit(undoing("c", "trip"));
    EXPECT_EQ(found.size(), 3U) << "a late step of a run is undone as well";
}

TEST_F(SagaExact, ARollbackThatFindsNothingIsOver) {
    const auto owe = [this] { keys.zset_set(at<SortedSet>(kOwed), "workflow:4:acme:travel", 1); };
    const auto be_over = [this] { keys.zset_remove(*keys.find(kOwed), "workflow:4:acme:travel"); };
    lock();
    fail("f");
    owe();
    succeed("a");
    submit(undoing("a"));
    EXPECT_THAT(found, IsEmpty()) << "it was recorded before the rollback looked";
    take_off();
    fail("g");
    owe();
    be_over();
    succeed("later");
    submit(undoing("later"));
    EXPECT_THAT(last(),
                HasSubstr("later: it is undone by comp-later, and nothing of the saga of workflow acme/travel"));
    take_off();
    for (const char* job : {"b", "c"}) succeed(job);
    fail("h");
    succeed("d");
    submit(undoing("b"));
    EXPECT_THAT(last(), HasSubstr("b: it is undone before c, which succeeded later"));
    EXPECT_EQ(found.size(), 2U) << "d succeeded after the failure";
}

TEST_F(SagaExact, NothingIsUndoneTwiceOrTooEarly) {
    for (const char* job : {"a", "b", "c"}) succeed(job);
    fail("f");
    submit(undoing("b"));
    EXPECT_THAT(found, ElementsAre("b: it is undone before c, which succeeded later"));
    submit(undoing("c"), "", "job.other");
    submit(undoing("b"));
    succeed("d");
    submit(undoing("a"));
    EXPECT_EQ(found.size(), 1U) << "one more time, one that was changed on its way, one beside the rollback";
    submit(undoing("b"), "comp-2");
    EXPECT_THAT(last(), "b: it is undone by comp-2, and before that by comp-b");
}

TEST_F(SagaExact, IsSubmittedAsRecordedAndNotAgainstPolicy) {
    for (const char* job : {"a", "b", "c", "d"}) succeed(job);
    fail("f");
    lock();
    submit(undoing("d", "", "eve"));
    EXPECT_THAT(last(), HasSubstr("d: its compensation is submitted otherwise: its principalId is 'eve'"));
    policy_says("DENY", "c");
    submit(undoing("c"));
    EXPECT_THAT(last(), "c: it is undone by comp-c, which policy had denied");
    for (const char* decision : {"DENY", "ALLOW"}) policy_says(decision, "b");
    submit(undoing("b"));
    EXPECT_EQ(found.size(), 2U) << "it was not used up, and the last answer counts";
    policy_says("DENY", "a");
    for (int i = 0; i < 4; ++i) take_off();
    EXPECT_TRUE(model().waits());
    for (const char* job : {"b", "c", "d"}) state(std::string("comp-") + job, "DENIED");
    EXPECT_FALSE(model().waits());
    policy_says("ALLOW", "a");
    submit(undoing("a"));
    EXPECT_THAT(last(), HasSubstr("a: it is undone by comp-a, which policy had denied")) << "it is used up";
}

TEST_F(SagaExact, NothingOwedIsLeft) {
    succeed("a");
    succeed("b");
    fail("f");
    lock();
    take_off();
    succeed("later");
    EXPECT_THAT(found_at_rest(), ElementsAre(HasSubstr("a: its compensation is still on the stack of the saga"),
                                             HasSubstr("b: its compensation was taken off the saga")));
}

TEST_F(SagaExact, AFailureIsFatalByTheWordOfItsWorkerAlone) {
    const auto is_owed = [this](const std::string& run) {
        record(undoing("of " + run, run), "lockstep:saga:" + run);
        return model().waits();
    };
    fail("a", "one", "w", cap::JOB_STATUS_FAILED_RETRYABLE);
    EXPECT_FALSE(is_owed("one"));
    fail("b", "two", "another");
    EXPECT_FALSE(is_owed("two"));
    fail("c", "three");
    EXPECT_TRUE(is_owed("three"));
}

TEST_F(SagaExact, WhatCannotBeUsedIsKeptAsideWithALetter) {
    const cap::JobRequest without_topic;
    record(without_topic);
    lock();
    take_off();
    EXPECT_THAT(found_at_rest(), ElementsAre(HasSubstr("cannot be used was taken off saga:travel:stack, and is not")));
    keep_aside("saga-1", without_topic);
    EXPECT_THAT(found_at_rest(), ElementsAre(HasSubstr("saga-1 is kept, and there was never a dead letter saga-1")));
    set_text("dlq:entry:saga-1", R"({"reason_code":"saga_unmarshal_failed"})");
    EXPECT_THAT(found_at_rest(), IsEmpty());
}

TEST_F(SagaExact, AnothersEntryIsKeptAsideWhenItWasMetForLongEnough) {
    record(undoing("a"));
    wait(2h);
    lock();
    record(undoing("b"));  // which the rollback may come across at once
    wait(30min);
    keep_aside("saga-expired-1", undoing("a"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("a rollback has first come across it 1800000 ms ago")));
    wait(29min);
    lock();
    for (const char* job : {"a", "b"}) keep_aside("saga-expired-2", undoing(job));
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(SagaExact, ARollbackLastsNoLongerThanItsLimitAndTheLifeOfItsLock) {
    const auto submit_after = [this](engine::Duration duration) {
        wait(duration);
        submit(undoing("a"));
        return found.size();
    };
    succeed("a");
    fail("f");
    lock();
    EXPECT_EQ(submit_after(29s), 0U);
    EXPECT_EQ(submit_after(6s), 1U);
    EXPECT_THAT(last(), HasSubstr("submitted 35000 ms after its rollback was begun, which may last 30000"));
    lock();
    EXPECT_EQ(submit_after(50s), 1U) << "the first one may take the life of the lock";
    tunables.saga_lock_ttl = 10s;
    lock();
    EXPECT_EQ(submit_after(12s), 2U);
    EXPECT_THAT(last(), HasSubstr("which may last 10000"));
}

TEST_F(SagaExact, ACompensationThatWasSubmittedEndsUnlessOnlyNatsKnewIt) {
    fail("f");
    submit(undoing("a"));
    EXPECT_TRUE(model().waits());
    EXPECT_THAT(found_at_rest(), Contains("comp-a: this compensation was published, and at the end it is unknown"));
    state("comp-b", "RUNNING");
    submit(undoing("b"));
    fault("nats.power_cut");
    found.clear();
    EXPECT_THAT(found_at_rest(), ElementsAre("comp-b: this compensation was published, and at the end it is RUNNING"));
    state("comp-b", "APPROVAL_REQUIRED");
    EXPECT_FALSE(model().waits());
}

struct SagaLoss : SagaExact {
    SagaLoss() {
        record(undoing("a"));
        record(undoing("b", "trip"), kStackOfRun);
    }
};

TEST_F(SagaLoss, AFailoverExcusesTheSagaWhoseStackItChangesAndNoOther) {
    keys.restore([this] { keys.list_insert(*keys.find(kStack), 0, "something older"); });
    take_off();
    record(undoing("c"));
    EXPECT_THAT(found, IsEmpty());
    take_off(kStackOfRun);
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: its compensation is taken off lockstep:saga:4:acme:trip without")));
}

TEST_F(SagaLoss, AFailoverExcusesARollbackThatIsUnderWay) {
    fail("f");
    EXPECT_TRUE(model().waits());
    keys.restore([] {});
    EXPECT_FALSE(model().waits());
}

TEST_F(SagaLoss, AFailoverExcusesNoRollbackThatWasDoneUnlessRedisOwesItAgain) {
    fail("f");
    lock();
    undo("a");
    keys.restore([] {});
    submit(undoing("a"), "comp-2");
    EXPECT_THAT(std::exchange(found, {}), ElementsAre("a: it is undone by comp-2, and before that by comp-a"));
    keys.restore([this] { keys.zset_set(at<SortedSet>(kOwed), "workflow:4:acme:travel", 1); });
    submit(undoing("a"), "comp-3");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SagaLoss, AnEvictionExcusesTheSagaOfAJobThatIsForgotten) {
    succeed("c");
    set_text("job:state:c", "SUCCEEDED");
    evict("job:meta:c");
    record(undoing("c"));
    EXPECT_THAT(std::exchange(found, {}), ElementsAre(HasSubstr("c: its compensation was recorded a second time")));
    evict("job:state:c");
    record(undoing("c"));
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SagaLoss, AnEvictionExcusesTheSagaWhoseStackItTakes) {
    evict(kStack);
    take_off(kStackOfRun);
    EXPECT_THAT(std::exchange(found, {}), ElementsAre(HasSubstr("b: ")));
    EXPECT_THAT(found_at_rest(), ElementsAre(HasSubstr("b: its compensation was taken off")));
}

TEST_F(SagaLoss, WhoHasALockAfterAFailoverIsKnownOnceItIsTakenAgain) {
    lock(kLockOfRun, kOther);
    keys.restore([] {});
    record(undoing("c", "trip"), kStackOfRun);
    take_off(kStackOfRun);
    EXPECT_THAT(found, IsEmpty());
    lock(kLockOfRun, kOther);
    take_off(kStackOfRun);
    EXPECT_THAT(found, ElementsAre(HasSubstr("without lockstep:saga:lock:4:acme:trip")));
}

}  // namespace
}  // namespace lockstep::sim
