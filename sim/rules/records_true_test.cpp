// What records may say, and which of their errors are noticed.
#include <fmt/core.h>

#include "engine/wire/json.h"
#include "engine/wire/packet.h"
#include "engine/wire/sha256.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kMicros = "1700000000000000";
constexpr const char* kCreated = "2023-11-14T22:13:20.000123Z";

struct RecordsTrueTest : RuleTest {
    RecordsTrueTest() : RuleTest(rules::records_true) {
        now = Time{std::chrono::milliseconds{1'700'000'000'000}};
        define({
            {"running", [this](auto&) { running(); }},
            {"do",
             [this](auto& acts) {
                 command(by, [&] {
                     for (const auto& one : parts_of(acts, ';')) this->act(parts_of(one, '~'));
                 });
             }},
            {"reports", [this](auto& of) { report_parts(parts_of(of, '~')); }},
            {"tells", [this](auto& of) { tell_parts(parts_of(of, '~')); }},
            {"remove", [this](auto& key) { keys.remove(*keys.find(key)); }},
            {"send", [this](auto& of) { send(first(of).c_str(), second(of).c_str()); }},
        });
    }

    auto field(std::string name, std::string value) {
        return [this, name, value] { keys.hash_set(at<Hash>("job:meta:a"), name, value); };
    }
    auto text(std::string key, std::string value) {
        return [this, key, value] { keys.set_string(key, value, kNever); };
    }
    auto score(std::string key, double at_score) {
        return [this, key, at_score] { keys.zset_set(at<SortedSet>(key), "a", at_score); };
    }
    auto entry(std::string key, std::string value) {
        return [this, key, value] { keys.list_insert(at<List>(key), 0, value); };
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
        EXPECT_THAT(found, IsEmpty());
    }
    void reports(cap::JobStatus status, const std::string& code, const std::string& message) {
        cap::JobResult result;
        result.set_job_id("a");
        result.set_status(status);
        result.set_error_code(code);
        result.set_error_message(message);
        const auto packet = engine::wire::make_packet(std::move(result), "trace", "w", {});
        observe(EventKind::deliver, "a", {.packet = &packet});
    }
    void tells(cap::JobStatus status, const std::string& code, const std::string& message, int number,
               const std::string& trace = "a", const std::string& job = "a") {
        cap::JobResult result;
        result.set_job_id(job);
        result.set_status(status);
        result.set_error_code(code);
        result.set_error_message(message);
        result.set_error_code_enum(static_cast<cap::ErrorCode>(number));
        const auto packet = engine::wire::make_packet(std::move(result), trace, "cordum-scheduler", {});
        observe(EventKind::publish, job, {.subject = engine::wire::kSubjectDlq, .packet = &packet}, When::before);
    }
    void send(const char* number, const char* id) {
        command(kReplica, field("ls_dispatches", number));
        observe(EventKind::publish, "a", {.subject = "worker.w.jobs", .message_id = id}, When::before);
    }
    static std::string spaced(std::string text) {
        std::ranges::replace(text, '_', ' ');
        return text;
    }
    static cap::JobStatus status_of(const std::string& name) {
        cap::JobStatus status{};
        EXPECT_TRUE(cap::JobStatus_Parse("JOB_STATUS_" + name, &status)) << name;
        return status;
    }
    /// Of a command that does several, as `act~…`.
    void act(std::vector<std::string> of) {
        of.resize(4);
        if (of[0] == "field") field(of[1], of[2])();
        if (of[0] == "text") text(of[1], of[2])();
        if (of[0] == "score") score(of[1], std::stod(of[2]))();
        if (of[0] == "entry") entry(of[1], of[2])();
        if (of[0] == "because") field("failure_reason", spaced(of[1]))();
        if (of[0] == "letter") letter("JOB_STATUS_" + of[1], of[2], spaced(of[3]))();
    }
    void report_parts(const std::vector<std::string>& of) { reports(status_of(of[0]), of[1], spaced(of[2])); }
    void tell_parts(std::vector<std::string> of) {
        of.resize(5, "a");
        tells(status_of(of[0]), of[1], spaced(of[2]), std::stoi(of[3]), of[4]);
    }
    template <class Answer>
    void answers(EventKind kind, Answer answer) {
        answer.set_reason("because");
        answer.set_rule_id("r1");
        answer.set_policy_snapshot("s1");
        observe(kind, "a", {.payload = answer.SerializeAsString()}, When::answered);
    }
};

