#include "sim/oracles/records_true.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "engine/wire/json.h"
#include "engine/wire/packet.h"
#include "engine/wire/sha256.h"
#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using fakes::redis::kNever;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kReplica;

constexpr std::int64_t kDate = 1'700'000'000'000;
constexpr const char* kMicros = "1700000000000000";
constexpr const char* kCreated = "2023-11-14T22:13:20.000123Z";

class RecordsTrueTest : public ::testing::Test {
protected:
    RecordsTrueTest() {
        judge.watch(keys);
        keys.add_observer(oracle);
    }

    template <class... Changes>
    void command(fakes::NodeId client, Changes... changes) {
        const std::string_view words[] = {"EVALSHA", "sha1"};
        keys.act_for(client);
        keys.tell_command(client, words, kDate);
        (changes(), ...);
        keys.tell_command(client, {}, kDate);
    }
    auto field(std::string name, std::string value) {
        return [this, name, value] { keys.hash_set(at<fakes::redis::Hash>("job:meta:a"), name, value); };
    }
    auto text(std::string key, std::string value) {
        return [this, key, value] { keys.set_string(key, value, kNever); };
    }
    auto score(std::string key, double at_score) {
        return [this, key, at_score] { keys.zset_set(at<fakes::redis::SortedSet>(key), "a", at_score); };
    }
    auto entry(std::string key, std::string value) {
        return [this, key, value] { keys.list_insert(at<fakes::redis::List>(key), 0, value); };
    }
    /// The entry of a job on `job.x` that has been tried once and was RUNNING.
    auto letter(std::string status, std::string code, std::string reason) {
        return text("dlq:entry:a",
                    fmt::format(R"({{"job_id":"a","topic":"job.x","status":"{}","reason_code":"{}","reason":"{}",)"
                                R"("last_state":"RUNNING","attempts":1,"created_at":"{}"}})",
                                status, code, reason, kCreated));
    }
    void running() {
        command(kReplica, field("topic", "job.x"), field("attempts", "1"), field("state", "RUNNING"));
        EXPECT_THAT(judge.found, IsEmpty());
    }
    void reports(cap::JobStatus status, const std::string& code, const std::string& message) {
        cap::JobResult result;
        result.set_job_id("a");
        result.set_status(status);
        result.set_error_code(code);
        result.set_error_message(message);
        const auto packet = engine::wire::make_packet(std::move(result), "trace", "w", {});
        fakes::Event event = testing::event_of(EventKind::deliver, "a");
        event.packet = &packet;
        judge.tell(oracle, event, {});
    }
    void tells(cap::JobStatus status, const std::string& code, const std::string& message, int number,
               const std::string& trace = "a") {
        cap::JobResult result;
        result.set_job_id("a");
        result.set_status(status);
        result.set_error_code(code);
        result.set_error_message(message);
        result.set_error_code_enum(static_cast<cap::ErrorCode>(number));
        const auto packet = engine::wire::make_packet(std::move(result), trace, "cordum-scheduler", {});
        fakes::Event event = testing::event_of(EventKind::publish, "a", When::before);
        event.node = kReplica;
        event.subject = engine::wire::kSubjectDlq;
        event.packet = &packet;
        judge.tell(oracle, event, {});
    }
    template <class Answer>
    void hears(EventKind kind, Answer answer) {
        answer.set_reason("because");
        answer.set_rule_id("r1");
        answer.set_policy_snapshot("s1");
        const std::string bytes = answer.SerializeAsString();
        fakes::Event event = testing::event_of(kind, "a", When::answered);
        event.node = kReplica;
        event.payload = bytes;
        judge.tell(oracle, event, {});
    }

    template <class Container>
    fakes::redis::Keyspace::Node& at(std::string_view key) {
        auto* node = keys.find(key);
        return node != nullptr ? *node : keys.create<Container>(key);
    }

    testing::KeepingJudge judge;
    RecordsTrue oracle{judge};
    fakes::redis::Keyspace keys;
};

// Dead letters ----------------------------------------------------------------------------------------------------------

