#include "engine/wire/json.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"

namespace lockstep::engine::wire {
namespace {

using google::protobuf::util::MessageDifferencer;

TEST(Json, IsCompactSortedAndInCamelCase) {
    cap::JobRequest job;
    job.set_job_id("j1");
    job.set_topic("job.default");
    job.set_priority(cap::JOB_PRIORITY_BATCH);
    job.mutable_budget()->set_deadline_ms(60'000);
    (*job.mutable_labels())["zone"] = "eu";
    (*job.mutable_labels())["arch"] = "arm";
    job.mutable_meta()->add_requires_("net");
    EXPECT_EQ(to_json(job), R"({"budget":{"deadlineMs":"60000"},"jobId":"j1","labels":{"arch":"arm","zone":"eu"},)"
                            R"("meta":{"requires":["net"]},"priority":"JOB_PRIORITY_BATCH","topic":"job.default"})");
}

// The form of job:req:<id>: what the gateway's own encoder writes for fields that are not set.
TEST(Json, EmitsEveryFieldWhenAsked) {
    cap::JobRequest job;
    job.set_job_id("j1");
    job.mutable_context_hints();
    EXPECT_EQ(to_json(job, Unpopulated::emit),
              R"({"adapterId":"","budget":null,"compensation":null,)"
              R"("contextHints":{"allowRetrieval":false,"allowSummarization":false,"maxInputTokens":0,"tags":[]},)"
              R"("contextPtr":"","env":{},"jobId":"j1","labels":{},"memoryId":"","meta":null,"parentJobId":"",)"
              R"("principalId":"","priority":"JOB_PRIORITY_UNSPECIFIED","stepIndex":0,"tenantId":"","topic":"",)"
              R"("workflowId":""})");
    EXPECT_EQ(to_json(cap::Budget(), Unpopulated::emit),
              R"({"deadlineMs":"0","maxInputTokens":"0","maxOutputTokens":"0","maxTotalTokens":"0"})");
}

TEST(Json, LeavesOutTheOtherMembersOfAOneof) {
    cap::BusPacket packet;
    packet.mutable_job_cancel()->set_job_id("j1");
    EXPECT_EQ(to_json(packet, Unpopulated::emit),
              R"({"createdAt":null,"jobCancel":{"jobId":"j1","reason":"","requestedBy":""},)"
              R"("protocolVersion":0,"senderId":"","signature":"","traceId":""})");
}

TEST(Json, WritesBytesTimesAndUnknownEnumerators) {
    cap::BusPacket packet;
    packet.mutable_created_at()->set_seconds(1'700'000'000);
    packet.mutable_created_at()->set_nanos(5'000'000);
    packet.set_signature("\xff");
    packet.mutable_job_result()->set_status(static_cast<cap::JobStatus>(77));
    EXPECT_EQ(to_json(packet),
              R"({"createdAt":"2023-11-14T22:13:20.005Z","jobResult":{"status":77},"signature":"/w=="})");
}

TEST(Json, SpellsTheAliasOfSucceededAsSucceeded) {
    cap::JobResult result;
    result.set_status(cap::JOB_STATUS_COMPLETED);
    EXPECT_EQ(to_json(result), R"({"status":"JOB_STATUS_SUCCEEDED"})");
    const auto read = from_json<cap::JobResult>(R"({"status":"JOB_STATUS_COMPLETED"})");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->status(), cap::JOB_STATUS_SUCCEEDED);
}

TEST(Json, WritesNumbersShortAndExact) {
    cap::Heartbeat beat;
    beat.set_cpu_load(0.1F);
    beat.set_gpu_utilization(1e20F);
    beat.set_memory_load(99.9F);
    EXPECT_EQ(to_json(beat), R"({"cpuLoad":0.1,"gpuUtilization":1e+20,"memoryLoad":99.9})");
    const auto read = from_json<cap::Heartbeat>(to_json(beat));
    ASSERT_TRUE(read);
    EXPECT_EQ(serialise(*read), serialise(beat));

    beat.set_cpu_load(std::numeric_limits<float>::quiet_NaN());
    beat.set_gpu_utilization(std::numeric_limits<float>::infinity());
    beat.set_memory_load(-std::numeric_limits<float>::infinity());
    EXPECT_EQ(to_json(beat), R"({"cpuLoad":"NaN","gpuUtilization":"Infinity","memoryLoad":"-Infinity"})");
}

TEST(Json, NeverFailsToWrite) {
    cap::BusPacket packet;
    packet.mutable_created_at()->set_seconds(INT64_MAX);
    packet.set_trace_id("\xff");
    EXPECT_EQ(to_json(packet), "{\"createdAt\":\"InvalidTime\",\"traceId\":\"\xef\xbf\xbd\"}");
}

TEST(Json, LeavesOutFieldsOfLaterVersions) {
    cap::JobRequest job;
    ASSERT_TRUE(job.ParseFromString("\x0a\x01j\xa2\x06\x05later"));
    EXPECT_EQ(to_json(job), R"({"jobId":"j"})");
}

TEST(Json, ReadsBackWhatItWrote) {
    cap::JobRequest job;
    job.set_job_id("j \"1\" \n \xc3\xa9");
    job.mutable_budget()->set_max_input_tokens(INT64_MAX);
    (*job.mutable_env())["K"] = "";
    job.mutable_compensation()->mutable_meta()->set_actor_type(cap::ACTOR_TYPE_SERVICE);
    for (const auto unpopulated : {Unpopulated::omit, Unpopulated::emit}) {
        const auto read = from_json<cap::JobRequest>(to_json(job, unpopulated));
        ASSERT_TRUE(read) << read.error().detail;
        EXPECT_EQ(serialise(*read), serialise(job));
    }
}

TEST(Json, IsStrictAndReportsErrorsAsValues) {
    EXPECT_FALSE(from_json<cap::JobRequest>(R"({"jobId":"j","invented":1})"));
    EXPECT_FALSE(from_json<cap::JobRequest>(R"({"priority":"SOMETIMES"})"));
    EXPECT_FALSE(from_json<cap::JobRequest>(R"({"stepIndex":"many"})"));
    EXPECT_FALSE(from_json<cap::JobRequest>(R"({"jobId":"j")"));
    EXPECT_FALSE(from_json<cap::JobRequest>(""));
    const auto unknown = from_json<cap::JobRequest>(R"({"invented":1})");
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().detail.find("invented"), std::string::npos) << unknown.error().detail;

    cap::JobRequest job;
    job.set_job_id("left over");
    EXPECT_FALSE(parse_json(R"({"topic":"t","invented":1})", job));
    EXPECT_TRUE(job.job_id().empty() && job.topic().empty());
}

// Goal: our writer says what protobuf's does, but for order and white space. Method: messages from random bytes of text
// and numbers, both texts compared as JSON values.
RC_GTEST_PROP(Json, AgreesWithProtobufsOwnWriter, ()) {
    const auto text = [] { return *rc::gen::container<std::string>(rc::gen::inRange('\x01', '\x7f')); };
    cap::BusPacket packet;
    packet.mutable_created_at()->set_seconds(*rc::gen::inRange<std::int64_t>(-60'000'000'000, 250'000'000'000));
    packet.mutable_created_at()->set_nanos(*rc::gen::inRange(0, 1'000'000'000));
    packet.set_signature(*rc::gen::arbitrary<std::string>());
    if (*rc::gen::arbitrary<bool>()) {
        auto& job = *packet.mutable_job_request();
        job.set_job_id(text());
        job.set_priority(static_cast<cap::JobPriority>(*rc::gen::inRange(0, 6)));
        job.set_step_index(*rc::gen::arbitrary<std::int32_t>());
        job.mutable_budget()->set_deadline_ms(*rc::gen::arbitrary<std::int64_t>());
        for (int i = *rc::gen::inRange(0, 4); i > 0; --i) (*job.mutable_env())[text()] = text();
        for (int i = *rc::gen::inRange(0, 4); i > 0; --i) job.mutable_meta()->add_risk_tags(text());
        job.mutable_context_hints()->set_allow_retrieval(*rc::gen::arbitrary<bool>());
    } else if (*rc::gen::arbitrary<bool>()) {
        auto& beat = *packet.mutable_heartbeat();
        // Quarters: of other numbers protobuf writes nine digits where fewer name the same number.
        beat.set_cpu_load(static_cast<float>(*rc::gen::inRange(-400, 400)) / 4.0F);
    } else {
        auto& hello = *packet.mutable_handshake();
        for (int i = *rc::gen::inRange(0, 4); i > 0; --i) hello.add_supported_versions(*rc::gen::arbitrary<int>());
        (*hello.mutable_capabilities())[text()] = *rc::gen::arbitrary<bool>();
    }

    std::string theirs;
    RC_ASSERT(google::protobuf::util::MessageToJsonString(packet, &theirs).ok());
    const std::string ours = to_json(packet);
    RC_ASSERT(ours == nlohmann::json::parse(theirs).dump());  // sorts and compacts

    const auto read = from_json<cap::BusPacket>(ours);
    RC_ASSERT(read.has_value());
    RC_ASSERT(MessageDifferencer::Equals(*read, packet));
}

}  // namespace
}  // namespace lockstep::engine::wire