// Dead letters ----------------------------------------------------------------------------------------------------------

constexpr Story kRecords[] = {
    {"ALetterSaysWhatBecameOfTheJob",
     "running do=field~state~TIMEOUT;because~timeout:_RUNNING_>15m;letter~TIMEOUT~timeout~timeout:_RUNNING_>15m "
     "tells=TIMEOUT~timeout~timeout:_RUNNING_>15m~200"},
    {"ATimeoutWithAnUnheardResultHasACodeOfItsOwn",
     "running "
     "do=field~state~TIMEOUT;letter~TIMEOUT~timeout_unheard~timeout:_RUNNING_>15m,_and_a_result_has_not_been_heard"},
    {"AndNoOther",
     "running do=field~state~TIMEOUT;letter~TIMEOUT~timeout~timeout:_RUNNING_>15m,_and_a_result_has_not_been_heard",
     "its code is that of another reason"},
    {"ACodeOfAnotherEndIsNone", "running do=field~state~TIMEOUT;letter~DENIED~safety_denied~no",
     "it is not of that end"},
    {"ADenialHasItsReasonFromPolicy", "running do=field~state~DENIED;letter~DENIED~safety_denied~no",
     "policy has not given that reason"},
    {"NorDoesAStatusOfAnotherCode", "running do=field~state~TIMEOUT;letter~FAILED~timeout~timeout:_x",
     "it has another status"},
    {"WhatAWorkerHasReportedIsPassedOn",
     "running reports=FAILED~oom~out_of_memory do=field~state~FAILED;letter~FAILED~oom~out_of_memory"},
    {"AndNothingElse", "running reports=FAILED~oom~out_of_memory do=field~state~FAILED;letter~FAILED~oom~something",
     "no worker has reported that"},
    {"TopicTriesStateAndReasonAreThoseOfTheRecord",
     "running do=field~state~TIMEOUT;field~attempts~2;because~timeout:_y;letter~TIMEOUT~timeout~timeout:_x",
     "counts 1 tries, and its record 2|gives the reason 'timeout: x'"},
    // A gateway's dead letters are its own.
    {"ALetterHasTheDocumentedFieldsAndNoOthers",
     "do=text~dlq:entry:poison:S:1~{\"job_id\":\"poison:S:1\",\"code\":\"x\"} "
     "do=text~dlq:entry:b~{\"job_id\":\"b\",\"created_at\":1700000000} do=text~dlq:entry:c~{}@gateway",
     "has a code, which no letter has|created_at that is no time"},
    {"AWarningHasTheStatusOfItsCode", "tells=FAILED~quarantine_failed~~0 ok tells=DENIED~quarantine_failed~~0",
     "a: quarantine_failed is published with JOB_STATUS_DENIED"},
    {"ThePublicationSaysTheSame",
     "running do=field~state~TIMEOUT;letter~TIMEOUT~timeout~timeout:_x tells=FAILED~timeout~timeout:_x~200 "
     "tells=TIMEOUT~timeout~timeout:_x~0 tells=TIMEOUT~timeout~timeout:_x~200~b",
     "and JOB_STATUS_FAILED, timeout (timeout: x) is published|timeout is published with the number 0, which is "
     "200|under the trace b"},
    {"ALetterThatWasEvictedMayStillBePublished",
     "running do=field~state~TIMEOUT;letter~TIMEOUT~timeout~timeout:_x running evict=dlq:entry:a "
     "do=field~state~TIMEOUT;letter~TIMEOUT~timeout~timeout:_found_without_one tells=TIMEOUT~timeout~timeout:_x~200 "
     "tells=TIMEOUT~timeout~timeout:_found_without_one~200 ok tells=TIMEOUT~timeout~timeout:_y~200",
     "and JOB_STATUS_TIMEOUT, timeout (timeout: y) is published"},
    {"TimesAreMicrosecondsAndThoseOfLettersSeconds",
     "do=field~state~PENDING;field~updated_at~1700000000000000;score~job:index:pending~1.7e15;score~dlq:index~1.7e9;"
     "entry~job:events:a~1700000000000000|PENDING ok do=score~job:recent~1.7e12 do=score~dlq:index~1.7e15 "
     "do=entry~job:events:a~1700000000|RUNNING do=entry~job:events:a~now|RUNNING do=field~updated_at~now",
     "job:recent is dated 1700000000 ms|dlq:index is dated|its history is dated|its history is dated nan ms|updated_at "
     "is dated nan ms"},
    {"AnIndexSaysWhatTheRecordSays",
     "do=field~updated_at~1700000000000000;score~job:index:pending~1700000000000001 "
     "do=field~deadline_unix~1700000060000000;score~job:deadline~1700000060000",
     "job:index:pending lists it under 1700000000000001|job:deadline lists it under 1700000060000,"},
    {"WhereOneCommandListsAJobTwiceTheLastPlaceCounts",
     "do=field~deadline_unix~2000;score~job:deadline~2000;field~deadline_unix~1000;score~job:deadline~1000 ok "
     "do=field~deadline_unix~500;score~job:deadline~700",
     "job:deadline lists it under 700, and its record says 500"},
    {"OfTwoDeadlinesThatOneCommandWritesTheLastCounts",
     "running "
     "do=field~deadline_unix~1700000900000000;score~job:deadline~1700000900000000;field~deadline_unix~1700000100000000;"
     "score~job:deadline~1700000100000000"},
    // A gateway writes that it is approved.
    {"AStoredRequestIsNotReplaced",
     "do=text~job:req:a~{\"job_id\":\"a\",\"topic\":\"job.x\"};field~topic~job.x;field~tenant~default "
     "do=text~job:req:a~{\"job_id\":\"a\",\"topic\":\"job.x\"} "
     "do=text~job:req:a~{\"job_id\":\"a\",\"topic\":\"job.x\",\"labels\":{\"a\":\"b\"}}@gateway ok "
     "do=text~job:req:a~{\"job_id\":\"a\",\"topic\":\"job.y\"} found=1 remove=job:req:a do=text~job:req:a~{",
     "its stored request is replaced|its stored request cannot be read: {"},
    {"AnIdempotencyKeyIsThatOfTheRequestUnderItsTenant",
     "do=text~job:req:a~{\"job_id\":\"a\",\"topic\":\"job.x\",\"tenant_id\":\"acme\",\"meta\":{\"idempotency_key\":"
     "\"once\"}};field~topic~job.x;field~tenant~acme;field~idempotency_key~once;text~job:idempotency:acme:once~a ok "
     "do=text~job:idempotency::once~a found=1 do=text~job:idempotency:acme:once~b",
     "job:idempotency::once is recorded for it, and its request asks for 'job:idempotency:acme:once'|b: it takes over "
     "the idempotency key of a"},
    {"EveryDispatchHasAMessageIdOfItsOwn",
     "running send=1:jobreq:a:1 send=1:jobreq:a:1 send=2:jobreq:a:2 ok send=3:jobreq:a:2", "and so had number 2"},
    {"JobsOfWhichSomethingIsLostAreLeftOut",
     "running evict=job:meta:a do=field~state~TIMEOUT;letter~TIMEOUT~timeout~timeout:_x"},
    {"SettingsAreAddedToAndNotChanged",
     "do=text~cfg:system:default~{\"data\":{\"pools\":{\"topics\":{\"a\":[\"x\"]}}},\"revision\":3}@operator "
     "do=text~cfg:system:default~{\"data\":{\"pools\":{\"topics\":{\"a\":[\"x\"],\"b\":[\"y\"]}},\"_poolsFileHash\":"
     "\"h\"},\"revision\":4} ok "
     "do=text~cfg:system:default~{\"data\":{\"pools\":{\"topics\":{\"a\":[\"z\"],\"b\":[\"y\"]}}},\"revision\":5} "
     "found=1 "
     "do=text~cfg:system:default~{\"data\":{\"pools\":{\"topics\":{\"a\":[\"z\"],\"b\":[\"y\"]}}},\"revision\":9} "
     "do=text~cfg:system:default~[]",
     "data.pools.topics.a is not what stood there|writes revision 9|it writes settings where there were {\"data\""},
};
using RecordsTold = Told<RecordsTrueTest>;
TEST_P(RecordsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, RecordsTold, ::testing::ValuesIn(kRecords), title_of);

