// To whom it is owed that a job is called off which its workflow run needs no more.
#include <fmt/format.h>

#include "engine/wire/packet.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr NodeId kWorkshop{5};

struct RunCancelToldTest : RuleTest {
    RunCancelToldTest() : RuleTest(rules::run_cancel_told) {}

    static std::string document(std::string_view status, std::string_view of_run = "running") {
        return fmt::format(
            R"({{"id":"r","status":"{}","steps":{{"a":{{"status":"{}","attempts":1,"job_id":"r:a@1"}}}}}})", of_run,
            status);
    }
    void write(std::string_view status, NodeId node = kWorkshop, std::string_view of_run = "running") {
        set_text("wf:run:r", document(status, of_run), node);
        befall(EventKind::heartbeat, node);
    }
    void call_off(const std::string& job) {
        cap::JobCancel cancel;
        cancel.set_job_id(job);
        const auto packet = engine::wire::make_packet(std::move(cancel), job, "workflow-engine", {});
        observe(EventKind::core_publish, job, {.subject = "sys.job.cancel", .packet = &packet}, When::before);
    }
    void expect_owed() {
        EXPECT_THAT(found, ElementsAre(HasSubstr("r:a@1: the step a of the run r is over and its job was not, and it "
                                                 "was not called off")));
    }
};

TEST_F(RunCancelToldTest, AJobOfAStepThatIsOverIsCalledOff) {
    write("running");
    write("cancelled");
    call_off("r:a@1");
    rest();
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(RunCancelToldTest, OneThatIsLeftToItselfIsNot) {
    write("waiting");
    write("succeeded");
    call_off("another");
    rest(false);
    ASSERT_THAT(found, IsEmpty());
    rest();
    expect_owed();
}

TEST_F(RunCancelToldTest, WhatWasSaidBeforeIsTooEarly) {
    write("running");
    call_off("r:a@1");
    write("timed_out");
    rest();
    expect_owed();
}

TEST_F(RunCancelToldTest, AJobThatHasEndedNeedsNoWord) {
    write("running");
    set_field("r:a@1", "state", "FAILED");
    write("failed");
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(RunCancelToldTest, ARunWhoseStepIsOverIsCancelled) {
    set_text("wf:def:f", R"({"id":"f","steps":{"a":{"type":"subworkflow"}}})", Topology::kGateway);
    const auto write_outer = [this](const char* status) {
        set_text("wf:run:r",
                 fmt::format(R"({{"id":"r","workflow_id":"f","status":"running","steps":{{"a":{{"status":)"
                             R"("{}","attempts":1}}}}}})",
                             status),
                 kWorkshop);
    };
    const auto write_inner = [this](const char* status) {
        set_text("wf:run:r.a.1", fmt::format(R"({{"id":"r.a.1","status":"{}"}})", status), kWorkshop);
    };
    for (const char* end : {"cancelled", "succeeded"}) {
        for (const engine::Duration later : {engine::Duration{1s}, engine::Duration{60s}}) {
            found.clear();
            write_outer("running");
            write_inner("running");
            write_outer("timed_out");
            now += later;
            write_inner(end);
            EXPECT_EQ(found.size(), end == std::string_view("succeeded") && later > 10s ? 1U : 0U) << end;
        }
    }
    EXPECT_THAT(std::exchange(found, {}),
                ElementsAre(HasSubstr("the step a of the run r is over, and the run r.a.1 that it has begun is "
                                      "succeeded, and nothing has been disturbed for 60000 ms")));
    set_text("wf:run:taken.a.1", R"({"id":"taken.a.1","status":"running"})", Topology::kGateway);
    for (const char* status : {"running", "failed"})
        set_text("wf:run:taken",
                 fmt::format(R"({{"id":"taken","workflow_id":"f","steps":{{"a":{{"status":)"
                             R"("{}","attempts":1}}}}}})",
                             status),
                 kWorkshop);
    now += 60s;
    set_text("wf:run:taken.a.1", R"({"id":"taken.a.1","status":"succeeded"})", kWorkshop);
    EXPECT_THAT(found, IsEmpty()) << "a person has begun it";
}

TEST_F(RunCancelToldTest, OneThatRunsOnInAFailedRunIsNotCalledOff) {
    set_field("r:a@1", "state", "RUNNING");
    for (const auto& [status, of_run] : {std::pair{"running", "running"}, {"cancelled", "failed"}}) {
        write(status, kWorkshop, of_run);
        call_off("r:a@1");
    }
    EXPECT_THAT(found, IsEmpty());
    write("running", kWorkshop, "failed");
    call_off("another");
    EXPECT_THAT(found, IsEmpty());
    call_off("r:a@1");
    EXPECT_THAT(std::exchange(found, {}), ElementsAre(HasSubstr("its step a is open in the run r, which has failed")));
    write("running", Topology::kGateway, "failed");
    call_off("r:a@1");
    EXPECT_THAT(found, IsEmpty()) << "the gateway may have taken back what was said";
}

TEST_F(RunCancelToldTest, WhatAGatewayWritesAndWhatIsLostOwesNothing) {
    write("running");
    write("cancelled", Topology::kGateway);
    rest();
    EXPECT_THAT(found, IsEmpty());
    write("running");
    write("cancelled");
    keys.create<Hash>("lockstep:wf:outbox:r");
    evict("lockstep:wf:outbox:r");
    rest();
    write("running");
    write("cancelled");
    keys.restore([this] { keys.set_string("wf:run:r", document("cancelled"), kNever); });
    rest();
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
