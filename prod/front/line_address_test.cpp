// What decides about the line of a submission: its tenant, as a scheduler understands it, and nothing else.
#include "prod/front/line_address.h"

#include <gtest/gtest.h>

#include "engine/testing/scripted_bus.h"
#include "engine/testing/virtual_loop.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"

namespace lockstep::prod {
namespace {

using engine::testing::ScriptedBus;

std::string submission_of(cap::JobRequest request) {
    return engine::wire::serialise(engine::wire::make_packet(std::move(request), "trace", "gateway", {}));
}

class LineAddressTest : public testing::Test {
protected:
    std::optional<Parcel> address(const std::string& payload) {
        const auto delivery = make_delivery({.subject = "sys.job.submit", .payload = payload, .sequence = 7},
                                            engine::testing::Fate(std::make_shared<engine::testing::DeliveryFate>()));
        return loop.wait(line_address(bus, clock, map, *delivery));
    }
    std::string line_of(cap::JobRequest request) {
        request.set_job_id("j");
        const auto parcel = address(submission_of(std::move(request)));
        return parcel ? parcel->subject : "";
    }
    void stream_holds(std::optional<std::string> payload) {
        bus.on_read_message =
            [payload](engine::StreamSequence sequence) -> engine::Outcome<std::optional<engine::StoredMessage>> {
            if (!payload) return engine::NotApplied{{engine::FailureCause::timeout, "no leader"}};
            return std::optional<engine::StoredMessage>(
                {.sequence = sequence, .message_id = {}, .payload = *payload, .subject = {}});
        };
    }

    engine::testing::VirtualLoop loop;
    engine::testing::VirtualClock clock{loop};
    ScriptedBus bus{clock};
    CellMap map{{"shared"}, {{"acme", "east"}, {"globex", "west"}, {"default", "home"}}};
};

TEST_F(LineAddressTest, TheTenantIsThatOfTheTenantRule) {
    cap::JobRequest request;
    EXPECT_EQ(line_of(request), "sys.front.line.home") << "without a tenant it is the default one's";
    (*request.mutable_env())["tenant_id"] = " globex ";
    EXPECT_EQ(line_of(request), "sys.front.line.west");
    request.set_tenant_id("acme");
    EXPECT_EQ(line_of(request), "sys.front.line.east")
        << "of two the field counts; the scheduler there refuses it (D-06)";
    request.set_tenant_id("initech");
    EXPECT_EQ(line_of(request), "sys.front.line.shared");
}

TEST_F(LineAddressTest, TheBytesStayAsTheyAreAndTheIdIsNotThatOfTheSubmission) {
    cap::JobRequest request;
    request.set_job_id("j");
    const std::string bytes = submission_of(request) + std::string("\xfa\x06\x01x", 4);  // a field of a later version
    const auto parcel = address(bytes);
    ASSERT_TRUE(parcel);
    EXPECT_EQ(parcel->payload, bytes);
    EXPECT_EQ(parcel->message_id, passage_id("front", engine::StreamSequence(7), bytes))
        << "the line is in the stream of the submission, which would take its id for a repetition";
}

TEST_F(LineAddressTest, WhatIsNoPacketGoesToTheDefaultTenantsCell) {
    stream_holds("\xff");
    const auto parcel = address("\xff");
    ASSERT_TRUE(parcel);
    EXPECT_EQ(parcel->subject, "sys.front.line.home");
    EXPECT_EQ(parcel->payload, "\xff");
    const auto other = address(engine::wire::serialise(engine::wire::make_packet(cap::Heartbeat(), "t", "worker", {})));
    ASSERT_TRUE(other);
    EXPECT_EQ(other->subject, "sys.front.line.home") << "of a kind that does not belong here";
}

// D-01
TEST_F(LineAddressTest, WhatWasGarbledOnItsWayIsReadAgain) {
    cap::JobRequest request;
    request.set_job_id("j");
    request.set_tenant_id("acme");
    stream_holds(submission_of(request));
    const auto parcel = address("\xff");
    ASSERT_TRUE(parcel);
    EXPECT_EQ(parcel->subject, "sys.front.line.east");
    EXPECT_EQ(parcel->payload, submission_of(request));
    stream_holds(std::nullopt);
    EXPECT_FALSE(address("\xff")) << "nobody can tell now: it comes again";
}

}  // namespace
}  // namespace lockstep::prod