TEST_F(RecordsTrueTest, TriesAreCountedOneAtATimeAndNoneThatPolicyThrottles) {
    running();
    command(kReplica, field("attempts", "1"));
    command(kReplica, field("attempts", "2"));
    EXPECT_THAT(found, IsEmpty());
    command(kReplica, field("attempts", "0"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("its record counts 0 tries, and counted 2 before")));
    command(kReplica, field("attempts", "1"), field("safety_decision", "THROTTLE"));
    EXPECT_THAT(found, Contains(HasSubstr("policy throttles it, and that is counted as a try")));
}

TEST_F(RecordsTrueTest, ALetterIsAboutItsJobAndOfItsTime) {
    const auto write = [this](const char* job, const char* topic, const char* state, const char* created) {
        command(kReplica, field("state", "TIMEOUT"),
                text("dlq:entry:a", fmt::format(R"({{"job_id":"{}","topic":"{}","status":"JOB_STATUS_TIMEOUT",)"
                                                R"("reason_code":"timeout","reason":"timeout: x","last_state":"{}",)"
                                                R"("attempts":1,"created_at":"{}"}})",
                                                job, topic, state, created)));
        keys.remove(*keys.find("dlq:entry:a"));
    };
    running();
    write("a", "job.x", "RUNNING", kCreated);
    EXPECT_THAT(found, IsEmpty());
    write("b", "job.x", "TIMEOUT", kCreated);
    EXPECT_THAT(found, ElementsAre("a: its dead letter is about b"));
    write("a", "job.y", "TIMEOUT", kCreated);
    EXPECT_THAT(found.back(), HasSubstr("names the topic 'job.y', and its record 'job.x'"));
    write("a", "job.x", "PENDING", kCreated);
    EXPECT_THAT(found.back(), HasSubstr("it was PENDING last, and it was TIMEOUT"));
    write("a", "job.x", "TIMEOUT", "2023-11-10T22:13:20Z");
    EXPECT_THAT(found.back(), HasSubstr("was written 345600 s ago"));
    EXPECT_EQ(found.size(), 4U);
}

