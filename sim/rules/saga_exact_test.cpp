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
        define({
            {"store", [this](auto& job) { store(request(job)); }},
            {"record",
             [this](auto& of) { record(undoing(first(of), second(of)), second(of).empty() ? kStack : kStackOfRun); }},
            {"succeed",
             [this](auto& jobs) {
                 for (const auto& job : parts_of(jobs, ',')) succeed(job);
             }},
            {"fail", [this](auto& of) { fail(first(of), second(of)); }},
            {"lock", [this](auto& key) { lock(key.empty() ? kLock : key, by); }},
            {"lock_run", [this](auto&) { lock(kLockOfRun, by); }},
            {"unlock_run", [this](auto&) { observe(EventKind::lock_released, "", {.key = kLockOfRun}); }},
            {"take", [this](auto&) { take_off(kStack, by); }},
            {"take_run", [this](auto&) { take_off(kStackOfRun, by); }},
            {"undo", [this](auto& job) { undo(job); }},
            {"submit", [this](auto& of) { submit(undoing(first(of)), second(of)); }},
            {"submit_slowly",
             [this](auto& of) {
                 submit(undoing(first(of)), "", "job.undo", [&] {
                     succeed(second(of));
                     lock(kLock, kOther);
                 });
             }},
            {"submit_run", [this](auto& job) { submit(undoing(job, "trip")); }},
            {"submit_as_eve", [this](auto& job) { submit(undoing(job, "", "eve")); }},
            {"submit_changed", [this](auto& job) { submit(undoing(job), "", "job.other"); }},
            {"state", [this](auto& of) { state(first(of), second(of)); }},
            {"key", [this](auto& of) { set_text("job:state:" + first(of), second(of)); }},
            {"policy", [this](auto& of) { policy_says(first(of), second(of)); }},
            {"aside", [this](auto& of) { keep_aside(first(of), undoing(second(of))); }},
            {"letter", [this](auto& code) { set_text("dlq:entry:a", fmt::format(R"({{"reason_code":"{}"}})", code)); }},
            {"owe", [this](auto&) { keys.zset_set(at<SortedSet>(kOwed), kOwner, 1); }},
            {"over", [this](auto&) { keys.zset_remove(*keys.find(kOwed), kOwner); }},
            {"owe_again", [this](auto&) { keys.restore([this] { keys.zset_set(at<SortedSet>(kOwed), kOwner, 1); }); }},
            {"older",
             [this](auto&) { keys.restore([this] { keys.list_insert(*keys.find(kStack), 0, "something older"); }); }},
            {"short_lock", [this](auto&) { tunables.saga_lock_ttl = 10s; }},
        });
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
    void submit(
        cap::JobRequest undo, std::string name = "", const char* topic_in_stream = "job.undo",
        const std::function<void()>& meanwhile = [] {}) {
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
        meanwhile();
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
    static constexpr const char* kOwner = "workflow:4:acme:travel";
    static constexpr const char* kLock = "saga:travel:lock";
    static constexpr const char* kStackOfRun = "lockstep:saga:4:acme:trip";
    static constexpr const char* kLockOfRun = "lockstep:saga:lock:4:acme:trip";
};

