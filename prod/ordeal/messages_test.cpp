#include "prod/ordeal/messages.h"

#include <gtest/gtest.h>

#include "engine/wire/packet.h"
#include "engine/wire/validation.h"

namespace lockstep::prod::ordeal {
namespace {

TEST(OrdealMessages, ASubmissionIsSoundAndComesBackWithItsContent) {
    Submission submission;
    submission.content_size = 1000;
    const std::string bytes = submit_packet("ordeal-1-2", "job.quick", submission);
    const auto packet = engine::wire::decode(bytes);
    ASSERT_TRUE(packet.has_value());
    EXPECT_EQ(engine::wire::rejection(packet->job_request()), std::nullopt);
    const auto request = parse_request(bytes);
    ASSERT_TRUE(request.has_value());
    EXPECT_EQ(request->job, "ordeal-1-2");
    EXPECT_EQ(request->content, content_of("ordeal-1-2", 1000));
}

TEST(OrdealMessages, AFaultOfContentIsNamedWithItsPlace) {
    std::string content = content_of("ordeal-1-2", 40);
    EXPECT_EQ(fault_of_content(content, "ordeal-1-2", 40), "");
    content.replace(7, 6, "PONG\r\n");
    const std::string fault = fault_of_content(content, "ordeal-1-2", 40);
    EXPECT_NE(fault.find("from byte 7: \"PONG.."), std::string::npos) << fault;
    EXPECT_NE(fault_of_content("", "ordeal-1-2", 40), "");
}

TEST(OrdealMessages, ContentTellsJobsApart) { EXPECT_NE(content_of("ordeal-1-2", 40), content_of("ordeal-1-3", 40)); }

TEST(OrdealMessages, AResultIsHeardAsItWasSaid) {
    const auto result = parse_result(result_packet("ordeal-1-2", "w", false));
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->job, "ordeal-1-2");
    EXPECT_EQ(result->worker, "w");
    EXPECT_EQ(result->status, "FAILED");
}

TEST(OrdealMessages, GarbageIsNoPacketAndNonsenseIsOneThatNobodyMayWorkOn) {
    fakes::Rng rng(1, "test");
    for (int i = 0; i < 2000; ++i) {
        EXPECT_FALSE(engine::wire::decode(garbage(rng)).has_value());
        const auto packet = engine::wire::decode(nonsense(rng));
        ASSERT_TRUE(packet.has_value());
        if (packet->has_job_request()) EXPECT_NE(engine::wire::rejection(packet->job_request()), std::nullopt);
        if (packet->has_job_result()) EXPECT_TRUE(packet->job_result().job_id().starts_with("nonsense-"));
    }
}

}  // namespace
}  // namespace lockstep::prod::ordeal
