#include "engine/wire/job_hash.h"

#include <gtest/gtest.h>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/sha256.h"

namespace lockstep::engine::wire {
namespace {

cap::JobRequest sample() {
    cap::JobRequest job;
    job.set_job_id("j-1");
    job.set_topic("job.default");
    job.set_priority(cap::JOB_PRIORITY_CRITICAL);
    job.set_context_ptr("redis://ctx:j-1");
    (*job.mutable_env())["tenant_id"] = "org-a";
    (*job.mutable_env())["A"] = "1";
    job.set_step_index(2);
    job.mutable_budget()->set_deadline_ms(60'000);
    job.set_tenant_id("org-a");
    (*job.mutable_labels())["gpu"] = "true";
    (*job.mutable_labels())["empty"] = "";
    (*job.mutable_labels())["Zone"] = "eu";
    job.mutable_meta()->set_capability("summarise");
    job.mutable_meta()->add_requires_("net");
    return job;
}

// Encoded by hand from the field tables and hashed with Python's hashlib, neither of them with protobuf's help:
//   python3 -c 'import hashlib; print(hashlib.sha256(bytes.fromhex("0a016a12056a6f622e78")).hexdigest())'
constexpr std::string_view kSampleHash = "9eab212317139966b0570618d0e5098dca29c54dc7944dec505913edc11bf53a";

TEST(JobHash, IsTheOneComputedByHand) {
    cap::JobRequest small;
    small.set_job_id("j");
    small.set_topic("job.x");
    EXPECT_EQ(job_hash(small), "b9ec7c3d47db3f4dc85b8cb4e9d6fb38d6df1bafc4128992c611e3ff7ffe63e4");

    // clang-format off
    const std::string by_hand =
        "\x0a\x03j-1"                                 // 1 job_id
        "\x12\x0bjob.default"                         // 2 topic
        "\x18\x03"                                    // 3 priority
        "\x22\x0fredis://ctx:j-1"                     // 4 context_ptr
        "\x32\x06\x0a\x01" "A" "\x12\x01" "1"         // 6 env, sorted by key bytes
        "\x32\x12\x0a\x09tenant_id\x12\x05org-a"      //
        "\x48\x02"                                    // 9 step_index
        "\x62\x04\x20\xe0\xd4\x03"                    // 12 budget { 4 deadline_ms: 60000 }
        "\x6a\x05org-a"                               // 13 tenant_id
        "\x7a\x0a\x0a\x04Zone\x12\x02" "eu"           // 15 labels: capitals sort before small letters,
        "\x7a\x09\x0a\x05" "empty\x12" + std::string(1, '\0') +  //  and an empty value is written all the same
        "\x7a\x0b\x0a\x03gpu\x12\x04true"             //
        "\x82\x01\x10\x2a\x09summarise\x3a\x03net";   // 16 meta { 5 capability, 7 requires }
    // clang-format on
    EXPECT_EQ(serialise(sample()), by_hand);
    EXPECT_EQ(job_hash(sample()), kSampleHash);
}

TEST(JobHash, DoesNotSeeWhatTheApprovalItselfChanges) {
    auto job = sample();
    (*job.mutable_labels())["approval_granted"] = "true";
    (*job.mutable_labels())["Approval_Note"] = "fine by me";
    (*job.mutable_labels())["cordum.bus_msg_id"] = "approval:j-1";
    (*job.mutable_env())["CORDUM_EFFECTIVE_CONFIG"] = "{}";
    EXPECT_EQ(job_hash(job), kSampleHash);
}

TEST(JobHash, DoesNotSeeFieldsOfLaterVersionsAtAnyDepth) {
    cap::JobRequest job;
    const std::string later = "\xa2\x06\x05later";                                                // field 100
    const std::string budget = "\x62" + std::string(1, static_cast<char>(later.size())) + later;  // 12 budget, merged
    ASSERT_TRUE(job.ParseFromString(serialise(sample()) + budget + later));
    ASSERT_NE(serialise(job), serialise(sample()));
    EXPECT_EQ(job_hash(job), kSampleHash);
}

TEST(JobHash, SeesEverythingElse) {
    const auto differs = [](auto change) {
        auto job = sample();
        change(job);
        return job_hash(job) != kSampleHash;
    };
    EXPECT_TRUE(differs([](auto& job) { job.set_topic("job.other"); }));
    EXPECT_TRUE(differs([](auto& job) { job.set_job_id("j-2"); }));
    EXPECT_TRUE(differs([](auto& job) { (*job.mutable_env())["A"] = "2"; }));
    EXPECT_TRUE(differs([](auto& job) { (*job.mutable_labels())["approval"] = ""; }));
    EXPECT_TRUE(differs([](auto& job) { (*job.mutable_labels())["pre_approval_"] = ""; }));
    EXPECT_TRUE(differs([](auto& job) { (*job.mutable_env())["approval_granted"] = ""; }));
    EXPECT_TRUE(differs([](auto& job) { (*job.mutable_meta()->mutable_labels())["approval_granted"] = ""; }));
    EXPECT_TRUE(differs([](auto& job) { job.mutable_compensation()->set_topic("job.undo"); }));
}

TEST(JobHash, LeavesTheRequestAsItWas) {
    auto job = sample();
    (*job.mutable_labels())["approval_granted"] = "true";
    const auto before = serialise(job);
    static_cast<void>(job_hash(job));
    EXPECT_EQ(serialise(job), before);
}

}  // namespace
}  // namespace lockstep::engine::wire