constexpr Story kSagas[] = {
    // Two were recorded, and two submitted.
    {"WhatWasRecordedIsUndoneLastFirst", "succeed=a,b fail=f waits lock undo=b undo=a idle rest times=4"},
    {"ASuccessIsRecordedAndNothingElse", "store=a record=a rest",
     "a: its compensation was recorded although it did not succeed"},
    // Its worker has done it.
    {"OrWhatHasAPointerThatMayNotBeFollowed", "store=a record=a letter=invalid_result_pointer rest"},
    {"AlsoOneThatIsWithheld", "store=b state=b:OUTPUT_QUARANTINED rest",
     "b: it succeeded, and its compensation was not recorded"},
    {"AnEntryIsTakenOffUnderTheLockOfItsOwnSaga",
     "record=a record=b record=c lock=saga:all:lock lock@other take@other take@gateway ok take",
     "a: its compensation is taken off saga:travel:stack without saga:travel:lock"},
    {"AndBeforeItIsReleased", "record=d:trip lock_run unlock_run take_run", "without lockstep:saga:lock:4:acme:trip"},
    {"NothingIsUndoneForNothing", "succeed=a submit=a",
     "a: it is undone by comp-a, and no job of the saga of workflow acme/travel fa"},
    {"NorWhatWasNotRecorded", "fail=f submit=f", "f: it is undone by comp-f, which was not recorded"},
    {"NorOnceTheRollbackIsOver", "succeed=a fail=f owe lock take over succeed=b submit=b",
     "nothing of the saga of workflow acme/travel has failed since"},
    // That of another tenant has found a too old.
    {"WhichItIsNotByWhatAnotherRollbackTakes", "succeed=a fail=f owe lock@other take@other succeed=b lock submit=b"},
    {"ALateStepOfARunIsUndoneAsWell", "fail=g:trip record=c:trip submit_run=c"},
    // a was recorded before the rollback looked; d succeeded after the failure.
    {"ARollbackThatFindsNothingIsOver",
     "lock fail=f owe succeed=a submit=a ok take fail=g owe over succeed=later submit=later take found=1 succeed=b,c "
     "fail=h lock succeed=d submit=b",
     "later: it is undone by comp-later, and nothing of the saga of workflow acme/travel|b: it is undone before c, "
     "which succeeded later"},
    {"WhatSucceedsAfterTheLookAtTheStackIsForTheNextLook",
     "succeed=a,b fail=f owe over lock succeed=c fail=g submit=b"},
    {"WhatSucceedsWhileOneIsOnItsWayIsForTheNextLook", "succeed=a,b fail=f lock submit_slowly=b:c found=0 submit=a",
     "a: it is undone before c, which succeeded later"},
    // One more time, one that was changed on its way, one beside the rollback.
    {"NothingIsUndoneTwiceOrTooEarly",
     "succeed=a,b,c fail=f lock submit=b found=1 submit_changed=c submit=b succeed=d submit=a found=1 submit=b:comp-2",
     "b: it is undone before c, which succeeded later|b: it is undone by comp-2, and before that by comp-b"},
    // The denial of b was not used up, and the last answer counts; that of a is.
    {"IsSubmittedAsRecordedAndNotAgainstPolicy",
     "succeed=a,b,c,d fail=f lock submit_as_eve=d policy=DENY:c submit=c policy=DENY:b policy=ALLOW:b submit=b found=2 "
     "policy=DENY:a take take take take waits state=comp-b:DENIED state=comp-c:DENIED state=comp-d:DENIED idle "
     "policy=ALLOW:a submit=a",
     "d: its compensation is submitted otherwise: its principalId is 'eve'|c: it is undone by comp-c, which policy had "
     "denied|a: it is undone by comp-a, which policy had denied"},
    {"NothingOwedIsLeft", "succeed=a,b fail=f lock take succeed=later rest",
     "a: its compensation is still on the stack of the saga|b: its compensation was taken off the saga"},
    // The rollback may come across b at once.
    {"AnothersEntryIsKeptAsideWhenItWasMetForLongEnough",
     "record=a wait=2h lock record=b wait=30min aside=saga-expired-1:a found=1 wait=29min lock aside=saga-expired-2:a "
     "aside=saga-expired-2:b",
     "a rollback has first come across it 1800000 ms ago"},
    // The first one may take the life of the lock.
    {"ARollbackLastsNoLongerThanItsLimitAndTheLifeOfItsLock",
     "succeed=a fail=f lock wait=29s submit=a ok wait=6s submit=a lock wait=50s submit=a found=1 short_lock lock "
     "wait=12s submit=a",
     "submitted 35000 ms after its rollback was begun, which may last 30000|which may last 10000"},
};
using SagasTold = Told<SagaExact>;
TEST_P(SagasTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, SagasTold, ::testing::ValuesIn(kSagas), title_of);

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

constexpr Story kSagaLosses[] = {
    {"AFailoverExcusesTheSagaWhoseStackItChangesAndNoOther", "older take record=c ok take_run",
     "b: its compensation is taken off lockstep:saga:4:acme:trip without"},
    {"AFailoverExcusesARollbackThatIsUnderWay", "fail=f waits failover idle"},
    {"AFailoverExcusesNoRollbackThatWasDoneUnlessRedisOwesItAgain",
     "fail=f owe lock undo=a over failover submit=a:comp-2 found=1 owe_again submit=a:comp-3",
     "a: it is undone by comp-2, and before that by comp-a"},
    {"AnEvictionExcusesTheSagaOfAJobThatIsForgotten",
     "succeed=c key=c:SUCCEEDED evict=job:meta:c record=c found=1 evict=job:state:c record=c",
     "c: its compensation was recorded a second time"},
    {"AnEvictionExcusesTheSagaWhoseStackItTakes", "evict=saga:travel:stack take_run found=1 rest",
     "b: |b: its compensation was taken off"},
    {"WhoHasALockAfterAFailoverIsKnownOnceItIsTakenAgain",
     "lock_run@other failover record=c:trip take_run ok lock_run@other take_run",
     "without lockstep:saga:lock:4:acme:trip"},
};
using SagaLossesTold = Told<SagaLoss>;
TEST_P(SagaLossesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, SagaLossesTold, ::testing::ValuesIn(kSagaLosses), title_of);

}  // namespace
}  // namespace lockstep::sim