TEST_F(RecordsTrueTest, ALetterSaysWhatBecameOfTheJob) {
    running();
    command(kReplica, field("state", "TIMEOUT"), field("failure_reason", "timeout: RUNNING >15m"),
            letter("JOB_STATUS_TIMEOUT", "timeout", "timeout: RUNNING >15m"));
    EXPECT_THAT(judge.found, IsEmpty());
    tells(cap::JOB_STATUS_TIMEOUT, "timeout", "timeout: RUNNING >15m", 200);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RecordsTrueTest, ACodeOfAnotherEndIsObjectedTo) {
    running();
    command(kReplica, field("state", "TIMEOUT"), letter("JOB_STATUS_DENIED", "safety_denied", "no"));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it is not of that end")));
}

TEST_F(RecordsTrueTest, SoIsAStatusThatDoesNotGoWithTheCode) {
    running();
    command(kReplica, field("state", "TIMEOUT"), letter("JOB_STATUS_FAILED", "timeout", "timeout: x"));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it has another status")));
}

TEST_F(RecordsTrueTest, WhatAWorkerHasReportedIsPassedOn) {
    running();
    reports(cap::JOB_STATUS_FAILED, "oom", "out of memory");
    command(kReplica, field("state", "FAILED"), letter("JOB_STATUS_FAILED", "oom", "out of memory"));
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RecordsTrueTest, AndNothingElse) {
    running();
    reports(cap::JOB_STATUS_FAILED, "oom", "out of memory");
    command(kReplica, field("state", "FAILED"), letter("JOB_STATUS_FAILED", "oom", "something"));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("no worker has reported that")));
}

TEST_F(RecordsTrueTest, TopicTriesStateAndReasonAreThoseOfTheRecord) {
    running();
    command(kReplica, field("state", "TIMEOUT"), field("attempts", "2"), field("failure_reason", "timeout: y"),
            letter("JOB_STATUS_TIMEOUT", "timeout", "timeout: x"));
    EXPECT_THAT(judge.found,
                ElementsAre(HasSubstr("counts 1 tries, and its record 2"), HasSubstr("gives the reason 'timeout: x'")));
}

TEST_F(RecordsTrueTest, ALetterHasTheDocumentedFieldsAndNoOthers) {
    command(kReplica, text("dlq:entry:poison:S:1", R"({"job_id":"poison:S:1","code":"x"})"));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("has a code, which no letter has")));
    command(kReplica, text("dlq:entry:b", R"({"job_id":"b","created_at":1700000000})"));
    EXPECT_THAT(judge.found.back(), HasSubstr("created_at that is no time"));
    command(Topology::kGateway, text("dlq:entry:c", "{}"));
    EXPECT_EQ(judge.found.size(), 2U) << "a gateway's letters are its own";
}

TEST_F(RecordsTrueTest, TheBusIsToldTheSame) {
    running();
    command(kReplica, field("state", "TIMEOUT"), letter("JOB_STATUS_TIMEOUT", "timeout", "timeout: x"));
    tells(cap::JOB_STATUS_FAILED, "timeout", "timeout: x", 200);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("and the bus is told JOB_STATUS_FAILED")));
    tells(cap::JOB_STATUS_TIMEOUT, "timeout", "timeout: x", 0);
    EXPECT_THAT(judge.found.back(), HasSubstr("the bus is told of timeout by number 0, which is 200"));
    tells(cap::JOB_STATUS_TIMEOUT, "timeout", "timeout: x", 200, "b");
    EXPECT_THAT(judge.found.back(), HasSubstr("under the trace b"));
}

TEST_F(RecordsTrueTest, TheBusMayBeToldOfALetterThatWasEvicted) {
    running();
    command(kReplica, field("state", "TIMEOUT"), letter("JOB_STATUS_TIMEOUT", "timeout", "timeout: x"));
    running();
    keys.remove(*keys.find("dlq:entry:a"), fakes::redis::Removal::evicted);
    command(kReplica, field("state", "TIMEOUT"), letter("JOB_STATUS_TIMEOUT", "timeout", "timeout: found without one"));
    tells(cap::JOB_STATUS_TIMEOUT, "timeout", "timeout: x", 200);
    tells(cap::JOB_STATUS_TIMEOUT, "timeout", "timeout: found without one", 200);
    EXPECT_THAT(judge.found, IsEmpty());
    tells(cap::JOB_STATUS_TIMEOUT, "timeout", "timeout: y", 200);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("and the bus is told JOB_STATUS_TIMEOUT, timeout (timeout: y)")));
}