TEST_F(RecordsTrueTest, EachThatGivesAMessageUpTellsHowOftenItWasDelivered) {
    const std::string name = "poison:S:7";
    command(kReplica, text("dlq:entry:" + name, fmt::format(R"({{"job_id":"{}","status":"JOB_STATUS_FAILED",)"
                                                            R"("reason_code":"poison_message","created_at":"{}",)"
                                                            R"("reason":"delivered 16 times without success"}})",
                                                            name, kCreated)));
    for (const char* reason : {"delivered 16 times without success", "delivered 15 times without success"})
        tells(cap::JOB_STATUS_FAILED, "poison_message", reason, 0, name, name);
    EXPECT_THAT(found, IsEmpty());
    tells(cap::JOB_STATUS_FAILED, "poison_message", "no packet", 0, name, name);
    EXPECT_THAT(found, ElementsAre(HasSubstr("poison_message (no packet) is published")));
}

// Times -----------------------------------------------------------------------------------------------------------------

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
    EXPECT_THAT(found, IsEmpty());
    keys.remove(*keys.find("job:req:a"));
    command(kReplica, text("job:req:a", json), field("topic", "job.x"), field("tenant", "default"),
            field("principal", "p"), field("actor_id", "p"), field("labels", R"({"k":"1"})"),
            field("risk_tags", R"(["secrets"])"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("the tenant 'acme', and its record says 'default'"),
                                   HasSubstr(R"(the labels '{"k":"2"}')")));
}

// Policy ----------------------------------------------------------------------------------------------------------------

