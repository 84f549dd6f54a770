#include "sim/rules/rule_fixture.h"
#include "sim/spec/lifetimes.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct UnclaimedOutputTest : RuleTest {
    UnclaimedOutputTest() : RuleTest(rules::unclaimed_output) { model().set_key_families(families); }

    void write(std::string_view field) {
        command(kReplica, [&] { keys.hash_set(at<Hash>("lockstep:durable:d"), field, "good"); });
    }

    const spec::Lifetimes families{settings};
};

TEST_F(UnclaimedOutputTest, AFieldThatNoDocumentKnowsIsFound) {
    write("leader");
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
    write("mood");
    EXPECT_THAT(found, ElementsAre(HasSubstr("is in no entry of the register of outputs")));
}

TEST_F(UnclaimedOutputTest, SoIsAMemberOfADocument) {
    set_text("wf:run:r", R"({"id":"r","input":{"mood":[{"good":1}]},"steps":{"a":{"status":"running","attempts":0}}})");
    EXPECT_THAT(found, IsEmpty()) << "users choose what is in inputs, and what steps are called";
    set_text("dlq:entry:a", R"({"job_id":"a","mood":["good"],"humour":""})");
    EXPECT_THAT(found, ElementsAre(HasSubstr("dlq:entry:* mood is in no entry")));
}

TEST_F(UnclaimedOutputTest, AndAFieldOfAMessage) {
    cap::BusPacket packet;
    packet.mutable_created_at()->set_seconds(1);
    cap::JobRequest& request = *packet.mutable_job_request();
    request.set_topic("job.t");
    (*request.mutable_labels())["colour"] = "red";
    request.mutable_meta()->add_requires_("gpu");
    const auto publish = [&](std::string_view subject) {
        observe(EventKind::publish, "a", {.subject = subject, .packet = &packet}, When::before);
    };
    publish("worker.w.jobs");
    EXPECT_THAT(found, IsEmpty());
    publish("sys.rumour");
    EXPECT_THAT(found, Contains(HasSubstr("sys.rumour job_request.labels.key is in no entry")));
    command(kReplica, [&] { keys.list_insert(at<List>("lockstep:saga:4:acme:r"), 0, request.SerializeAsString()); });
    EXPECT_THAT(found, ::testing::Each(HasSubstr("sys.rumour ")));
}

}  // namespace
}  // namespace lockstep::sim