// Times -----------------------------------------------------------------------------------------------------------------

TEST_F(RecordsTrueTest, TimesAreMicrosecondsAndThoseOfLettersSeconds) {
    command(kReplica, field("state", "PENDING"), field("updated_at", kMicros), score("job:index:pending", 1.7e15),
            score("dlq:index", 1.7e9), entry("job:events:a", fmt::format("{}|PENDING", kMicros)));
    EXPECT_THAT(judge.found, IsEmpty());
    command(kReplica, score("job:recent", 1.7e12));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("job:recent is dated 1700000000 ms")));
    command(kReplica, score("dlq:index", 1.7e15));
    EXPECT_THAT(judge.found.back(), HasSubstr("dlq:index is dated"));
    command(kReplica, entry("job:events:a", "1700000000|RUNNING"));
    EXPECT_THAT(judge.found.back(), HasSubstr("its history is dated"));
}

TEST_F(RecordsTrueTest, AnIndexSaysWhatTheRecordSays) {
    command(kReplica, field("updated_at", kMicros), score("job:index:pending", 1.7e15 + 1));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("job:index:pending lists it under 1700000000000001")));
    command(kReplica, field("deadline_unix", "1700000060000000"), score("job:deadline", 1.70000006e12));
    EXPECT_THAT(judge.found.back(), HasSubstr("job:deadline lists it under 1700000060000,"));
}

// The request -----------------------------------------------------------------------------------------------------------

TEST_F(RecordsTrueTest, TheRecordSaysWhatTheRequestSays) {
    cap::JobRequest request;
    request.set_job_id("a");
    request.set_topic(" job.x ");
    request.set_principal_id("p");
    (*request.mutable_env())["tenant_id"] = "acme";
    (*request.mutable_labels())["k"] = "1";
    (*request.mutable_meta()->mutable_labels())["k"] = "2";
    request.mutable_meta()->add_risk_tags("secrets");
    const std::string json = engine::wire::to_json(request, engine::wire::Unpopulated::emit);
    command(kReplica, text("job:req:a", json), field("topic", "job.x"), field("tenant", "acme"),
            field("principal", "p"), field("actor_id", "p"), field("labels", R"({"k":"2"})"),
            field("risk_tags", R"(["secrets"])"));
    EXPECT_THAT(judge.found, IsEmpty());
    keys.remove(*keys.find("job:req:a"));
    command(kReplica, text("job:req:a", json), field("topic", "job.x"), field("tenant", "default"),
            field("principal", "p"), field("actor_id", "p"), field("labels", R"({"k":"1"})"),
            field("risk_tags", R"(["secrets"])"));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the tenant 'acme', and its record says 'default'"),
                                         HasSubstr(R"(the labels '{"k":"2"}')")));
}

// Policy ----------------------------------------------------------------------------------------------------------------

TEST_F(RecordsTrueTest, ARecordedDecisionIsOneThatWasHeard) {
    cap::PolicyCheckResponse answer;
    answer.set_decision(cap::DECISION_TYPE_DENY);
    hears(EventKind::kernel_check, answer);
    const auto decided = [this](const char* rule) {
        command(kReplica, field("safety_decision", "DENY"), field("safety_reason", "because"),
                field("safety_rule_id", rule), field("safety_snapshot", "s1"), field("safety_checked_at", kMicros));
    };
    decided("r1");
    EXPECT_THAT(judge.found, IsEmpty());
    decided("s1");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("policy has decided DENY ('because', rule 's1', snapshot 's1')")));
}

