#include "engine/wire/packet.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct ResultKeptTest : RuleTest {
    ResultKeptTest() : RuleTest(rules::result_kept) { set_field("J", "state", "SUCCEEDED"); }

    void succeed(const std::string& pointer) {
        cap::JobResult result;
        result.set_job_id("J");
        result.set_status(cap::JOB_STATUS_SUCCEEDED);
        result.set_result_ptr(pointer);
        const cap::BusPacket packet = engine::wire::make_packet(std::move(result), "trace", "worker", {});
        observe(EventKind::core_publish, "J", {.subject = engine::wire::kSubjectResult, .packet = &packet},
                When::before);
    }
};

TEST_F(ResultKeptTest, ThePointerOfAWorkerOrOfItsRedactedOutputIsKept) {
    succeed("redis://res:1");
    succeed("redis://res:2");
    for (const char* kept : {"redis://res:2", "redis://res:1:redacted:x"}) {
        set_field("J", "result_ptr", kept);
        rest();
    }
    set_field("running", "state", "RUNNING");
    rest();
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 3U);
    set_field("J", "result_ptr", "");
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("its worker gave redis://res:1, but its result pointer is \"\"")));
}

TEST_F(ResultKeptTest, NoneIsKeptOnlyWhereAWorkerGaveNone) {
    succeed("redis://res:1");
    succeed("");
    rest();
    EXPECT_THAT(found, IsEmpty());
    keys.set_string("job:result_ptr:J", "redis://res:1", kNever);
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("and job:result_ptr to \"redis://res:1\"")));
}

}  // namespace
}  // namespace lockstep::sim