TEST_F(RecordsTrueTest, ARecordedDecisionIsOneThatWasAnswered) {
    cap::PolicyCheckResponse answer;
    answer.set_decision(cap::DECISION_TYPE_DENY);
    answers(EventKind::kernel_check, answer);
    const auto decided = [this](const char* rule) {
        command(kReplica, field("safety_decision", "DENY"), field("safety_reason", "because"),
                field("safety_rule_id", rule), field("safety_snapshot", "s1"), field("safety_checked_at", kMicros));
    };
    decided("r1");
    EXPECT_THAT(found, IsEmpty());
    decided("s1");
    EXPECT_THAT(found, ElementsAre(HasSubstr("policy has decided DENY ('because', rule 's1', snapshot 's1')")));
}

TEST_F(RecordsTrueTest, TheListOfDecisionsSaysTheSame) {
    cap::PolicyCheckResponse answer;
    answer.set_decision(cap::DECISION_TYPE_ALLOW);
    answers(EventKind::kernel_check, answer);
    const auto decided = [this](const std::string& decision) {
        command(kReplica, field("safety_decision", "ALLOW"), field("safety_reason", "because"),
                field("safety_rule_id", "r1"), field("safety_snapshot", "s1"),
                entry("job:decisions:a",
                      fmt::format(R"({{"decision":"{}","reason":"because","rule_id":"r1","policy_snapshot":"s1",)"
                                  R"("approval_ref":"","approval_required":false,"checked_at":{}}})",
                                  decision, kMicros)));
    };
    decided("ALLOW");
    EXPECT_THAT(found, IsEmpty());
    decided("DENY");
    EXPECT_THAT(found, ElementsAre(HasSubstr("its list of decisions gets")));
}

// Outputs ---------------------------------------------------------------------------------------------------------------

TEST_F(RecordsTrueTest, ARecordedVerdictIsOneThatWasAnsweredAndOfItsPhase) {
    running();
    cap_output::OutputCheckResponse answer;
    answer.set_decision(cap_output::OUTPUT_DECISION_QUARANTINE);
    answers(EventKind::output_check, answer);
    const auto judged = [this](const char* state, const char* phase, const char* decision, const char* rule) {
        const std::string record = fmt::format(
            R"({{"decision":"{}","reason":"because","rule_id":"{}","policy_snapshot":"s1","checked_at":{},"phase":"{}"}})",
            decision, rule, kMicros, phase);
        command(kReplica, text("job:a:output_decision", record), field("output_safety", record), field("state", state));
    };
    judged("SUCCEEDED", "sync", "QUARANTINE", "r1");
    judged("OUTPUT_QUARANTINED", "async", "QUARANTINE", "r1");
    EXPECT_THAT(found, IsEmpty());
    command(kReplica, field("state", "SUCCEEDED"));
    judged("SUCCEEDED", "sync", "QUARANTINE", "r1");
    EXPECT_THAT(found, ElementsAre(HasSubstr("is of the phase 'sync', and it was SUCCEEDED")));
    judged("SUCCEEDED", "async", "ALLOW", "r1");
    EXPECT_THAT(found.back(), HasSubstr("a verdict on its output that policy has not answered"));
    judged("SUCCEEDED", "async", "QUARANTINE", "r2");
    EXPECT_THAT(found.back(), HasSubstr("a verdict on its output that policy has not answered"));
    command(kReplica, field("output_safety", "{}"));
    EXPECT_THAT(found.back(), HasSubstr("is not recorded alike"));
    command(kReplica, text("job:a:output_decision", "[]"), field("output_safety", "[]"));
    EXPECT_THAT(found.back(), HasSubstr("is no JSON object"));
    found.clear();
    const std::string partial =
        fmt::format(R"({{"decision":"REDACT","checked_at":{},"phase":"async","partial":true}})", kMicros);
    command(kReplica, text("job:a:output_decision", partial), field("output_safety", partial),
            field("state", "FAILED"));
    EXPECT_THAT(found,
                ElementsAre(HasSubstr("contradicts itself"), HasSubstr("is redacted to '', and its result is ''"),
                            HasSubstr("that policy has not answered")));
}

struct RedactionsTrueTest : RecordsTrueTest {
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
            observe(EventKind::output_check, "a", {.payload = *bytes}, when);
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
    void replacement(const std::string& content) { command(kReplica, text("res:a:redacted:1", content)); }

    std::size_t findings = 0;
};