TEST_F(RecordsTrueTest, TheListOfDecisionsSaysTheSame) {
    cap::PolicyCheckResponse answer;
    answer.set_decision(cap::DECISION_TYPE_ALLOW);
    hears(EventKind::kernel_check, answer);
    const auto decided = [this](const std::string& decision) {
        command(kReplica, field("safety_decision", "ALLOW"), field("safety_reason", "because"),
                field("safety_rule_id", "r1"), field("safety_snapshot", "s1"),
                entry("job:decisions:a",
                      fmt::format(R"({{"decision":"{}","reason":"because","rule_id":"r1","policy_snapshot":"s1",)"
                                  R"("approval_ref":"","approval_required":false,"checked_at":{}}})",
                                  decision, kMicros)));
    };
    decided("ALLOW");
    EXPECT_THAT(judge.found, IsEmpty());
    decided("DENY");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its list of decisions gets")));
}

TEST_F(RecordsTrueTest, OfTwoDeadlinesThatOneCommandWritesTheLastCounts) {
    running();
    command(kReplica, field("deadline_unix", "1700000900000000"), score("job:deadline", 1700000900000000),
            field("deadline_unix", "1700000100000000"), score("job:deadline", 1700000100000000));
    EXPECT_THAT(judge.found, IsEmpty());
}

// Outputs ---------------------------------------------------------------------------------------------------------------

TEST_F(RecordsTrueTest, ARecordedVerdictIsOneThatWasHeardAndOfItsPhase) {
    running();
    cap_output::OutputCheckResponse answer;
    answer.set_decision(cap_output::OUTPUT_DECISION_QUARANTINE);
    hears(EventKind::output_check, answer);
    const auto judged = [this](const char* state, const char* phase, const char* decision, const char* rule) {
        const std::string record = fmt::format(
            R"({{"decision":"{}","reason":"because","rule_id":"{}","policy_snapshot":"s1","checked_at":{},"phase":"{}"}})",
            decision, rule, kMicros, phase);
        command(kReplica, text("job:a:output_decision", record), field("output_safety", record), field("state", state));
    };
    judged("SUCCEEDED", "sync", "QUARANTINE", "r1");
    judged("OUTPUT_QUARANTINED", "async", "QUARANTINE", "r1");
    EXPECT_THAT(judge.found, IsEmpty());
    command(kReplica, field("state", "SUCCEEDED"));
    judged("SUCCEEDED", "sync", "QUARANTINE", "r1");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is of the phase 'sync', and it was SUCCEEDED")));
    judged("SUCCEEDED", "async", "ALLOW", "r1");
    EXPECT_THAT(judge.found.back(), HasSubstr("a verdict on its output that nobody has heard"));
    judged("SUCCEEDED", "async", "QUARANTINE", "r2");
    EXPECT_THAT(judge.found.back(), HasSubstr("a verdict on its output that nobody has heard"));
    command(kReplica, field("output_safety", "{}"));
    EXPECT_THAT(judge.found.back(), HasSubstr("is not recorded alike"));
}

class RedactionsTrueTest : public RecordsTrueTest {
protected:
    /// Policy is shown `content`, of an output of `size` bytes, and has these findings: first byte and length.
    void finds(const std::string& content, std::int64_t size, std::vector<std::pair<int, int>> places) {
        cap_output::OutputCheckRequest question;
        question.set_output_content(content);
        question.set_output_size_bytes(size);
        cap_output::OutputCheckResponse answer;
        answer.set_decision(cap_output::OUTPUT_DECISION_REDACT);
        for (const auto& [offset, length] : places) {
            auto& finding = *answer.add_findings();
            finding.set_offset(offset);
            finding.set_length(length);
        }
        findings = places.size();
        const std::string asked = engine::wire::serialise(question);
        const std::string told = engine::wire::serialise(answer);
        for (const auto& [when, bytes] : {std::pair{When::before, &asked}, {When::answered, &told}}) {
            fakes::Event event = testing::event_of(EventKind::output_check, "a", when);
            event.node = kReplica;
            event.payload = *bytes;
            judge.tell(oracle, event, {});
        }
    }
    void redact() {
        std::string found;
        for (std::size_t i = 0; i < findings; ++i) found += i == 0 ? R"({"detail":""})" : R"(,{"detail":""})";
        const std::string record = fmt::format(
            R"({{"decision":"REDACT","redacted_ptr":"redis://res:a:redacted:1","checked_at":{},"phase":"sync","findings":[{}]}})",
            kMicros, found);
        command(kReplica, text("job:a:output_decision", record), field("output_safety", record),
                field("result_ptr", "redis://res:a:redacted:1"), field("state", "SUCCEEDED"));
    }
    void stand_in(const std::string& content) { command(kReplica, text("res:a:redacted:1", content)); }

