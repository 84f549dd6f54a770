#include <limits>

#include "engine/wire/json.h"
#include "fakes/engine_test/store_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using StoreTakeUp = StoreTest;
using enum JobState;

TEST_F(StoreTakeUp, ANewJobIsRecordedAsPending) {
    auto request = request_for("j1");
    request.mutable_meta()->set_capability("ocr");
    const auto lease = lease_for("j1");
    const auto before = server_micros();
    const JobFacts facts = take_up(*lease, request, "trace-1");
    EXPECT_EQ(facts.state, std::nullopt) << "the state before";
    EXPECT_EQ(facts.attempts, 0);
    EXPECT_EQ(facts.dispatch, engine::DispatchNumber(0));
    EXPECT_EQ(facts.trace_id, "trace-1");
    EXPECT_EQ(facts.stored_request, "");
    EXPECT_TRUE(lease->usable());

    auto fields = hash("job:meta:j1");
    EXPECT_GE(std::stoll(fields.at("updated_at")), before);
    EXPECT_LE(std::stoll(fields.at("updated_at")), server_micros());
    const std::string lives_until = std::to_string(std::stoll(fields.at("updated_at")) + 168LL * 3'600'000'000);
    EXPECT_EQ(fields.at("ls_kept"), lives_until + " acme");
    fields.erase("updated_at");
    fields.erase("ls_kept");
    EXPECT_EQ(fields, (std::map<std::string, std::string>{{"state", "PENDING"},
                                                          {"attempts", "0"},
                                                          {"topic", "job.default"},
                                                          {"tenant", "acme"},
                                                          {"team", ""},
                                                          {"principal", ""},
                                                          {"memory_id", ""},
                                                          {"capability", "ocr"},
                                                          {"trace_id", "trace-1"},
                                                          {"ls_in_hand", "token 0 0 beside"}}));
    EXPECT_EQ(text({"GET", "job:state:j1"}), "PENDING");
    EXPECT_EQ(history("j1"), Texts{"PENDING"});
    EXPECT_EQ(listed("j1"), Texts{"PENDING"});
    EXPECT_EQ(texts({"ZRANGE", "job:recent", "0", "-1"}), Texts{"j1"});
    EXPECT_EQ(texts({"SMEMBERS", "job:tenant:active:acme"}), Texts{"j1"});
    EXPECT_EQ(texts({"SMEMBERS", "trace:trace-1"}), Texts{"j1"});
    EXPECT_EQ(text({"GET", "cordum:scheduler:job:j1"}), "token");
}

TEST_F(StoreTakeUp, WhatDoesNotComeBackIsCountedUntilSomethingDoes) {
    const auto lost_with = [this](JobLease& lease) {
        const engine::LostHandlings lost = take_up(lease, request_for("j1"), {}).lost;
        return std::pair(lost.beside_others, lost.alone);
    };
    const auto slow = lease_for("j1", "slow");
    EXPECT_EQ(lost_with(*slow), std::pair(0L, 0L));
    run({"DEL", "cordum:scheduler:job:j1"});
    const auto alone = lease_for("j1", "alone");
    EXPECT_EQ(lost_with(*alone), std::pair(1L, 0L));
    EXPECT_TRUE(loop.wait(alone->goes_on_alone()));
    EXPECT_EQ(field("j1", "ls_in_hand"), "alone 1 0 alone");
    run({"DEL", "cordum:scheduler:job:j1"});
    EXPECT_FALSE(loop.wait(alone->goes_on_alone())) << "it has lost the lock";
    const auto result = lease_for("j1", "result");
    const engine::LostHandlings lost = loop.wait(store->take_lock(*result)).value()->lost;
    EXPECT_EQ(std::pair(lost.beside_others, lost.alone), std::pair(1L, 1L)) << "whoever takes it counts";
    loop.wait(slow->release());
    EXPECT_EQ(field("j1", "ls_in_hand"), "result 0 0 beside") << "one that was slow has come back";
    EXPECT_EQ(text({"GET", "cordum:scheduler:job:j1"}), "result");
    loop.wait(result->release());
    EXPECT_FALSE(exists("cordum:scheduler:job:j1"));
    EXPECT_EQ(*run({"HEXISTS", "job:meta:j1", "ls_in_hand"}).integer(), 0);
    EXPECT_EQ(lost_with(*lease_for("j1", "next")), std::pair(0L, 0L));
}

TEST_F(StoreTakeUp, OfAJobThatHasEndedOrIsUnknownNobodyKeepsCount) {
    const auto unknown = lease_for("j2");
    EXPECT_TRUE(loop.wait(store->take_lock(*unknown)).value());
    EXPECT_FALSE(exists("job:meta:j2"));
    const auto lease = taken_up("j1");
    EXPECT_TRUE(loop.wait(store->cancel(engine::JobId("j1"))).applied());
    run({"DEL", "cordum:scheduler:job:j1"});
    EXPECT_EQ(take_up(*lease_for("j1", "late"), request_for("j1"), {}).lost.beside_others, 0);
    EXPECT_EQ(field("j1", "ls_in_hand"), "token 0 0 beside");
}

// D-29: an id that a step will have some day may be used by the run's own tenant only.
TEST_F(StoreTakeUp, ANewJobWithTheIdOfAStepOfAnotherTenantsRunIsRefused) {
    const auto refusal = [this](const std::string& job) {
        const auto lease = lease_for(job);
        const auto taken = loop.wait(store->take_up(*lease, request_for(job), {}));
        if (taken.value()->refused.empty()) return std::string(lease->usable() ? "taken up" : "?");
        EXPECT_FALSE(lease->usable());
        EXPECT_FALSE(exists("cordum:scheduler:job:" + job) || exists("job:meta:" + job) || exists("job:req:" + job) ||
                     exists("job:state:" + job));
        return std::string(taken.value()->refused);
    };
    const std::string refused = "its id is that of a step of another tenant's run";
    run({"SET", "wf:run:theirs", R"({"id":"theirs","org_id":"initech","input":{"org_id":"acme"}})"});
    run({"SADD", "wf:runs:active:initech", "theirs"});
    EXPECT_EQ(refusal("theirs:gate@1"), refused);
    EXPECT_EQ(refusal("theirs:each[3]@12"), refused);
    run({"SREM", "wf:runs:active:initech", "theirs"});
    EXPECT_EQ(refusal("theirs:gate@1"), refused) << "the state of the run does not matter";
    EXPECT_EQ(refusal("theirs:gate"), "taken up");
    EXPECT_EQ(refusal("nobodys:gate@1"), "taken up");
    run({"SET", "wf:run:default", R"({"id":"default"})"});
    EXPECT_EQ(refusal("default:gate@1"), refused) << "a run without an org is the default tenant's";
    run({"SET", "wf:run:own", R"({"id":"own","org_id":" acme "})"});
    EXPECT_EQ(refusal("own:gate@1"), "taken up");
    run({"SADD", "wf:runs:active:acme", "listed"});
    run({"SET", "wf:run:listed", "not looked at"});
    EXPECT_EQ(refusal("listed:gate@1"), "taken up");
    run({"HSET", "job:meta:theirs:known@1", "state", "PENDING", "tenant", "acme"});
    EXPECT_EQ(refusal("theirs:known@1"), "taken up") << "of a job that is recorded";
}

TEST_F(StoreTakeUp, WhatAGatewayHasWrittenWithoutAnExpiryGetsOne) {
    run({"HSET", "job:meta:j1", "state", "PENDING", "tenant", "acme"});
    run({"SET", "job:state:j1", "PENDING"});
    run({"RPUSH", "job:events:j1", "1|PENDING"});
    run({"SADD", "trace:t", "j1"});
    const auto lease = lease_for("j1");
    take_up(*lease, request_for("j1"), "t");
    EXPECT_GT(ttl("trace:t"), 167h);
    walk(*lease, {scheduled, dispatched, running});
    EXPECT_GT(ttl("job:events:j1"), 167h);
    EXPECT_EQ(history("j1").size(), 4U);
}

TEST_F(StoreTakeUp, AHistoryThatWasEvictedIsNotKeptForEver) {
    const auto lease = taken_up("j1");
    EXPECT_GT(ttl("job:events:j1"), 167h);
    run({"DEL", "job:events:j1"});
    walk(*lease, {scheduled, dispatched});
    EXPECT_GT(ttl("job:events:j1"), 167h);
}

TEST_F(StoreTakeUp, AHistoryThatAnApprovalHasBegunAnewIsNotKeptForEver) {
    const auto lease = taken_up("j1");
    loop.wait(lease->release());
    run({"DEL", "job:events:j1"});
    run({"RPUSH", "job:events:j1", "5|PENDING"});  // by a gateway, without an expiry
    take_up(*lease, request_for("j1"));
    EXPECT_GT(ttl("job:events:j1"), 167h);
}

TEST_F(StoreTakeUp, TheStoredRequestIsThatOfTheGatewayAndKeepsForTheMetadatasTime) {
    auto request = request_for("j1");
    (*request.mutable_labels())["b"] = "2";
    (*request.mutable_labels())["a"] = "\"1\"";
    request.mutable_budget()->set_deadline_ms(9'000'000'000);
    const auto lease = lease_for("j1");
    take_up(*lease, request);
    const std::string stored = text({"GET", "job:req:j1"});
    EXPECT_EQ(stored, engine::wire::to_json(request, engine::wire::Unpopulated::emit));
    EXPECT_NE(stored.find(R"("deadlineMs":"9000000000")"), std::string::npos) << stored;
    EXPECT_NE(stored.find(R"("labels":{"a":"\"1\"","b":"2"})"), std::string::npos) << stored;
    for (const char* key : {"job:req:j1", "job:meta:j1", "job:state:j1"}) {
        EXPECT_GT(ttl(key), 167h) << key;
        EXPECT_LE(ttl(key), 168h) << key;
    }
    EXPECT_LE(ttl("cordum:scheduler:job:j1"), 60s);
    EXPECT_GT(ttl("cordum:scheduler:job:j1"), 50s);
}

// LOCK-01
TEST_F(StoreTakeUp, ALockHeldByAnotherIsAnAnswerAndWritesNothing) {
    run({"SET", "cordum:scheduler:job:j1", "somebody else"});
    const auto before = content();
    const auto lease = lease_for("j1");
    EXPECT_TRUE(busy(*lease, request_for("j1")));
    EXPECT_FALSE(lease->usable());
    EXPECT_FALSE(lease->lost());
    EXPECT_TRUE(book.held().empty());
    EXPECT_EQ(content(), before);
}

TEST_F(StoreTakeUp, TheSameTokenAgainHoldsTheLockForItsFullTime) {
    const auto lease = taken_up("j1");
    run({"PEXPIRE", "cordum:scheduler:job:j1", "5000"});
    const auto again = lease_for("j1");
    EXPECT_EQ(take_up(*again, request_for("j1")).state, pending);
    EXPECT_GT(ttl("cordum:scheduler:job:j1"), 50s);
    EXPECT_EQ(history("j1"), Texts{"PENDING"}) << "recorded once";
    run({"PEXPIRE", "cordum:scheduler:job:j1", "5000"});
    EXPECT_TRUE(loop.wait(store->take_lock(*lease_for("j1"))).value());
    EXPECT_GT(ttl("cordum:scheduler:job:j1"), 50s);
}

// C-59, H-07: an older request never overwrites a stored one.
TEST_F(StoreTakeUp, AnotherRequestForAStoredJobChangesNothingAndIsToldOfTheFirst) {
    auto first = taken_up("j1");
    loop.wait(first->release());
    const auto before = content();
    auto other = request_for("j1", "evil");
    other.set_topic("job.other");
    other.mutable_budget()->set_deadline_ms(1);
    other.mutable_meta()->set_idempotency_key("k");
    const auto lease = lease_for("j1");
    const auto taken = loop.wait(store->take_up(*lease, other, {}, {}, 1ms, false));
    ASSERT_TRUE(taken.applied() && taken.value());
    const JobFacts& facts = *taken.value();
    EXPECT_EQ(facts.state, pending);
    EXPECT_EQ(facts.stored_request, before.at("job:req:j1"));
    loop.wait(lease->release());
    EXPECT_EQ(content(), before);
}

TEST_F(StoreTakeUp, AnEvictedHashGetsItsFieldsBack) {
    auto first = taken_up("j1");
    const std::string tenant = field("j1", "tenant");
    ASSERT_NE(tenant, "");
    first.reset();
    run({"DEL", "job:meta:j1", "cordum:scheduler:job:j1"});
    const auto again = taken_up("j1");
    EXPECT_EQ(field("j1", "tenant"), tenant);
    EXPECT_EQ(field("j1", "topic"), "job.default");
}

TEST_F(StoreTakeUp, TheSameRequestAgainIsNotSentBack) {
    loop.wait(taken_up("j1")->release());
    const auto lease = lease_for("j1");
    EXPECT_EQ(take_up(*lease, request_for("j1")).stored_request, "");
}

// STATE-14: the first use of a key stays; tenants do not see each other's.
TEST_F(StoreTakeUp, AnIdempotencyKeyNamesTheFirstJobOfItsTenant) {
    const auto offer = [this](const std::string& job, const std::string& tenant) {
        auto request = request_for(job, tenant);
        request.mutable_meta()->set_idempotency_key("k");
        const auto lease = lease_for(job);
        take_up(*lease, request);
    };
    offer("j1", "a");
    offer("j2", "a");
    offer("j3", "b");
    EXPECT_EQ(text({"GET", "job:idempotency:a:k"}), "j1");
    EXPECT_EQ(text({"GET", "job:idempotency:b:k"}), "j3");
    EXPECT_GT(ttl("job:idempotency:a:k"), 2159h);
    EXPECT_LE(ttl("job:idempotency:a:k"), 2160h);
}

// H-20
TEST_F(StoreTakeUp, ADeadlineIsSetOnceAndCountedFromTheServersTime) {
    auto request = request_for("j1");
    request.mutable_budget()->set_deadline_ms(600'000);
    const auto before = server_micros();
    auto lease = lease_for("j1");
    take_up(*lease, request);
    const std::string deadline = field("j1", "deadline_unix");
    EXPECT_GE(std::stoll(deadline), before + 600'000'000);
    EXPECT_LE(std::stoll(deadline), server_micros() + 600'000'000);
    EXPECT_EQ(text({"ZSCORE", "job:deadline", "j1"}), deadline);
    request.mutable_budget()->set_deadline_ms(1);
    take_up(*lease_for("j1"), request);
    EXPECT_EQ(field("j1", "deadline_unix"), deadline);
    EXPECT_EQ(text({"ZSCORE", "job:deadline", "j1"}), deadline);
}

TEST_F(StoreTakeUp, TellsTheDeadlineAndTheTimeOfTheServer) {
    const auto before = server_micros();
    auto lease = lease_for("j1");
    const JobFacts none = take_up(*lease, request_for("j1"));
    EXPECT_EQ(none.deadline, std::nullopt);
    EXPECT_GE(engine::to_unix_micros(none.taken_up), before);
    EXPECT_LE(engine::to_unix_micros(none.taken_up), server_micros());
    auto limited = request_for("j2");
    limited.mutable_budget()->set_deadline_ms(600'000);
    auto other = lease_for("j2");
    const JobFacts facts = take_up(*other, limited);
    ASSERT_TRUE(facts.deadline);
    EXPECT_EQ(std::to_string(engine::to_unix_micros(*facts.deadline)), field("j2", "deadline_unix"));
}

TEST_F(StoreTakeUp, AnAbsurdDeadlineIsBorne) {
    auto request = request_for("j1");
    request.mutable_budget()->set_deadline_ms(std::numeric_limits<std::int64_t>::max());
    const auto lease = lease_for("j1");
    take_up(*lease, request);
    EXPECT_EQ(texts({"ZRANGEBYSCORE", "job:deadline", "-inf", std::to_string(server_micros())}), Texts{});
    EXPECT_EQ(*run({"ZCARD", "job:deadline"}).integer(), 1);
}

TEST_F(StoreTakeUp, NothingButTheMarkIsWrittenForAJobThatIsAtWorkOrOver) {
    for (const char* state :
         {"DISPATCHED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "TIMEOUT", "DENIED", "OUTPUT_QUARANTINED"}) {
        run({"FLUSHALL"});
        run({"HSET",
             "job:meta:j1",
             "state",
             state,
             "attempts",
             "3",
             "ls_dispatch",
             "2",
             "ls_published",
             "1",
             "ls_worker",
             "w1",
             "trace_id",
             "t",
             "ls_stream_floor",
             "77",
             "ls_stream_server",
             "NABC",
             "updated_at",
             "5"});
        auto before = content();
        const auto lease = lease_for("j1");
        auto request = request_for("j1");
        request.mutable_budget()->set_deadline_ms(5);
        request.mutable_meta()->set_idempotency_key("k");
        const JobFacts facts = take_up(*lease, request, "other trace");
        EXPECT_EQ(facts.state, engine::parse_job_state(state));
        EXPECT_EQ(facts.attempts, 3);
        EXPECT_EQ(facts.dispatch, engine::DispatchNumber(2));
        EXPECT_TRUE(facts.published);
        EXPECT_EQ(facts.worker.text(), "w1");
        EXPECT_EQ(facts.trace_id, "t");
        EXPECT_EQ(facts.stream_floor, engine::StreamSequence(77));
        EXPECT_EQ(facts.stream_server, "NABC");
        EXPECT_EQ(engine::to_unix_micros(facts.entered_at), 5);
        before["cordum:scheduler:job:j1"] = "token";
        const bool is_over = is_terminal(*facts.state);
        EXPECT_EQ(text({"HGET", "job:meta:j1", "ls_in_hand"}), is_over ? "" : "token 0 0 beside");
        run({"HDEL", "job:meta:j1", "ls_in_hand"});
        EXPECT_EQ(content(), before) << state;
    }
}

TEST_F(StoreTakeUp, AStateThatOnlyTheMirrorKnowsCounts) {
    run({"SET", "job:state:j1", "RUNNING"});
    const auto lease = lease_for("j1");
    EXPECT_EQ(take_up(*lease, request_for("j1")).state, running);
}

TEST_F(StoreTakeUp, CountersThatCannotBeReadCountAsNothing) {
    for (const auto& [stored, read] : std::map<std::string, int>{{"7", 7},
                                                                 {"007", 7},
                                                                 {"", 0},
                                                                 {"abc", 0},
                                                                 {"-4", 0},
                                                                 {"1e3", 0},
                                                                 {"inf", 0},
                                                                 {"nan", 0},
                                                                 {"0x10", 0},
                                                                 {"1.5", 0},
                                                                 {"99999999999999999999", 0}}) {
        run({"FLUSHALL"});
        run({"HSET", "job:meta:j1", "state", "PENDING", "attempts", stored, "ls_dispatch", stored});
        const auto lease = lease_for("j1");
        const JobFacts facts = take_up(*lease, request_for("j1"));
        EXPECT_EQ(facts.attempts, read) << '"' << stored << '"';
        EXPECT_EQ(facts.dispatch.value(), static_cast<std::uint64_t>(read)) << '"' << stored << '"';
        Commit step;
        step.walk = {scheduled, dispatched};
        step.add_attempts = 1;
        step.begin_dispatch = true;
        step.expected_dispatch = facts.dispatch;
        const Committed committed = commit(*lease, std::move(step));
        EXPECT_EQ(committed.kind, Committed::Kind::ok) << '"' << stored << '"';
        EXPECT_EQ(committed.attempts, read + 1) << '"' << stored << '"';
        EXPECT_EQ(committed.dispatch.value(), static_cast<std::uint64_t>(read) + 1) << '"' << stored << '"';
    }
}

TEST_F(StoreTakeUp, AResultsLockReadsWhatItNeeds) {
    auto lease = lease_for("j1");
    take_up(*lease, request_for("j1"), "trace-1");
    loop.wait(lease->release());
    const auto again = lease_for("j1", "second");
    const auto taken = loop.wait(store->take_lock(*again));
    ASSERT_TRUE(taken.applied() && taken.value());
    EXPECT_EQ(taken.value()->state, pending);
    EXPECT_EQ(taken.value()->topic, "job.default");
    EXPECT_EQ(taken.value()->tenant, "acme");
    EXPECT_EQ(taken.value()->trace_id, "trace-1");
    const auto third = lease_for("j1", "third");
    const auto refused = loop.wait(store->take_lock(*third));
    EXPECT_TRUE(refused.applied() && !refused.value());
    const auto unknown = lease_for("nobody");
    EXPECT_EQ(loop.wait(store->take_lock(*unknown)).value()->state, std::nullopt);
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
