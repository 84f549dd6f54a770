#include "sim/oracles/run_cancel_told.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/wire/packet.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr NodeId kWorkshop{5};

class RunCancelToldTest : public ::testing::Test {
protected:
    void write_by(NodeId node, std::string_view steps) {
        const std::string document = fmt::format(R"({{"id":"r","status":"running","steps":{}}})", steps);
        keys.set_string("wf:run:r", document, fakes::redis::kNever);
        oracle.string_set(node, "wf:run:r", nullptr, document, 0, 0);
    }
    void write(std::string_view status, NodeId node = kWorkshop) {
        write_by(node, fmt::format(R"({{"a":{{"status":"{}","attempts":1,"job_id":"r:a@1"}}}})", status));
    }
    void call_off(const std::string& job) {
        cap::JobCancel cancel;
        cancel.set_job_id(job);
        const auto packet = engine::wire::make_packet(std::move(cancel), job, "workflow-engine", {});
        fakes::Event event = testing::event_of(fakes::EventKind::core_publish, job);
        event.when = fakes::When::before;
        event.subject = "sys.job.cancel";
        event.packet = &packet;
        judge.tell(oracle, event, {});
    }
    void move(std::string_view to) { judge.hash_set(oracle, kWorkshop, "job:meta:r:a@1", "state", nullptr, to); }
    void rest(bool quiet = true) { oracle.at_rest({keys, quiet, 0}); }

    testing::KeepingJudge judge;
    RunCancelTold oracle{judge};
    fakes::redis::Keyspace keys;
};

TEST_F(RunCancelToldTest, AJobOfAStepThatIsOverIsCalledOff) {
    write("running");
    write("cancelled");
    call_off("r:a@1");
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_EQ(oracle.exercised(), 1U);
}

TEST_F(RunCancelToldTest, WhoeverLeavesItToItselfIsNamed) {
    write("waiting");
    write("succeeded");
    call_off("another");
    rest(false);
    ASSERT_THAT(judge.found, IsEmpty());
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("r:a@1: the step a of the run r is over and its job was not, and "
                                                   "nobody has called it off")));
}

TEST_F(RunCancelToldTest, WhatWasSaidBeforeIsTooEarly) {
    write("running");
    call_off("r:a@1");
    write("timed_out");
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nobody has called it off")));
}

TEST_F(RunCancelToldTest, AJobThatHasEndedNeedsNoWord) {
    write("running");
    move("FAILED");
    write("failed");
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RunCancelToldTest, WhatAGatewayWritesAndWhatIsLostOwesNothing) {
    write("running");
    write("cancelled", Topology::kGateway);
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
    write("running");
    write("cancelled");
    oracle.key_removed({}, "lockstep:wf:outbox:r", fakes::redis::Removal::evicted, {}, 0);
    rest();
    write("running");
    write("cancelled");
    oracle.restored(keys);
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