    std::size_t findings = 0;
};

TEST_F(RedactionsTrueTest, EveryPlaceIsReplacedHoweverTheyOverlap) {
    running();
    finds("write to ann@example.org, please", 32, {{0, 25}, {9, 15}, {26, 99}});
    stand_in("[REDACTED] [REDACTED]");
    redact();
    EXPECT_THAT(judge.found, IsEmpty());
    running();
    stand_in("[REDACTED], please");
    redact();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("by what policy has found it is '[REDACTED] [REDACTED]'")));
}

TEST_F(RedactionsTrueTest, WithoutAPlaceAllIsReplacedAndSoIsWhatNobodyHasSeen) {
    running();
    finds("secret", 6, {});
    stand_in("[REDACTED]");
    redact();
    running();
    finds("0123", 9, {{0, 1}});
    stand_in("[REDACTED]123[REDACTED]");
    redact();
    EXPECT_THAT(judge.found, IsEmpty());
    running();
    stand_in("secret");
    redact();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("what stands in for its output is 'secret'")));
}

TEST_F(RedactionsTrueTest, WhatStandsInIsJudgedUnlessRedisHasLostTheJob) {
    running();
    finds("secret", 6, {});
    stand_in("secret");
    keys.restore([] {});
    redact();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("what stands in for its output is 'secret'")));
    judge.found.clear();
    keys.restore([this] { keys.hash_set(*keys.find("job:meta:a"), "state", "RUNNING"); });
    redact();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RedactionsTrueTest, WhatStandsInIsThere) {
    running();
    finds("secret", 6, {});
    redact();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("and nothing is there")));
}

TEST_F(RecordsTrueTest, JobsOfWhichSomethingIsLostAreLeftOut) {
    running();
    keys.act_for({});
    keys.remove(*keys.find("job:meta:a"), fakes::redis::Removal::evicted);
    command(kReplica, field("state", "TIMEOUT"), letter("JOB_STATUS_TIMEOUT", "timeout", "timeout: x"));
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RecordsTrueTest, AnApprovalIsBoundToAStoredRequest) {
    cap::JobRequest request;
    request.set_job_id("a");
    request.set_topic("job.x");
    (*request.mutable_labels())["safety_bypassed"] = "true";
    command(Topology::kGateway, text("job:req:a", engine::wire::to_json(request)));
    cap::PolicyCheckResponse answer;
    answer.set_decision(cap::DECISION_TYPE_REQUIRE_HUMAN);
    hears(EventKind::kernel_check, answer);
    const auto asked = [this](const std::string& hash) {
        command(kReplica, field("safety_decision", "REQUIRE_APPROVAL"), field("safety_reason", "because"),
                field("safety_rule_id", "r1"), field("safety_snapshot", "s1"), field("safety_job_hash", hash));
    };
    asked(engine::wire::sha256_hex(engine::wire::serialise(request)));
    EXPECT_THAT(judge.found, IsEmpty());
    request.clear_labels();
    asked(engine::wire::sha256_hex(engine::wire::serialise(request)));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("none of its stored requests has that")));
}

TEST_F(RecordsTrueTest, EveryDispatchHasAMessageIdOfItsOwn) {
    const auto send = [this](const char* number, const char* id) {
        command(kReplica, field("ls_dispatches", number));
        fakes::Event event = testing::event_of(EventKind::publish, "a", When::before);
        event.node = kReplica;
        event.subject = "worker.w.jobs";
        event.message_id = id;
        judge.tell(oracle, event, {});
    };
    running();
    send("1", "jobreq:a:1");
    send("1", "jobreq:a:1");
    send("2", "jobreq:a:2");
    EXPECT_THAT(judge.found, IsEmpty());
    send("3", "jobreq:a:2");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("and so had number 2")));
}