TEST_F(RedactionsTrueTest, EveryPlaceIsReplacedHoweverTheyOverlap) {
    running();
    finds("write to ann@example.org, please", 32, {{0, 25}, {9, 15}, {26, 99}});
    replacement("[REDACTED] [REDACTED]");
    redact();
    EXPECT_THAT(found, IsEmpty());
    running();
    replacement("[REDACTED], please");
    redact();
    EXPECT_THAT(found, ElementsAre(HasSubstr("by what policy has found it is '[REDACTED] [REDACTED]'")));
}

TEST_F(RedactionsTrueTest, WithoutAPlaceAllIsReplacedAndSoIsWhatPolicyHasNotSeen) {
    running();
    finds("secret", 6, {});
    replacement("[REDACTED]");
    redact();
    running();
    finds("0123", 9, {{0, 1}});
    replacement("[REDACTED]123[REDACTED]");
    redact();
    EXPECT_THAT(found, IsEmpty());
    running();
    replacement("secret");
    redact();
    EXPECT_THAT(found, ElementsAre(HasSubstr("what replaces its output is 'secret'")));
}

TEST_F(RedactionsTrueTest, AReplacementIsJudgedUnlessRedisHasLostTheJob) {
    running();
    finds("secret", 6, {});
    replacement("secret");
    keys.restore([] {});
    redact();
    EXPECT_THAT(found, ElementsAre(HasSubstr("what replaces its output is 'secret'")));
    found.clear();
    keys.restore([this] { keys.hash_set(*keys.find("job:meta:a"), "state", "RUNNING"); });
    redact();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(RedactionsTrueTest, AReplacementIsThere) {
    running();
    finds("secret", 6, {});
    redact();
    EXPECT_THAT(found, ElementsAre(HasSubstr("and nothing is there")));
}

TEST_F(RecordsTrueTest, AnApprovalIsBoundToAStoredRequest) {
    cap::JobRequest request;
    request.set_job_id("a");
    request.set_topic("job.x");
    (*request.mutable_labels())["safety_bypassed"] = "true";
    request.set_context_ptr("redis://ctx:a");
    command(Topology::kGateway, text("job:req:a", engine::wire::to_json(request)));
    cap::PolicyCheckResponse answer;
    answer.set_decision(cap::DECISION_TYPE_REQUIRE_HUMAN);
    answers(EventKind::kernel_check, answer);
    const auto asked = [this](const std::string& hash) {
        command(kReplica, field("safety_decision", "REQUIRE_APPROVAL"), field("safety_reason", "because"),
                field("safety_rule_id", "r1"), field("safety_snapshot", "s1"), field("safety_job_hash", hash));
    };
    const auto asked_about = [this](const char* input) {
        found.clear();
        command(kReplica, field("safety_decision", "REQUIRE_APPROVAL"), field("safety_reason", "because"),
                field("safety_rule_id", "r1"), field("safety_snapshot", "s1"), field("state", "APPROVAL_REQUIRED"),
                field("ls_input_hash", input));
        return found;
    };
    const std::string digits(64, 'a');
    EXPECT_THAT(asked_about(""), ElementsAre(HasSubstr("has nothing as what its input was when a human was asked")));
    EXPECT_THAT(asked_about(digits.c_str()), SizeIs(1)) << "it has no size";
    EXPECT_THAT(asked_about((digits + ":12").c_str()), IsEmpty());
    EXPECT_THAT(asked_about("none"), IsEmpty());
    asked(engine::wire::sha256_hex(engine::wire::serialise(request)));
    EXPECT_THAT(found, IsEmpty());
    request.clear_labels();
    asked(engine::wire::sha256_hex(engine::wire::serialise(request)));
    EXPECT_THAT(found, ElementsAre(HasSubstr("none of its stored requests has that")));
    command(kReplica, field("ls_input_unread", "1"));
    EXPECT_THAT(asked_about(""), IsEmpty()) << "nobody could read it";
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
    answers(EventKind::output_check, answer);
    command(kReplica, verdict("sync"), field("state", "SUCCEEDED"));
    command(kReplica, verdict("async"));
    EXPECT_THAT(found, IsEmpty());
    command(kReplica, verdict("async"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("the verdict of a scan of its output was")));
}

}  // namespace
}  // namespace lockstep::sim
