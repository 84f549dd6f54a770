// The dead letter of a message that the stream at the other end will never take.
#include "prod/front/set_aside.h"

#include <gtest/gtest.h>

#include "engine/testing/scripted_bus.h"
#include "engine/testing/virtual_loop.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/validation.h"

namespace lockstep::prod {
namespace {

class SetAsideTest : public testing::Test {
protected:
    cap::JobResult letter_of(const std::string& payload) {
        const auto delivery = make_delivery({.subject = "sys.job.submit", .payload = payload, .sequence = 7},
                                            std::make_shared<engine::testing::DeliveryFate>());
        EXPECT_TRUE(loop.wait(publish_letter(front, clock, *delivery, "cell east", "too large")));
        const auto packet = engine::wire::decode(front.published.back().payload);
        return packet ? packet->job_result() : cap::JobResult();
    }

    engine::testing::VirtualLoop loop;
    engine::testing::VirtualClock clock{loop};
    engine::testing::ScriptedBus front{clock};
};

TEST_F(SetAsideTest, NamesTheJobAndWhatBecameOfIt) {
    cap::JobRequest request;
    request.set_job_id("J");
    const auto letter = letter_of(engine::wire::serialise(engine::wire::make_packet(std::move(request), "t", "s", {})));
    EXPECT_EQ(front.published.back().subject, "sys.job.dlq");
    EXPECT_EQ(letter.job_id(), "J");
    EXPECT_EQ(letter.status(), cap::JOB_STATUS_FAILED);
    EXPECT_EQ(letter.error_code(), kNotRoutable);
    EXPECT_EQ(letter.error_message(), "the job was not submitted to cell east: too large");
}

TEST_F(SetAsideTest, IsSmallWhateverTheMessageIs) {
    cap::JobRequest request;
    request.set_job_id(std::string(1'000'000, 'x'));
    const auto letter = letter_of(engine::wire::serialise(engine::wire::make_packet(std::move(request), "t", "s", {})));
    EXPECT_EQ(letter.job_id().size(), engine::wire::kIdentifierMax);
    EXPECT_EQ(letter_of("\xff no packet").job_id(), "poison:CORDUM_SYS:7");
}

}  // namespace
}  // namespace lockstep::prod