TEST_F(RecordsTrueTest, SettingsAreAddedToAndNotChanged) {
    command(Topology::kOperator,
            text("cfg:system:default", R"({"data":{"pools":{"topics":{"a":["x"]}}},"revision":3})"));
    command(kReplica, text("cfg:system:default",
                           R"({"data":{"pools":{"topics":{"a":["x"],"b":["y"]}},"_poolsFileHash":"h"},"revision":4})"));
    EXPECT_THAT(judge.found, IsEmpty());
    command(kReplica,
            text("cfg:system:default", R"({"data":{"pools":{"topics":{"a":["z"],"b":["y"]}}},"revision":5})"));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("data.pools.topics.a is not what stood there")));
    judge.found.clear();
    command(kReplica,
            text("cfg:system:default", R"({"data":{"pools":{"topics":{"a":["z"],"b":["y"]}}},"revision":9})"));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("writes revision 9")));
}

TEST_F(RecordsTrueTest, AStoredRequestIsNotReplaced) {
    const std::string first = R"({"job_id":"a","topic":"job.x"})";
    command(kReplica, text("job:req:a", first), field("topic", "job.x"), field("tenant", "default"));
    command(kReplica, text("job:req:a", first));
    EXPECT_THAT(judge.found, IsEmpty());
    command(Topology::kGateway, text("job:req:a", R"({"job_id":"a","topic":"job.x","labels":{"a":"b"}})"));
    EXPECT_THAT(judge.found, IsEmpty()) << "a gateway writes that it is approved";
    command(kReplica, text("job:req:a", R"({"job_id":"a","topic":"job.y"})"));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its stored request is replaced")));
}

TEST_F(RecordsTrueTest, AnIdempotencyKeyIsThatOfTheRequestUnderItsTenant) {
    const std::string request =
        R"({"job_id":"a","topic":"job.x","tenant_id":"acme","meta":{"idempotency_key":"once"}})";
    command(kReplica, text("job:req:a", request), field("topic", "job.x"), field("tenant", "acme"),
            field("idempotency_key", "once"), text("job:idempotency:acme:once", "a"));
    EXPECT_THAT(judge.found, IsEmpty());
    command(kReplica, text("job:idempotency::once", "a"));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("job:idempotency::once is recorded for it, and its request asks for "
                                                   "'job:idempotency:acme:once'")));
}

TEST_F(RecordsTrueTest, TheVerdictOfAScanStandsWhereNothingElseChanges) {
    const auto verdict = [this](const std::string& phase) {
        const std::string record = fmt::format(
            R"({{"decision":"ALLOW","reason":"because","rule_id":"r1","policy_snapshot":"s1","phase":"{}","checked_at":{}}})",
            phase, kMicros);
        return [=, this] {
            field("output_safety", record)();
            text("job:a:output_decision", record)();
        };
    };
    running();
    cap_output::OutputCheckResponse answer;
    answer.set_decision(cap_output::OUTPUT_DECISION_ALLOW);
    hears(EventKind::output_check, answer);
    command(kReplica, verdict("sync"), field("state", "SUCCEEDED"));
    command(kReplica, verdict("async"));
    EXPECT_THAT(judge.found, IsEmpty());
    command(kReplica, verdict("async"));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the verdict of a scan of its output was")));
}

TEST_F(RecordsTrueTest, WhereOneCommandListsAJobTwiceTheLastPlaceCounts) {
    command(kReplica, field("deadline_unix", "2000"), score("job:deadline", 2000), field("deadline_unix", "1000"),
            score("job:deadline", 1000));
    EXPECT_THAT(judge.found, IsEmpty());
    command(kReplica, field("deadline_unix", "500"), score("job:deadline", 700));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("job:deadline lists it under 700, and its record says 500")));
}

}  // namespace
}  // namespace lockstep::sim
